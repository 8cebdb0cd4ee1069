"""
Finding the vendor's runtime libraries and loading them before the plugin library.

The plugin library names what it needs without a folder, because the folder differs from machine to
machine. A library that is in the process already satisfies such a name, wherever it came from; so
each is looked for in a few places and loaded, those first that the others need.

They are loaded with RTLD_LOCAL: the plugin library reaches them all the same, because it names
them, while their symbols stay out of sight of jaxlib and of other vendors' plugins, which may
carry other versions of the same functions. Windows knows no other way, and looks for libraries by
name in its own folders and beside the library that needs them, not along PATH.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ._config import PLATFORM, RUNTIME_PATH_VARIABLE


class VendorLibraryError(Exception):
    """A runtime library cannot be had here; the message lists each place and why it failed."""


@dataclass(frozen=True)
class VendorLibrary:
    """
    A runtime library that the plugin library needs, and where it may be.

    Attributes:
        name: its file name, the one by which the plugin library needs it (``libvendor.so.2``).
        package: importable name of a Python package that carries it; it is looked up, not imported.
        folder: the folder inside the package, ``lib`` for example.
        folders: where the vendor puts it otherwise; a leading ``$VARIABLE`` or ``~`` is replaced.
        cure: what to do when it is nowhere, ``pip install vendor-runtime`` for example.
        check: says what is wrong with the loaded library, its version for example; else ``""``.
    """

    name: str
    package: str = ""
    folder: str = "lib"
    folders: tuple[str, ...] = ()
    cure: str = ""
    check: Callable[[ctypes.CDLL], str] = lambda library: ""


def preload(
    libraries: Iterable[VendorLibrary], environ: Mapping[str, str] = os.environ
) -> list[str]:
    """
    Loads the libraries in this order. Returns what was loaded: paths, or names found by the system.

    Where the environment names folders, nothing is taken from anywhere else: whoever sets it wants
    those libraries or an error. Raises VendorLibraryError.
    """
    return [_load(library, environ) for library in libraries]


def _load(library: VendorLibrary, environ: Mapping[str, str]) -> str:
    tried = []
    for place, target in _places(library, environ):
        if target is None:
            tried.append(place)
            continue
        try:
            loaded = ctypes.CDLL(target, mode=ctypes.RTLD_LOCAL)
        except OSError as error:
            tried.append(f"{place}: {error if target in str(error) else f'{target}: {error}'}")
            continue
        if sys.platform == "win32" and os.path.dirname(target):
            os.add_dll_directory(os.path.dirname(target))  # for what it loads by name, later on
        if complaint := library.check(loaded):
            # No other place is tried: the plugin library would be given this one all the same.
            raise VendorLibraryError(
                f"{PLATFORM} devices cannot use {target} ({place}): {complaint}; "
                f"{_cure(library)} another one in {RUNTIME_PATH_VARIABLE}"
            )
        return target
    lines = [
        f"{PLATFORM} devices need {library.name}, which cannot be loaded from anywhere:",
        *tried,
        f"{_cure(library)} one in {RUNTIME_PATH_VARIABLE}",
    ]
    raise VendorLibraryError("\n  ".join(lines))


def _cure(library: VendorLibrary) -> str:
    return f"{library.cure or 'install it'}, or name the folder of"


def _places(library: VendorLibrary, environ: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """Places in words, each with what the system's loader is given; None where there is none."""
    if named := environ.get(RUNTIME_PATH_VARIABLE):
        for folder in filter(None, named.split(os.pathsep)):
            yield RUNTIME_PATH_VARIABLE, _file(folder, library.name)
        return
    yield f"{RUNTIME_PATH_VARIABLE}: not set", None
    if library.package:
        place = f"package {library.package}"
        folders = _package_folders(library.package)
        if not folders:
            yield f"{place}: not installed in this Python", None
        for folder in folders:
            yield place, _file(folder, library.folder, library.name)
    for folder in library.folders:
        expanded = _expand(folder, environ)
        yield (
            folder if expanded else f"{folder}: not set",
            expanded and _file(expanded, library.name),
        )
    yield "the system's search path", library.name


def _file(*parts: str) -> str:
    return str(Path(*parts).expanduser().absolute())


def _package_folders(package: str) -> list[str]:
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # a parent that is not there, or a module that was put in
        return []
    return list(found.submodule_search_locations or []) if found else []


def _expand(folder: str, environ: Mapping[str, str]) -> str | None:
    """A folder whose leading ``$VARIABLE`` is replaced; None when that is not set."""
    if not folder.startswith("$"):
        return folder
    variable, slash, rest = folder[1:].partition("/")
    value = environ.get(variable)
    return f"{value}{slash}{rest}" if value else None
