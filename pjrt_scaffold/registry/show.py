"""What the registry says about a name, as text for people."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from pjrt_scaffold.errors import UsageError
from pjrt_scaffold.registry.compare import stub
from pjrt_scaffold.registry.load import load
from pjrt_scaffold.registry.model import Callback, Enum, Field, Function, Registry, Struct

OLDEST = 54  # the registry begins here


def show(name: str, registry: Registry | None = None) -> str:
    """Describe a struct, enum, function, callback or opaque type, with the prefix or without.

    Without `registry` it is read from this package.

    Raises:
        UsageError: there is no such name; the closest ones are listed.
    """
    registry = registry or load()
    wanted = {name, f"PJRT_{name}"}
    parts = [text for item, text in _all(registry) if item in wanted]
    if parts:
        return "\n\n".join(parts)
    names = [item for item, _ in _all(registry)]
    close = difflib.get_close_matches(name, names, n=5) or difflib.get_close_matches(
        f"PJRT_{name}", names, n=5
    )
    raise UsageError(
        f"The registry knows no {name}",
        f"Similar names: {', '.join(close)}" if close else "",
        "pjrt-scaffold registry list prints all names",
    )


def names(registry: Registry) -> list[str]:
    """Every name that `show` describes, sorted."""
    return sorted({item for item, _ in _all(registry)})


def _all(registry: Registry) -> Iterator[tuple[str, str]]:
    for function in registry.functions:
        yield function.name, _function(function)
    for struct in registry.structs:
        yield struct.name, _struct(struct)
    for enum in registry.enums:
        yield enum.name, _enum(enum)
    for callback in registry.callbacks:
        yield callback.name, _callback(callback)
    for opaque in registry.opaque:
        life = _life(opaque.since, opaque.until)
        yield opaque.name, f"opaque type {opaque.name}{_where(opaque.header)}\n  {life}"


def _life(since: int, until: int | None) -> str:
    first = f"0.{since}" + (" or earlier" if since == OLDEST else "")
    return f"since {first}" + (f", gone in 0.{until}" if until is not None else "")


def _where(header: str) -> str:
    return f" (extension {header})" if header else ""


def _function(f: Function) -> str:
    lines = [f"function {f.returns} {f.name}({f.args}*){_where(f.header)}"]
    lines.append(f"  {_life(f.since, f.until)}")
    for since, slot in f.slots.steps:
        lines.append(f"  slot {slot}" + (f" from 0.{since}" if len(f.slots.steps) > 1 else ""))
    if f.note is not None and f.note.called:
        fatal = "; any error aborts the framework" if f.note.error_is_fatal else ""
        lines.append(f"  level {f.note.level}, default answer {stub(f.note)}{fatal}")
        lines.append(f"  called: {f.note.called}")
        lines.append(f"  without an implementation: {f.note.advice}")
    if f.note is not None and f.note.requires:
        lines.append(f"  must not be null: {', '.join(f.note.requires)}")
    return "\n".join(lines)


def _struct(s: Struct) -> str:
    lines = [f"struct {s.name}{_where(s.header)}", f"  {_life(s.since, s.until)}"]
    for layout in s.layouts:
        if len(s.layouts) > 1:
            lines.append(f"  layout of 0.{layout.since}:")
        for field in layout.fields:
            lines += _field(field, layout.since, "  ")
    sizes = [f"{size} from 0.{since}" for since, size in s.struct_size.steps if size is not None]
    if sizes:
        lines.append(f"  {s.name}_STRUCT_SIZE: {', '.join(sizes)}")
    return "\n".join(lines)


def _field(field: Field, layout: int, indent: str) -> list[str]:
    since = f"  since 0.{field.since}" if field.since > layout else ""
    head = f"{indent}{field.offset:4} +{field.size:<3} {field.decl or 'union'}{since}"
    return [head] + [line for m in field.union for line in _field(m, layout, indent + "  ")]


def _enum(e: Enum) -> str:
    lines = [f"enum {e.name}{_where(e.header)}", f"  {_life(e.since, e.until)}"]
    for value in e.values:
        since = f"  {_life(value.since, value.until)}" if value.since > e.since else ""
        lines.append(f"  {value.value:3} {value.name}{since}")
    return "\n".join(lines)


def _callback(c: Callback) -> str:
    params = ", ".join(p.decl for p in c.params)
    return (
        f"callback {c.returns} (*{c.name})({params}){_where(c.header)}\n  {_life(c.since, c.until)}"
    )
