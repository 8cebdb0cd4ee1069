"""The C++ unit tests of the default repository, under the sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rendering import Renderer
from tools import plugins

pytestmark = pytest.mark.long

SANITIZERS = {"asan": "address;undefined", "tsan": "thread"}


@pytest.mark.parametrize("name", SANITIZERS)
def test_unit_tests(name: str, render: Renderer, tmp_path: Path) -> None:
    """ctest passes and no sanitizer has a finding: each ends the program that it finds one in."""
    build = tmp_path / name
    options = {
        "CMAKE_CXX_FLAGS_RELEASE": "-O1 -g1",  # quick to build, and findings have lines
        "PJRT_PLUGIN_BUILD_TESTS": "ON",
        "PJRT_PLUGIN_UNITY": "OFF",  # each source for itself: it includes what it uses
        "PJRT_PLUGIN_SANITIZE": SANITIZERS[name],
    }
    commands: list[list[str | Path]] = [
        ["cmake", "-S", render(), "-B", build, *(f"-D{k}={v}" for k, v in options.items())],
        ["cmake", "--build", build, "--parallel", "2"],
        ["ctest", "--test-dir", build, "--output-on-failure"],
    ]
    for number, command in enumerate(commands):
        plugins.run(command, tmp_path / f"{number}.log")
