"""`pjrt-scaffold diff`: what changed between two API versions, and what a plugin must do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from pjrt_scaffold._terminal import Terminal, columns
from pjrt_scaffold.errors import UsageError

if TYPE_CHECKING:
    from pjrt_scaffold.registry.compare import Comparison, ExtensionChange, GrownStruct, NewFunction
    from pjrt_scaffold.registry.model import VersionNote


@click.command(short_help="Show what a new API version asks of a plugin.")
@click.argument("old")
@click.argument("new")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@click.option("--markdown", is_flag=True, help="Print it as Markdown, for a changelog or a review.")
@click.pass_obj
def diff(terminal: Terminal, old: str, new: str, as_json: bool, markdown: bool) -> None:
    """Show what changed from version OLD to version NEW of the PJRT C API.

    A version is 0.NN, or jaxlib==X for the version that a jaxlib release speaks. First come the
    changes of meaning, each with what a plugin must do; then new functions with their requirement
    level and what the generated default answers, grown structs, new enum values and extensions.

    \b
    Levels: load      no client without the function
            run       the client runs nothing
            common    everyday features fail
            optional  only those who use the feature miss it

    \b
    Examples:
      pjrt-scaffold diff 0.90 0.117
      pjrt-scaffold diff jaxlib==0.9.0 jaxlib==0.12.0
      pjrt-scaffold diff 0.112 0.117 --markdown >> CHANGELOG.md
    """
    from pjrt_scaffold.registry import load
    from pjrt_scaffold.registry.compare import compare
    from pjrt_scaffold.registry.versions import releases, resolve

    if as_json and markdown:
        raise UsageError("--json and --markdown exclude each other")
    registry, known = load(), releases()
    first, last = (resolve(text, registry.minors, known) for text in (old, new))
    if first > last:
        raise UsageError(
            f"{old} is newer than {new}",
            "the older version comes first",
            f"pjrt-scaffold diff {new} {old}",
        )
    comparison = compare(registry, first, last)
    if as_json:
        terminal.json(to_json(comparison))
    else:
        terminal.result("\n".join(_markdown(comparison) if markdown else _text(comparison)))


def to_json(c: Comparison) -> dict[str, Any]:
    """The comparison as JSON data; versions are strings, 0.NN."""
    data = asdict(c)
    data["old"], data["new"] = f"0.{c.old}", f"0.{c.new}"
    for group in ("functions", "values", "notes"):
        for item in data[group]:
            item["since"] = f"0.{item['since']}"
    for struct in data["structs"]:
        struct["fields"] = [{"since": f"0.{s}", "decl": decl} for s, decl in struct["fields"]]
    return data


_KINDS = {
    "meaning": "meaning",
    "layout": "layout",
    "size": "declared size",
    "version": "version number",
    "source": "source only",
}


def notes_text(notes: Iterable[VersionNote]) -> Iterator[str]:
    """Changes of meaning, with what a plugin must do."""
    for note in notes:
        yield f"  0.{note.since} {_KINDS[note.kind]}: {', '.join(note.about) or 'the header'}"
        yield f"      {note.change}"
        yield f"      To do: {note.action}"


def _text(c: Comparison) -> Iterator[str]:
    yield f"PJRT C API 0.{c.old} to 0.{c.new}: {_summary(c)}"
    if c.notes:
        yield "\nWhat a plugin must know"
        yield from notes_text(c.notes)
    if c.functions:
        yield "\nNew functions"
        rows = [
            (f"  {f.name}", f"0.{f.since}", f.level or "?", stub_text(f), f.called)
            for f in c.functions
        ]
        yield columns([("  function", "since", "level", "default answer", "called"), *rows])
    if c.structs:
        yield "\nGrown structs"
        yield columns(
            [
                (f"  {s.name}", f"{s.old_size} -> {s.new_size}", "; ".join(_fields(s)))
                for s in c.structs
            ]
        )
    if c.values:
        yield "\nNew enum values"
        yield columns([(f"  {v.name}", f"= {v.value}", f"0.{v.since}") for v in c.values])
    if c.extensions:
        yield "\nExtensions"
        for extension in c.extensions:
            yield f"  {extension.name}: {_extension(extension)}"
            yield from (f"      {x.name}: {x.what}" for x in extension.changes)
    if c.breaks:
        yield "\nOther changes that are no addition"
        yield columns([(f"  {x.name}", x.what) for x in c.breaks])


def _markdown(c: Comparison) -> Iterator[str]:
    yield f"## PJRT C API 0.{c.old} to 0.{c.new}\n\n{_summary(c)}"
    if c.notes:
        yield "\n### What a plugin must know\n"
    for note in c.notes:
        about = ", ".join(f"`{name}`" for name in note.about) or "the header"
        yield f"- [ ] **0.{note.since}** ({_KINDS[note.kind]}) {about}: {note.change}"
        yield f"  **To do:** {note.action}"
    if c.functions:
        yield "\n### New functions\n"
        yield "| function | since | level | default answer | called |"
        yield "| --- | --- | --- | --- | --- |"
        for f in c.functions:
            cells = (f"`{f.name}`", f"0.{f.since}", f.level or "?", stub_text(f), _cell(f.called))
            yield f"| {' | '.join(cells)} |"
    if c.structs:
        yield "\n### Grown structs\n"
        yield "| struct | bytes | new members |"
        yield "| --- | --- | --- |"
        for s in c.structs:
            fields = "<br>".join(f"`{f}`" for f in _fields(s))
            yield f"| `{s.name}` | {s.old_size} → {s.new_size} | {fields} |"
    if c.values:
        yield "\n### New enum values\n"
        yield from (f"- `{v.name}` = {v.value}, 0.{v.since}" for v in c.values)
    if c.extensions:
        yield "\n### Extensions\n"
        for extension in c.extensions:
            yield f"- {extension.name}: {_extension(extension)}"
            yield from (f"  - `{x.name}`: {x.what}" for x in extension.changes)
    if c.breaks:
        yield "\n### Other changes that are no addition\n"
        yield from (f"- `{x.name}`: {x.what}" for x in c.breaks)


def _summary(c: Comparison) -> str:
    counts = [
        _count(len(c.functions), "new function"),
        _count(len(c.structs), "grown struct"),
        _count(len(c.values), "new enum value"),
        _count(len(c.extensions), "changed extension"),
        _count(len(c.notes), "note"),
    ]
    return ", ".join(counts) + "."


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def stub_text(f: NewFunction) -> str:
    """What the generated default of a function answers, and whether frameworks bear it."""
    return f"{f.stub} (an error is fatal)" if f.error_is_fatal else f.stub


def _fields(s: GrownStruct) -> list[str]:
    return [decl for _, decl in s.fields]


def _extension(e: ExtensionChange) -> str:
    if e.old_version != e.new_version and e.what == "changed":
        return f"version {e.old_version or 'none'} became {e.new_version}"
    return e.what


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
