"""Fixtures that all tests share."""

from __future__ import annotations

import os

import pytest

from tests.support.distribution import Distribution, build
from tests.support.rendering import Renderer

# What `make test PYTHON=python3` hands down to every program, the scripts under test too.
HANDED_DOWN_BY_MAKE = ("PYTHON", "LOCK", "MAKEFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "MFLAGS")


def pytest_configure() -> None:
    """Scripts under test see what a user's shell gives them, however the tests were started."""
    for name in HANDED_DOWN_BY_MAKE:
        os.environ.pop(name, None)


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
