"""`pjrt-scaffold registry`: look into the PJRT C API as data, and bring new versions in."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from pjrt_scaffold._terminal import Terminal, columns

_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@click.group(short_help="Look into the PJRT C API as data; import a new version.")
def registry() -> None:
    """The PJRT C API as data: every struct, field, enum, callback and function by version.

    \b
    Examples:
      pjrt-scaffold registry list
      pjrt-scaffold registry show PJRT_Client_Create
      pjrt-scaffold registry import ~/xla
    """


@registry.command("list", short_help="List every name that the registry holds.")
@_JSON
@click.pass_obj
def list_(terminal: Terminal, as_json: bool) -> None:
    """List every name that `registry show` describes, one a line."""
    from pjrt_scaffold.registry import load, names

    data = load()
    known = names(data)
    versions = [f"{data.major}.{minor}" for minor in data.minors]
    if as_json:
        terminal.json({"versions": versions, "names": known})
        return
    terminal.result("\n".join(known))
    terminal.say(f"{len(known)} names; API versions {versions[0]} to {versions[-1]}.")


@registry.command(short_help="Show what the registry says about a name.")
@click.argument("name")
@_JSON
@click.pass_obj
def show(terminal: Terminal, name: str, as_json: bool) -> None:
    """Show what the registry says about NAME, with or without the prefix PJRT_.

    Since which version it is there, its fields with types and offsets, its slot in the call table,
    when frameworks call it and what an implementation may leave out.
    """
    from pjrt_scaffold import registry as api

    data = api.load()
    text = api.show(name, data)
    if not as_json:
        terminal.result(text)
        return
    groups = (data.functions, data.structs, data.enums, data.callbacks, data.opaque)
    found = [item for group in groups for item in group if item.name in {name, f"PJRT_{name}"}]
    terminal.json([{"kind": type(item).__name__.lower(), **asdict(item)} for item in found])


@registry.command("import", short_help="Add the API version of a source tree's headers.")
@click.argument("root", metavar="PATH", type=click.Path(path_type=Path))
@click.option("--partial", is_flag=True, help="PATH has some extension headers only, as wheels do.")
@click.option("--default", metavar="0.NN", help="The version that the template offers first.")
@_JSON
@click.pass_obj
def import_(
    terminal: Terminal, root: Path, partial: bool, default: str | None, as_json: bool
) -> None:
    """Add the API version of the headers below PATH, a folder with xla/pjrt/c/pjrt_c_api.h.

    Writes abi.json and index.json, never annotations.json; names that lack an annotation are
    listed. Needs libclang: pip install "pjrt-scaffold[import]".
    """
    from pjrt_scaffold.registry import import_header

    done = import_header(root, partial=partial, default=default)
    if as_json:
        terminal.json(asdict(done))
        return
    if done.changes:
        terminal.result(columns([(change.name, change.what) for change in done.changes]))
    terminal.say(f"0.{done.minor} is in the registry; {len(done.changes)} changes.")
    for name in done.unannotated:
        terminal.say(f"No annotation yet: {name}")
    for reason in done.skipped:
        terminal.say(f"Left out: {reason}")
