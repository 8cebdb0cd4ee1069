"""What the tests of the registry share: renderings of csrc, a compiler."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pjrt_scaffold.registry import Registry, load
from tests.support import googletest
from tests.support.rendering import Renderer

OFFERED = tuple(minor for minor in load().minors if minor != 56)  # 0.56 had two function tables
# Versions at which the generated sources are always compiled: the ends, and around odd changes.
VERSIONS = (54, 55, 57, 67, 71, 75, 81, 90, 105, 107, 112, OFFERED[-1])

Render = Callable[[int], Path]


@pytest.fixture(scope="session")
def registry() -> Registry:
    return load()


@pytest.fixture(scope="session")
def csrc(render: Renderer) -> Render:
    """The csrc folder rendered for an API minor."""
    return lambda minor: render({"pjrt_api_version": f"0.{minor}"}) / "csrc"


@pytest.fixture(scope="session")
def gtest(tmp_path_factory: pytest.TempPathFactory) -> googletest.GoogleTest:
    """The library that the C++ unit tests are written with."""
    return googletest.find(tmp_path_factory.mktemp("googletest") / "found")


def compile_and_run(
    source: Path, include: Path, *flags: str, env: dict[str, str], link: tuple[str, ...] = ()
) -> str:
    """Build one C++20 program without a warning, run it, return what it printed."""
    program = source.with_suffix("")
    compile_source(source, include, "g++", "-std=c++20", *flags, "-o", str(program), link=link)
    done = subprocess.run([program], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compile_source(
    source: Path, include: Path, compiler: str, *flags: str, link: tuple[str, ...] = ()
) -> None:
    """Compile, with warnings as errors."""
    strict = ["-Wall", "-Wextra", "-Wundef", "-Werror", f"-I{include}"]
    done = subprocess.run(
        [compiler, *strict, *flags, str(source), *link],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
