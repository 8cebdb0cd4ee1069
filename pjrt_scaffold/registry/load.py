"""Read the registry's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pjrt_scaffold import _place
from pjrt_scaffold.errors import UsageError
from pjrt_scaffold.registry.model import Registry, build, holes

FOLDER = _place.REGISTRY


def read(name: str, folder: Path = FOLDER) -> Any:
    """The data of one of the registry's JSON files, for example `jaxlib.json`.

    Raises:
        UsageError: the file is no JSON; the text names the line.
    """
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} is no JSON", str(error), RESTORE) from error


def load_ffi(folder: Path = FOLDER) -> Registry:
    """The model of XLA's FFI C API, whose version numbers are its own; nobody annotates it.

    Raises:
        UsageError: the data is not what an import writes.
    """
    return model(read("ffi.json", folder), {"functions": {}}, folder / "ffi.json")


def load(folder: Path = FOLDER) -> Registry:
    """The model of the registry in `folder`.

    Raises:
        UsageError: the data is not what an import writes.
    """
    return model(read("abi.json", folder), read("annotations.json", folder), folder / "abi.json")


def model(abi: Any, annotations: Any, path: Path) -> Registry:
    """`build`, with an error that names the file `path` for data that does not have the form.

    Raises:
        UsageError: as above, or versions are missing between the first and the last.
    """
    try:
        registry = build(abi, annotations)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        what = f"{type(error).__name__}: {error}"
        raise UsageError(f"{path} does not have the form of its schema", what, RESTORE) from error
    if missing := holes(registry.minors):
        raise UsageError(f"{path} has holes", "\n".join(missing), RESTORE)
    return registry


RESTORE = "`registry import` writes this file and nobody edits it; " + (
    "pip install --force-reinstall pjrt-scaffold gives it back"
    if _place.IS_INSTALLED
    else "git restore gives it back"
)
