"""`pjrt-scaffold doctor`, on machines that lack things."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command

Programs = Callable[..., dict[str, str]]


@pytest.fixture
def only(tmp_path: Path) -> Programs:
    """Makes an environment whose PATH has these programs: names of real ones, or scripts."""

    def make(*real: str, **scripts: str) -> dict[str, str]:
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in real:
            found = shutil.which(name)
            assert found, f"these tests need {name}"
            (folder / name).symlink_to(found)
        for name, script in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            (folder / name).chmod(0o755)
        return {"PATH": str(folder), "CXX": ""}

    return make


def table(text: str) -> dict[str, list[str]]:
    """The rows by tool. A column is two spaces away from the next."""
    rows = [
        [cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.splitlines()
    ]
    return {row[0]: row[1:] for row in rows}


def test_everything_is_there(run: Command) -> None:
    result = run("doctor")
    assert result.status == 0
    assert result.err == "Everything that plugins need is there.\n"
    rows = table(result.out)
    assert list(rows) == ["Python", "git", "C++20 compiler", "make", "CMake", "Ninja", "ccache"]
    assert [rows[tool][0] for tool in list(rows)[:4]] == ["ok"] * 4


def test_nothing_is_there(run: Command, only: Programs) -> None:
    result = run("doctor", env=only())
    assert result.status == 1
    assert result.err == "Missing: git, C++20 compiler, make.\n"
    rows = table(result.out)
    assert rows["git"] == ["missing", "-", "fetches the template; install git"]
    assert rows["C++20 compiler"] == [
        "missing",
        "-",
        "none of c++, g++, clang++ is there; install g++ 12 or newer, or clang 15 or newer "
        "(macOS: xcode-select --install)",
    ]
    assert rows["CMake"] == [
        "optional",
        "-",
        "not needed: pip fetches it while the wheel is built",
    ]


def test_compiler_is_too_old(run: Command, only: Programs) -> None:
    old = 'test "$1" = --version && { echo "c++ (Old) 7.5.0"; exit; }\n'
    old += 'echo "c++: error: unrecognized option -std=c++20" >&2; exit 1'
    result = run("doctor", "--json", env=only("git", "make", **{"c++": old}))
    assert result.status == 1
    (compiler,) = [f for f in json.loads(result.out) if f["tool"] == "C++20 compiler"]
    assert compiler["state"] == "missing"
    assert compiler["version"] == "7.5.0"
    assert "it does not take C++20 (c++: error: unrecognized option" in compiler["note"]


def test_named_compiler_is_not_there(run: Command, only: Programs) -> None:
    result = run("doctor", env={**only("git", "make", "c++"), "CXX": "nope++"})
    assert result.status == 1
    assert "CXX=nope++ is not there" in result.out
