"""`pjrt-scaffold registry`: look into the PJRT C API as data, and bring new versions in."""

from __future__ import annotations

import click


@click.group(short_help="Look into the PJRT C API as data; import a new version.")
def registry() -> None:
    """The PJRT C API as data: every struct, field, enum, callback and function by version.

    \b
    Examples:
      pjrt-scaffold registry list
      pjrt-scaffold registry show PJRT_Client_Create_Args
    """
