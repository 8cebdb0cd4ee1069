"""This project's own sdist and wheel, built once for all tests that look into them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.rendering import ROOT

EPOCH = 1_767_225_600
"""The time that the files in the archives get: the first second of 2026."""


@dataclass(frozen=True)
class Distribution:
    """What a release uploads.

    Attributes:
        tree: the files from which it was built: git's and new ones, none that git ignores.
        sdist: the source archive.
        wheel: the wheel, built from the source archive.
    """

    tree: Path
    sdist: Path
    wheel: Path


def build(home: Path) -> Distribution:
    """Build the sdist, and the wheel from it, of a copy of the working tree."""
    tree = home / "tree"
    for name in sources():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    run_build("build", "--no-isolation", "--outdir", str(home), cwd=tree)
    (sdist,), (wheel,) = home.glob("*.tar.gz"), home.glob("*.whl")
    return Distribution(tree, sdist, wheel)


def sources() -> list[str]:
    """The repository's files, committed or new; of an unpacked archive, all."""
    if not (ROOT / ".git").exists():
        return [p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*") if p.is_file()]
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def run_build(*arguments: str, cwd: Path) -> None:
    """Run a build tool's module with the time that all builds here have."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)}
    command = [sys.executable, "-m", *arguments]
    subprocess.run(command, cwd=cwd, env=environment, check=True, capture_output=True)
