"""What a machine needs to generate and build plugins, and what of it is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

_CXX20 = "#include <concepts>\ntemplate <std::integral T> T f(T x) { return x; }\nint y = f(1);\n"


@dataclass(frozen=True)
class Finding:
    """What was found of one tool.

    Attributes:
        tool: what it is, for people.
        state: "ok"; "missing" (nothing works without it); "optional" (not there, not needed).
        version: of what was found, else empty.
        path: of what was found, else empty.
        note: why it is needed and how to get it, or what is wrong with the one found.
    """

    tool: str
    state: str
    version: str = ""
    path: str = ""
    note: str = ""

    def as_json(self) -> dict[str, str]:
        """The finding as plain data, in the order of the attributes."""
        return asdict(self)


def survey() -> list[Finding]:
    """Look for every tool, in the order in which a newcomer meets them."""
    return [check() for check in _CHECKS]


def _version(command: list[str]) -> str:
    """The first dotted number that `command --version` prints, or empty."""
    try:
        done = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)
    return found.group() if found else ""


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", "ok", version, sys.executable)


def _program(tool: str, program: str, note: str, state: str = "missing") -> Finding:
    path = shutil.which(program)
    if path is None:
        return Finding(tool, state, note=note)
    return Finding(tool, "ok", _version([path]), path)


def _compiler() -> Finding:
    """A C++20 compiler: the one CMake would take, tried on a program with a concept."""
    how = "install g++ 12 or newer, or clang 15 or newer (macOS: xcode-select --install)"
    named = os.environ.get("CXX")
    candidates = [named] if named else ["c++", "g++", "clang++"]
    for candidate in candidates:
        path = shutil.which(candidate)
        if path is None:
            continue
        version = _version([path])
        if error := _compile_error(path):
            return Finding("C++20 compiler", "missing", version, path, f"{error}; {how}")
        return Finding("C++20 compiler", "ok", version, path)
    looked = f"CXX={named} is not there" if named else "none of c++, g++, clang++ is there"
    return Finding("C++20 compiler", "missing", note=f"{looked}; {how}")


def _compile_error(compiler: str) -> str:
    """Empty when the compiler takes a C++20 program, else the first error it gives."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "probe.cc"
        source.write_text(_CXX20, encoding="utf-8")
        command = [compiler, "-std=c++20", "-c", str(source), "-o", str(source.with_suffix(".o"))]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"it does not run ({error})"
    if done.returncode == 0:
        return ""
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    return f"it does not take C++20 ({(errors or ['exit status ' + str(done.returncode)])[0]})"


_FETCHED = "not needed: pip fetches it while the wheel is built"

_CHECKS: tuple[Callable[[], Finding], ...] = (
    _python,
    lambda: _program("git", "git", "fetches the template; install git"),
    _compiler,
    lambda: _program("make", "make", "runs the repository's targets; install GNU make"),
    lambda: _program("CMake", "cmake", _FETCHED, "optional"),
    lambda: _program("Ninja", "ninja", _FETCHED, "optional"),
    lambda: _program("ccache", "ccache", "not needed: makes repeated builds faster", "optional"),
)
