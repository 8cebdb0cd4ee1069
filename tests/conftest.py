"""Fixtures that all tests share."""

from __future__ import annotations

import pytest

from tests.support.distribution import Distribution, build
from tests.support.rendering import Renderer


@pytest.fixture(scope="session")
def render(tmp_path_factory: pytest.TempPathFactory) -> Renderer:
    """Renders the working tree's template; call it with answers."""
    return Renderer(tmp_path_factory.mktemp("renderings"))


@pytest.fixture(scope="session")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    """This project's sdist and wheel. Tests that use it are in one group: it is built once."""
    return build(tmp_path_factory.mktemp("distribution"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the C++ front end's printer compiles it first, so it is slow."""
    for item in items:
        if "program_dump" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
