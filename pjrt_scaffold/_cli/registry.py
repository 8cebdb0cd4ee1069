"""`pjrt-scaffold registry`: look into the PJRT C API as data, and bring new versions in."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from pjrt_scaffold._terminal import Terminal, columns
from pjrt_scaffold.errors import ExitStatus

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


@registry.command("import", short_help="Add the API version of a header, a tree or a wheel.")
@click.argument("path", metavar="PATH", type=click.Path(path_type=Path))
@click.option("--partial", is_flag=True, help="PATH has some extension headers only, as wheels do.")
@click.option("--default", metavar="0.NN", help="The version that the template offers first.")
@_JSON
@click.pass_obj
def import_(
    terminal: Terminal, path: Path, partial: bool, default: str | None, as_json: bool
) -> None:
    """Add the API version of the headers in PATH.

    PATH is pjrt_c_api.h, a folder that holds xla/pjrt/c/pjrt_c_api.h, or a wheel that ships it;
    XLA's FFI header (xla/ffi/api/c_api.h), which jaxlib wheels ship, is taken too.

    Prints what changed against the version before. Writes abi.json, ffi.json and index.json, never
    annotations.json: functions that lack an annotation, and changes that no note explains, are
    listed. On an error nothing is written. Works in a checkout, not in an installed package. Needs
    libclang: pip install "pjrt-scaffold[import]".
    """
    from pjrt_scaffold.registry.importer import import_headers

    results = import_headers(path, partial=partial, default=default)
    if as_json:
        terminal.json([asdict(done) for done in results])
        return
    for done in results:
        if done.changes:
            terminal.result(columns([(change.name, change.what) for change in done.changes]))
        terminal.say(
            f"The {done.family} 0.{done.minor} is in the registry; {len(done.changes)} changes."
        )
        for name in done.unannotated:
            terminal.say(f"No annotation yet: {name}")
        for text in done.unexplained:
            terminal.say(f"No note yet: {text}")


@registry.command(short_help="Make the data files anew from a folder of headers.")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when the data would differ.")
@click.pass_context
def rebuild(context: click.Context, folder: Path, check: bool) -> None:
    """Import everything in FOLDER, one version each, into an empty registry.

    For maintainers: FOLDER holds one tree, wheel or header for every version, the last of each.
    The result is byte for byte what imports one by one gave.
    """
    from pjrt_scaffold.registry.importer import reimport, require_checkout
    from pjrt_scaffold.registry.load import FOLDER

    terminal: Terminal = context.obj
    if not check:
        require_checkout()
    texts = reimport(sorted(folder.iterdir()))
    differing = [
        name for name, text in texts.items() if (FOLDER / name).read_text(encoding="utf-8") != text
    ]
    if not check:
        for name in differing:
            (FOLDER / name).write_text(texts[name], encoding="utf-8")
    rows = [(name, "differs" if name in differing else "the same") for name in texts]
    terminal.result(columns(rows))
    if check and differing:
        context.exit(ExitStatus.FINDINGS)
