"""The C API layer is one text for every API version: here it meets each of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.registry.conftest import OFFERED, Render
from tests.support.rendering import Renderer

ENDS = (OFFERED[0], OFFERED[-1])
RUN_AT = (54, 72, 90, OFFERED[-1])

FLAGS = ("-std=c++20", "-Wall", "-Wextra", "-Wundef", "-Werror")


def check_layer(csrc: Path, scratch: Path) -> None:
    """Compile csrc/plugin and csrc/vendor, without code, over one precompiled header.

    Raises:
        AssertionError: the compiler's message, when it warns of anything.
    """
    headers = sorted(
        path.relative_to(csrc)
        for folder in ("backend", "generated", "plugin", "vendor")
        for path in (csrc / folder).glob("*.h")
        if "test_util" not in path.name
    )
    all_headers = scratch / "all.h"
    all_headers.write_text("".join(f'#include "{header}"\n' for header in headers))
    _compile(csrc, "-xc++-header", all_headers, "-o", f"{all_headers}.gch")
    sources = [
        path
        for folder in ("backend", "plugin", "vendor")
        for path in sorted((csrc / folder).glob("*.cc"))
    ]
    assert len(sources) > 30
    _compile(csrc, "-fsyntax-only", "-include", all_headers, *sources)


def _compile(csrc: Path, *arguments: str | Path) -> None:
    command = ["g++", *FLAGS, f"-I{csrc}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


@pytest.mark.parametrize("minor", ENDS)
def test_layer_compiles_at_the_ends(minor: int, csrc: Render, tmp_path: Path) -> None:
    check_layer(csrc(minor), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("minor", [minor for minor in OFFERED if minor not in ENDS])
def test_layer_compiles(minor: int, csrc: Render, tmp_path: Path) -> None:
    check_layer(csrc(minor), tmp_path)


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
