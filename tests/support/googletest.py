"""GoogleTest for tests that compile C++ without CMake, found as generated repositories find it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.rendering import ROOT

PROJECT = """cmake_minimum_required(VERSION 3.22)
project(find LANGUAGES CXX)
find_package(Threads REQUIRED)
include("{finder}")
file(GENERATE OUTPUT "${{CMAKE_BINARY_DIR}}/found.txt" CONTENT
     "$<TARGET_PROPERTY:GTest::gtest,INTERFACE_INCLUDE_DIRECTORIES>
$<TARGET_FILE:GTest::gtest_main>
$<TARGET_FILE:GTest::gtest>")
"""


@dataclass(frozen=True)
class GoogleTest:
    """Arguments for the compiler.

    Attributes:
        compile: those that find the headers.
        link: those that come after the sources of a program without a main function.
    """

    compile: tuple[str, ...]
    link: tuple[str, ...]


def find(scratch: Path) -> GoogleTest:
    """What is installed, else what CMake unpacks into the folder, which must not exist.

    Raises:
        AssertionError: there is no GoogleTest; the message says how to install it.
    """
    scratch.mkdir()
    finder = ROOT / "template" / "cmake" / "testing.cmake"
    (scratch / "CMakeLists.txt").write_text(PROJECT.format(finder=finder.as_posix()))
    command: list[str | Path] = ["cmake", "-S", scratch, "-B", scratch / "build"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = (scratch / "build" / "found.txt").read_text()
    include, main, library = text.splitlines()
    headers = [f for folder in dict.fromkeys(include.split(";")) for f in ("-isystem", folder)]
    return GoogleTest((*headers, "-Wno-dangling-else"), (main, library, "-pthread"))
