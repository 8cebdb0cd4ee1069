"""Fixtures that all tests share."""

from __future__ import annotations

import pytest

from tests.support.rendering import Renderer


@pytest.fixture(scope="session")
def render(tmp_path_factory: pytest.TempPathFactory) -> Renderer:
    """Renders the working tree's template; call it with answers."""
    return Renderer(tmp_path_factory.mktemp("renderings"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the C++ front end's printer compiles it first, so it is slow."""
    for item in items:
        if "program_dump" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
