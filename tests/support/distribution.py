"""This project's own sdist and wheel, built once for all tests that look into them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.rendering import ROOT

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "1767225600"))
"""The time that the files in the archives get: the first second of 2026, if nobody says."""

GIVEN = os.environ.get("PJRT_SCAFFOLD_DIST")
"""A folder of archives that are to be tested; without it they are built."""


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
    """Build the sdist, and the wheel from it, of a copy of the working tree; or take GIVEN's."""
    tree = home / "tree"
    for name in sources():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    dist = home if GIVEN is None else (ROOT / GIVEN)
    if GIVEN is None:
        run_build("build", "--no-isolation", "--outdir", str(dist), cwd=tree)
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
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
