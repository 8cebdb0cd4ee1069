"""Take the headers of every API version out of a clone of XLA: what `registry rebuild` reads.

    python -m tools.header_history ~/xla origin/main build/headers
    pjrt-scaffold registry rebuild build/headers --check

Writes a tree for each version of the PJRT C API (0.54, ...) and of XLA's FFI API (ffi-0.1, ...),
as it was before the next commit to the main header: the last header of a version counts. Versions
that a clone does not have, or that a wheel says otherwise about (docs/registry.md), are put beside
them by hand.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pjrt_scaffold.registry.show import OLDEST

FOLDERS = ("xla/pjrt/c", "xla/pjrt/extensions")
FFI = "xla/ffi/api/c_api.h"


def main(clone: Path, ref: str, folder: Path) -> None:
    """Write the trees of the branch `ref` of `clone` below `folder`."""
    for minor, tree in _versions(clone, ref, "xla/pjrt/c/pjrt_c_api.h", "PJRT_API_MINOR"):
        if minor >= OLDEST:
            listed = _git(clone, "ls-tree", "-r", "--name-only", tree, *FOLDERS).split()
            headers = [path for path in listed if path.endswith(".h")]
            _write(clone, tree, headers, folder / f"0.{minor}")
    for minor, tree in _versions(clone, ref, FFI, "XLA_FFI_API_MINOR"):
        _write(clone, tree, [FFI], folder / f"ffi-0.{minor}")


def _versions(clone: Path, ref: str, header: str, macro: str) -> Iterator[tuple[int, str]]:
    """Each version with the last tree that has it."""
    commits = _git(clone, "log", "--format=%H", ref, "--", header).split()[::-1]
    trees = [*(f"{commit}^" for commit in commits[1:]), ref]
    last: dict[int, str] = {}
    for commit, tree in zip(commits, trees, strict=True):
        if found := re.search(rf"^#define {macro} (\d+)", _show(clone, commit, header), re.M):
            minor = int(found[1])
            # Bumps are taken back now and then. What follows under the old number counts; the FFI
            # API went back to 0.0 with headers that nobody released.
            if minor > 0 or max(last, default=0) == 0:
                last[minor] = tree
    yield from sorted(last.items())


def _write(clone: Path, tree: str, paths: list[str], folder: Path) -> None:
    for path in paths:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_show(clone, tree, path), encoding="utf-8")


def _show(clone: Path, commit: str, path: str) -> str:
    return _git(clone, "show", f"{commit}:{path}")


def _git(clone: Path, *arguments: str) -> str:
    command = ["git", "-C", str(clone), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
