"""The C API layer is one text for every API version: here it meets each of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.registry.conftest import OFFERED, VERSIONS, Render
from tests.support.googletest import GoogleTest
from tests.support.rendering import Renderer

ENDS = (OFFERED[0], OFFERED[-1])
RUN_AT = (54, 72, 90, OFFERED[-1])

FOLDERS = ("backend", "plugin", "vendor")
FLAGS = ("-std=c++20", "-Wall", "-Wextra", "-Wundef", "-Werror")


def check_library(csrc: Path, scratch: Path) -> None:
    """Compile csrc/plugin and what it stands between, without code, with the compilers found here.

    As one source, as the build may do.

    Raises:
        AssertionError: the compiler's message, when it warns of anything.
    """
    sources = [path for path in _sources(csrc) if "_test" not in path.stem]
    assert len(sources) > 20
    whole = _including(sources, scratch / "library.cc")
    for compiler in ("g++", "clang++"):
        if shutil.which(compiler):
            _compile(compiler, csrc, *FLAGS, "-fsyntax-only", whole)


def check_tests(csrc: Path, gtest: GoogleTest, scratch: Path) -> None:
    """Compile the unit tests, without code, each as a source of its own.

    Raises:
        AssertionError: the compiler's message, when it warns of anything.
    """
    sources = [path for path in _sources(csrc) if "_test" in path.stem]
    assert len(sources) > 10
    headers = [
        path
        for folder in (*FOLDERS, "generated", "testing")
        for path in sorted((csrc / folder).glob("*.h"))
    ]
    common = _including(headers, scratch / "headers.h")
    flags = (*FLAGS, *gtest.compile)
    _compile("g++", csrc, *flags, "-xc++-header", common, "-o", f"{common}.gch")
    _compile("g++", csrc, *flags, "-fsyntax-only", "-include", common, *sources)


def _sources(csrc: Path) -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (csrc / folder).glob("*.cc"))


def _including(paths: list[Path], source: Path) -> Path:
    source.write_text("".join(f'#include "{path}"\n' for path in paths))
    return source


def _compile(compiler: str, csrc: Path, *arguments: str | Path) -> None:
    command = [compiler, f"-I{csrc}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


@pytest.mark.parametrize(
    "minor", [m if m in ENDS else pytest.param(m, marks=pytest.mark.long) for m in OFFERED]
)
def test_layer_compiles(minor: int, csrc: Render, tmp_path: Path) -> None:
    check_library(csrc(minor), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("minor", VERSIONS)
def test_tests_of_the_layer_compile(
    minor: int, csrc: Render, gtest: GoogleTest, tmp_path: Path
) -> None:
    check_tests(csrc(minor), gtest, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("minor", RUN_AT)
def test_layer_runs(minor: int, render: Renderer, tmp_path: Path) -> None:
    """The layer's unit tests: guard, errors, events, clients, buffers, executables."""
    repository = render({"pjrt_api_version": f"0.{minor}", "backend": "stub"})
    build = tmp_path / "build"
    flags = "-DCMAKE_CXX_FLAGS_RELEASE=-O1"
    _run("cmake", "-S", repository, "-B", build, "-DPJRT_PLUGIN_BUILD_TESTS=ON", flags)
    tests = sorted((repository / "csrc" / "plugin").glob("*_test.cc"))
    targets = [f"plugin_{test.stem}" for test in tests]
    _run("cmake", "--build", build, "--target", *targets)
    _run("ctest", "--test-dir", build, "--output-on-failure", "--tests-regex", "^plugin_")


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
