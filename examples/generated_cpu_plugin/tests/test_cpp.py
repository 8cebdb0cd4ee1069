"""
The C++ unit tests, each program that ctest knows as one test.

`make test` builds them beside the library; with another build folder, as a CMake preset makes it,
`ctest` runs them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.foundational

BUILD = Path(__file__).resolve().parents[1] / "build" / "wheel"


def _programs() -> list[Any]:
    if not (BUILD / "CTestTestfile.cmake").is_file():
        return [_skipped(f"there are no C++ tests in {BUILD}; `make test` builds them")]
    beside_python = Path(sys.executable).parent
    ctest = shutil.which("ctest", path=f"{os.environ.get('PATH', '')}{os.pathsep}{beside_python}")
    if ctest is None:
        return [_skipped("there is no ctest, which knows the C++ tests: pip install cmake")]
    command = [ctest, "--test-dir", str(BUILD), "--show-only=json-v1"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [pytest.param(test["command"], id=test["name"]) for test in json.loads(text)["tests"]]


def _skipped(reason: str) -> Any:
    return pytest.param([], id="none", marks=pytest.mark.skip(reason=reason))


@pytest.mark.parametrize("command", _programs())
def test_program(command: list[str]) -> None:
    """It ends well; else what it printed is shown."""
    done = subprocess.run(
        command, cwd=BUILD, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-8000:]}{done.stderr}"
