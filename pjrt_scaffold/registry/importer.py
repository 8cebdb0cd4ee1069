"""Bring a new PJRT header into the registry. Needs the `import` extra (libclang)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pjrt_scaffold.errors import UsageError
from pjrt_scaffold.registry._merge import empty, merge, to_text
from pjrt_scaffold.registry._snapshot import read_headers
from pjrt_scaffold.registry.consistency import problems, unannotated
from pjrt_scaffold.registry.diff import Change, diff
from pjrt_scaffold.registry.load import FOLDER, read
from pjrt_scaffold.registry.model import build

# Versions that no plugin should be made for: 0.56 had another slot order for one day.
_WITHDRAWN = (56,)


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did."""

    minor: int
    changes: tuple[Change, ...]  # against the version before
    unannotated: tuple[str, ...]  # functions that annotations.json says nothing about
    skipped: tuple[str, ...]  # extension headers that could not be read, with the reason


def import_header(
    root: Path, *, folder: Path = FOLDER, partial: bool = False, default: str | None = None
) -> Imported:
    """Add the API version of the headers below `root` to the registry in `folder`.

    `root` is the folder that holds `xla/pjrt/c/pjrt_c_api.h`: of a source tree, or the include
    folder of a wheel. A wheel ships only some extension headers: say `partial`, and the facts of
    the others go on. Writes abi.json and index.json; annotations.json is people's and is never
    written. `default` names the version that the template offers; without it the choice stays.

    Raises:
        UsageError: no header there, the header is older than the registry or of another major, or
            what it says does not fit together. Nothing is written then.
        MissingError: libclang is not installed.
    """
    abi_path = folder / "abi.json"
    data = read("abi.json", folder) if abi_path.is_file() else empty()
    snapshot = read_headers(root)
    merged = merge(data, snapshot, partial=partial)
    registry = build(merged, read("annotations.json", folder))
    if wrong := problems(registry):
        raise UsageError(
            f"The header of 0.{snapshot['minor']} does not fit the registry",
            "\n".join(wrong[:10]),
            "nothing was written; is a header of the tree from another version?",
        )
    abi_path.write_text(to_text(merged), encoding="utf-8")
    _write_index(folder, merged["minors"], default)
    before = [m for m in merged["minors"] if m < snapshot["minor"]]
    changes = diff(registry, before[-1], snapshot["minor"]) if before else []
    return Imported(
        snapshot["minor"],
        tuple(changes),
        tuple(unannotated(registry)),
        tuple(snapshot["skipped"]),
    )


def _write_index(folder: Path, minors: list[int], default: str | None) -> None:
    path = folder / "index.json"
    if default is None:
        default = read("index.json", folder)["default"] if path.is_file() else f"0.{minors[-1]}"
    index = {
        "versions": [f"0.{m}" for m in reversed(minors) if m not in _WITHDRAWN],
        "newest": f"0.{minors[-1]}",
        "default": default,
    }
    path.write_text(json.dumps(index) + "\n", encoding="utf-8")
