"""Finding the plugin library."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ._config import LIBRARY_NAME, LIBRARY_PATH_VARIABLE, PACKAGE_FOLDER


class LibraryNotFoundError(Exception):
    """There is no plugin library where it should be; the message says where that is."""


def find_library(environ: Mapping[str, str] = os.environ) -> Path:
    """
    Returns the path of the library: what the environment names, or the file beside this one.

    A path from the environment is never replaced by another one: whoever sets it wants that library
    or an error. Raises LibraryNotFoundError.
    """
    if named := environ.get(LIBRARY_PATH_VARIABLE):
        library = Path(named).expanduser().absolute()
        cure = f"correct {LIBRARY_PATH_VARIABLE} or unset it"
    else:
        library = PACKAGE_FOLDER / LIBRARY_NAME
        cure = "install the wheel again, or in a checkout run: pip install --editable ."
    if library.is_file():
        return library
    what = "is a dangling link" if library.is_symlink() else "is not there"
    raise LibraryNotFoundError(f"the plugin library {library} {what}; {cure}")
