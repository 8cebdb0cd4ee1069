"""Read the registry's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pjrt_scaffold.registry.model import Registry, build

FOLDER = Path(__file__).resolve().parent


def read(name: str, folder: Path = FOLDER) -> Any:
    """The data of one of the registry's JSON files, for example `jaxlib.json`."""
    return json.loads((folder / name).read_text(encoding="utf-8"))


def load_ffi(folder: Path = FOLDER) -> Registry:
    """The model of XLA's FFI C API, whose version numbers are its own; nobody annotates it."""
    return build(read("ffi.json", folder), {"functions": {}})


def load(folder: Path = FOLDER) -> Registry:
    """The model of the registry in `folder`."""
    return build(read("abi.json", folder), read("annotations.json", folder))
