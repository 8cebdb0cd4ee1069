"""`pjrt-scaffold diff`: what changed between two API versions, and what a plugin must do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
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
@click.option(
    "--all", "everything", is_flag=True, help="Show all that changed in extensions for TPUs too."
)
@click.pass_obj
def diff(
    terminal: Terminal, old: str, new: str, as_json: bool, markdown: bool, everything: bool
) -> None:
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
        lines = (_markdown if markdown else _text)(comparison, everything)
        terminal.result("\n".join(lines))


def to_json(c: Comparison) -> dict[str, Any]:
    """The comparison as JSON data; versions are strings, 0.NN."""
    data = asdict(c)
    data["old"], data["new"] = f"0.{c.old}", f"0.{c.new}"
    for group in ("functions", "values", "notes"):
        for item in data[group]:
            item["since"] = f"0.{item['since']}"
    for owner in (data, *data["extensions"]):
        for struct in owner["structs"]:
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


def _text(c: Comparison, everything: bool) -> Iterator[str]:
    yield f"PJRT C API 0.{c.old} to 0.{c.new}: {_summary(c)}"
    if c.notes:
        yield "\nWhat a plugin must know"
        yield from notes_text(c.notes)
    for section in _sections(c, everything):
        yield f"\n{section.title}"
        yield columns([(f"  {row[0]}", *row[1:]) for row in (section.header, *section.rows)])


def _markdown(c: Comparison, everything: bool) -> Iterator[str]:
    yield f"## PJRT C API 0.{c.old} to 0.{c.new}\n\n{_summary(c)}"
    if c.notes:
        yield "\n### What a plugin must know\n"
    for note in c.notes:
        about = ", ".join(f"`{name}`" for name in note.about) or "the header"
        yield f"- [ ] **0.{note.since}** ({_KINDS[note.kind]}) {about}: {note.change}"
        yield f"  **To do:** {note.action}"
    for section in _sections(c, everything):
        yield f"\n### {section.title}\n"
        yield f"| {' | '.join(section.header)} |"
        yield f"|{' --- |' * len(section.header)}"
        for name, *rest in section.rows:
            cells = [f"`{name}`" if name else "", *rest]
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


@dataclass(frozen=True, slots=True)
class _Section:
    """A table; the first cell of a row is a name, or empty where the row goes on with the last."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


def _sections(c: Comparison, everything: bool) -> list[_Section]:
    """What is new, section by section; empty ones are left out."""
    sections = [
        _Section(
            "New functions",
            ("function", "since", "level", "default answer", "called"),
            [(f.name, f"0.{f.since}", f.level or "?", stub_text(f), f.called) for f in c.functions],
        ),
        _Section(
            "Grown structs",
            ("struct", "bytes", "new members"),
            [(s.name, _bytes(s), "; ".join(decl for _, decl in s.fields)) for s in c.structs],
        ),
        _Section(
            "New enum values",
            ("value", "number", "since"),
            [(v.name, str(v.value), f"0.{v.since}") for v in c.values],
        ),
        _Section(
            "Extensions",
            ("extension", "asked of", "change"),
            [row for extension in c.extensions for row in _extension(extension, everything)],
        ),
        _Section(
            "Other changes that are no addition",
            ("name", "change"),
            [(x.name, x.what) for x in c.breaks],
        ),
    ]
    return [section for section in sections if section.rows]


_AUDIENCES = {
    "any": "any plugin",
    "gpu": "GPU plugins",
    "tpu": "TPU plugins",
    "none": "no plugin",
    "": "?",
}


def _extension(e: ExtensionChange, everything: bool) -> Iterator[tuple[str, str, str]]:
    """The rows of an extension; one that most plugins never have gets one row."""
    details = [f"{s.name} {_bytes(s)}: {'; '.join(d for _, d in s.fields)}" for s in e.structs]
    details += [f"{change.name}: {change.what}" for change in e.changes]
    short = e.audience in ("tpu", "none") and not everything
    what = "removed" if e.what == "removed" else ""
    if e.what == "added":
        what = f"new; without it {e.without}" if e.without else "new"
    elif e.what == "changed" and e.old_version != e.new_version:
        what = f"version {e.old_version or 'none'} became {e.new_version}"
    if short and details:
        what = f"{what}{', ' if what else ''}{_count(len(details), 'change')}, see --all"
    yield e.name, _AUDIENCES[e.audience], what or details.pop(0)
    if not short:
        yield from (("", "", detail) for detail in details)


def _bytes(s: GrownStruct) -> str:
    return f"{s.old_size} → {s.new_size}"


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
