"""The folders that are the tool's: generated as a whole, and written anew by `sync`.

The rule: a folder is generated when it holds a MANIFEST, which lists its files with their hashes as
`sha256sum` prints them. The manifest comes from the template; no list of folders is kept elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pjrt_scaffold import _git

MANIFEST = "MANIFEST"
_LINE = re.compile(r"([0-9a-f]{64})  ([^/\n]+)\n")


@dataclass(frozen=True, order=True)
class Drift:
    """A file in a generated folder that is not as it was generated."""

    path: str  # "csrc/generated/trace.h"
    what: str  # edited, missing, not generated


def folders(paths: Iterable[str]) -> frozenset[str]:
    """The folders among `paths` that hold a manifest."""
    found = (PurePosixPath(path) for path in paths)
    return frozenset(str(path.parent) for path in found if path.name == MANIFEST)


def is_in(path: str, generated: frozenset[str]) -> bool:
    """Whether a path lies directly in one of the generated folders."""
    return str(PurePosixPath(path).parent) in generated


def hashes(manifest: Path) -> dict[str, str]:
    """What a manifest says: hash by file name. Empty when the file is no manifest, or not there."""
    try:
        text = manifest.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    lines = text.splitlines(keepends=True)
    matches = [_LINE.fullmatch(line) for line in lines]
    return {m[2]: m[1] for m in matches if m} if all(matches) else {}


def tracked(root: Path) -> frozenset[str]:
    """The generated folders of a repository: those in which git knows a manifest."""
    listed = os.fsdecode(_git.run(root, "ls-files", "-z").stdout).split("\0")
    return frozenset(f for f in folders(listed) if hashes(root / f / MANIFEST))


def check(root: Path, folder: str) -> list[Drift]:
    """Hold one generated folder against its manifest; needs no network and no template."""
    expected = hashes(root / folder / MANIFEST)
    found: list[Drift] = []
    for name, digest in expected.items():
        path = root / folder / name
        if not path.is_file():
            found.append(Drift(f"{folder}/{name}", "missing"))
        elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            found.append(Drift(f"{folder}/{name}", "edited"))
    return sorted(found + [Drift(path, "not generated") for path in strays(root, folder)])


def strays(root: Path, folder: str) -> list[str]:
    """Files in a generated folder that its manifest does not list, ignored ones left out."""
    listing = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", folder)
    paths = {p for p in os.fsdecode(_git.run(root, *listing).stdout).split("\0") if p}
    known = {f"{folder}/{name}" for name in [*hashes(root / folder / MANIFEST), MANIFEST]}
    return sorted(path for path in paths - known if (root / path).is_file())
