"""Bring new headers into the registry. Needs the `import` extra (libclang)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pjrt_scaffold import _place
from pjrt_scaffold.errors import UsageError
from pjrt_scaffold.registry._merge import Json, empty, merge, to_text
from pjrt_scaffold.registry._snapshot import FAMILIES, PJRT, Family, read_headers
from pjrt_scaffold.registry.consistency import problems, unannotated, unexplained
from pjrt_scaffold.registry.diff import Change, diff
from pjrt_scaffold.registry.load import FOLDER, RESTORE, model, read
from pjrt_scaffold.registry.model import build
from pjrt_scaffold.registry.sources import Source, opened

# Versions that no plugin should be made for: 0.56 had another slot order for one day.
_WITHDRAWN = (56,)


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did."""

    family: str  # "PJRT C API"
    minor: int
    changes: tuple[Change, ...]  # against the version before, or against the earlier header of it
    unannotated: tuple[str, ...]  # functions and extensions without a note in annotations.json
    unexplained: tuple[str, ...]  # changes that are no addition and that no note is about


def import_headers(
    path: Path, *, folder: Path = FOLDER, partial: bool = False, default: str | None = None
) -> list[Imported]:
    """Add the API versions of the headers in `path` to the registry in `folder`.

    `path` is a header, a source tree, an include folder or a wheel; it may hold the PJRT C API, the
    XLA FFI C API or both. With `partial`, and for wheels and single headers always, the facts of
    extension headers that are not there go on. Writes abi.json, ffi.json and index.json;
    annotations.json is people's and is never written. `default` names the version that the template
    offers; without it the choice stays.

    Raises:
        UsageError: `folder` is an installed package's, no header there, it is older than the
            registry or of another major, it holds a construct that the registry cannot keep, or it
            does not fit together with the rest. Nothing is written then.
        MissingError: libclang is not installed.
    """
    require_checkout(folder)
    texts: dict[str, str] = {}
    done: list[Imported] = []
    with opened(path) as sources:
        for source in sources:
            data, imported = _merged(_sound(source.family, folder), source, partial, folder)
            texts[source.family.data] = to_text(data)
            if source.family is PJRT:
                texts["index.json"] = _index(folder, data["minors"], default)
            done.append(imported)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return done


def require_checkout(folder: Path = FOLDER) -> None:
    """Raise UsageError when `folder` belongs to an installed package.

    What is rendered from it could not be updated, and the next `pip install` would undo it.
    """
    if _place.IS_INSTALLED and folder == FOLDER:
        raise UsageError(
            f"The registry of an installed package is not written ({folder}).",
            "No commit of the template would hold what was imported, and an upgrade would lose it.",
            "Clone the template's repository, run `make env` in it, and import there: "
            "build/venv/bin/pjrt-scaffold registry import PATH",
        )


def reimport(paths: list[Path], folder: Path = FOLDER) -> dict[str, str]:
    """Import `paths`, one version each, into an empty registry; return the text of each data file.

    The order is that of the versions. Which trees are partial, abi.json in `folder` says; nothing
    is written. A registry whose headers are all there comes out byte for byte.

    Raises:
        UsageError: a header cannot be imported, or two are of one version.
    """
    snapshots: dict[str, dict[int, tuple[Json, bool]]] = {f.data: {} for f in FAMILIES}
    partial = {f.data: set(_data(f, folder).get("partial", ())) for f in FAMILIES}
    for path in paths:
        with opened(path) as sources:
            for source in sources:
                name, snapshot = source.family.data, read_headers(source.root, source.family)
                minor = snapshot["minor"]
                if minor in snapshots[name]:
                    raise UsageError(
                        f"{path} has the {source.family.name} 0.{minor} once more",
                        "the last header of a version counts: keep that one only",
                    )
                whole = not source.partial and minor not in partial[name]
                snapshots[name][minor] = (snapshot, not whole)
    texts = {}
    for name, versions in snapshots.items():
        if not versions:
            continue
        data = empty()
        for _, (snapshot, is_partial) in sorted(versions.items()):
            data = merge(data, snapshot, partial=is_partial)
        texts[name] = to_text(data)
    return texts


def _data(family: Family, folder: Path) -> Json:
    path = folder / family.data
    data: Json = read(family.data, folder) if path.is_file() else empty()
    return data


def _sound(family: Family, folder: Path) -> Json:
    """The data to add to, of which nothing must be wrong.

    Raises:
        UsageError: somebody edited it.
    """
    data = _data(family, folder)
    path = folder / family.data
    if data["minors"] and (wrong := problems(model(data, _notes(family, folder), path))):
        raise UsageError(f"{path} does not fit together", "\n".join(wrong[:10]), RESTORE)
    return data


def _notes(family: Family, folder: Path) -> Json:
    notes: Json = read("annotations.json", folder) if family is PJRT else {"functions": {}}
    return notes


def _merged(data: Json, source: Source, partial: bool, folder: Path) -> tuple[Json, Imported]:
    family = source.family
    snapshot = read_headers(source.root, family)
    merged = merge(data, snapshot, partial=partial or source.partial)
    registry = build(merged, _notes(family, folder))
    if wrong := problems(registry):
        raise UsageError(
            f"The header of 0.{snapshot['minor']} does not fit the registry",
            "\n".join(wrong[:10]),
            "nothing was written; is a header of the tree from another version?",
        )
    minor = snapshot["minor"]
    before = [m for m in merged["minors"] if m < minor]
    changes = diff(registry, before[-1], minor) if before else []
    annotated = family is PJRT
    return merged, Imported(
        family.name,
        minor,
        tuple(changes),
        tuple(unannotated(registry)) if annotated else (),
        tuple(u for u in unexplained(registry) if u.startswith(f"0.{minor}:")) if annotated else (),
    )


def _index(folder: Path, minors: list[int], default: str | None) -> str:
    path = folder / "index.json"
    if default is None:
        default = read("index.json", folder)["default"] if path.is_file() else f"0.{minors[-1]}"
    versions = [f"0.{m}" for m in reversed(minors) if m not in _WITHDRAWN]
    if default not in versions:
        raise UsageError(
            f"{default} cannot be the default version", f"offered are {', '.join(versions)}"
        )
    return (
        json.dumps({"versions": versions, "newest": f"0.{minors[-1]}", "default": default}) + "\n"
    )
