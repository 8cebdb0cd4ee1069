"""The library as the system's loader sees it: it must live in one process with everybody else's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import elf
import pytest
from plugin_under_test import library

pytestmark = pytest.mark.ecosystem

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads ELF files")
on_macos = pytest.mark.skipif(sys.platform != "darwin", reason="asks nm and otool")


@pytest.fixture
def path() -> Path:
    return library.find_library()


# pitfall 16: the library exports its entry point under another spelling
# pitfall 42: symbols of the plugin and of another library in the process take each other's place
# pitfall 44: symbols of a library that is linked in are exported
@on_linux
def test_exports_one_symbol(path: Path) -> None:
    assert elf.read(path).exported == ["GetPjrtApi"]


# pitfall 80: the library is bound to one version of Python
@on_linux
def test_needs_no_python(path: Path) -> None:
    needed = elf.read(path).needed
    assert needed
    assert not [name for name in needed if "python" in name]


@on_linux
def test_search_path_is_relative(path: Path) -> None:
    search_path = elf.read(path).search_path
    assert all(entry.startswith("$ORIGIN") for entry in search_path), search_path


@on_macos
def test_exports_one_symbol_on_macos(path: Path) -> None:
    text = subprocess.run(["nm", "-gU", path], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in text.splitlines()] == ["_GetPjrtApi"]


@on_macos
def test_needs_only_the_system_on_macos(path: Path) -> None:
    text = subprocess.run(["otool", "-L", path], capture_output=True, text=True, check=True).stdout
    needed = [line.split()[0] for line in text.splitlines()[2:]]
    assert all(name.startswith(("/usr/lib/", "/System/", "@loader_path/")) for name in needed)


def test_size(path: Path) -> None:
    """A wheel of moderate size is one that people install."""
    assert path.stat().st_size < 40_000_000
