"""Checks that the registry's data fits together; run by the tests and after every import."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from pjrt_scaffold.registry.model import Api, Field, Registry, Struct, holes

_C_TYPES = frozenset(
    {"PJRT_Api", "XLA_FFI_Api"}  # the call tables, which are kept as functions
    | {"bool", "char", "double", "float", "function", "int", "size_t", "union", "void"}
    | {"int8_t", "int16_t", "int32_t", "int64_t", "intptr_t"}
    | {"uint8_t", "uint16_t", "uint32_t", "uint64_t", "uintptr_t"}
)
_LEVELS = ("load", "run", "common", "optional")
_DEFAULTS = ("unimplemented", "null", "success")


def problems(registry: Registry) -> list[str]:
    """Everything that is wrong, a sentence each; empty for a sound registry."""
    found = [f"0.{minor}: {p}" for minor in registry.minors for p in _version(registry.at(minor))]
    return [*holes(registry.minors), *found]


def unannotated(registry: Registry) -> list[str]:
    """Functions of the newest call table, and extensions, that no annotation is about."""
    newest = registry.at(registry.minors[-1])
    headers = sorted({struct.header for struct in registry.structs} - {""})
    return [
        *(f.name for f in newest.functions if f.note is None),
        *(f"the extension {name}" for name in headers if name not in registry.extensions),
    ]


def unexplained(registry: Registry) -> list[str]:
    """Changes that are no plain addition and that no note of their version is about.

    These are what a plugin cannot survive by ignoring: moved slots, members that moved or went,
    types that went or stopped being opaque, declared sizes that changed without a new member.
    """
    told = {(note.since, name) for note in registry.notes for name in note.about}
    told |= {(alias.until, alias.name.split(".")[0]) for alias in registry.aliases}
    return [
        f"0.{minor}: {name} {what}, and no note of that version is about it"
        for minor, name, what, related in _breaks(registry)
        if not told & {(minor, n) for n in (name, *related)}
    ]


def _version(api: Api) -> Iterator[str]:
    yield from _slots(api)
    yield from _structs(api)
    yield from _notes(api)


def _slots(api: Api) -> Iterator[str]:
    slots = [f.slots.at(api.minor) for f in api.functions]
    if slots != list(range(len(slots))):
        yield f"the call table has holes or doubles: {slots}"


def _structs(api: Api) -> Iterator[str]:
    known = {*api.structs, *api.opaque, *api.enums, *api.callbacks, *_C_TYPES}
    known |= {f.name for f in api.functions + api.extension_functions} | {*api.synonyms}
    for struct in api.structs.values():
        fields = struct.fields(api.minor)
        for one, following in pairwise(fields):
            if one.end > following.offset:
                yield f"{struct.name}.{following.name} overlaps {one.name}"
        for field in fields:
            if field.type.base not in known:
                yield f"{struct.name}.{field.name} has the unknown type {field.type.base}"
        size = struct.struct_size.at(api.minor)
        if size is not None and size not in [f.end for f in fields]:
            yield f"{struct.name}_STRUCT_SIZE is {size}, where no member ends"


def _notes(api: Api) -> Iterator[str]:
    for function in api.functions:
        struct = api.structs.get(function.args)
        if struct is None:
            yield f"{function.name} takes {function.args}, which is no struct"
            continue
        note = function.note
        if note is None:
            continue
        if note.level not in _LEVELS or note.default not in _DEFAULTS:
            yield f"{function.name}: level {note.level}, default {note.default} are not known words"
        if note.stopgap and note.default != "success":
            yield f"{function.name}: only a success can be a stopgap, not {note.default}"
        newest = {f.name for layout in struct.layouts for f in layout.fields}
        for name in note.requires:
            if name not in newest:
                yield f"{function.name}: required member {name} does not exist"


def stray_notes(registry: Registry) -> list[str]:
    """Notes and aliases about versions and names that do not exist."""
    return list(_stray_notes(registry))


def _stray_notes(registry: Registry) -> Iterator[str]:
    known = _all_names(registry)
    for note in registry.notes:
        if note.since not in registry.minors:
            yield f"a note is about 0.{note.since}, which is not in the registry"
        for name in note.about:
            if name not in known:
                yield f"a note of 0.{note.since} is about {name}, which does not exist"
    headers = {struct.header for struct in registry.structs}
    for name in registry.extensions:
        if name not in headers:
            yield f"a note is about the extension {name}, which does not exist"
    for alias in registry.aliases:
        for name in (alias.name, alias.now):
            if name not in known:
                yield f"the alias {alias.name} of {alias.now}: {name} does not exist"


def _all_names(registry: Registry) -> set[str]:
    names = {f.name for f in registry.functions} | {c.name for c in registry.callbacks}
    names |= {s.name for s in registry.structs} | {e.name for e in registry.enums}
    names |= {o.name for o in registry.opaque} | {s.name for s in registry.synonyms}
    names |= {value.name for enum in registry.enums for value in enum.values}
    for struct in registry.structs:
        for layout in struct.layouts:
            names |= {f"{struct.name}.{field.name}" for field in layout.fields}
    return names


_Break = tuple[int, str, str, tuple[str, ...]]


def _breaks(registry: Registry) -> Iterator[_Break]:
    """Every change that is no addition: minor, name, what happened, names that also explain it."""
    first = registry.minors[0]
    moves = [(since, f.name) for f in registry.functions for since, _ in f.slots.steps[1:]]
    for minor in sorted({since for since, _ in moves}):
        moved = tuple(name for since, name in moves if since == minor)
        yield minor, "PJRT_Api", f"has {len(moved)} functions at other slots", moved
    owners = {s.name: _extension_of(s, registry) for s in registry.structs}
    for struct in registry.structs:
        related = tuple(filter(None, (owners[struct.name],)))
        for before, after in pairwise(struct.layouts):
            old = {f.name: f for f in struct.fields(after.since - 1)}
            if any(_moved(f, old.get(f.name), old, after.fields) for f in after.fields) or (
                max(f.end for f in after.fields) < max(f.end for f in before.fields)
            ):
                yield after.since, struct.name, "has another layout", related
        for (_, old_size), (since, size) in pairwise(struct.struct_size.steps):
            grown = [f for f in struct.fields(since) if f.since == since]
            if not grown and old_size is not None and size is not None:
                yield since, struct.name, f"declares {size} bytes instead of {old_size}", related
    structs = {s.name: s for s in registry.structs}
    for opaque in registry.opaque:
        if opaque.until is not None and opaque.since >= first:
            what = "is no longer opaque" if opaque.name in structs else "was removed"
            yield opaque.until, opaque.name, what, _enumerators(opaque.header, registry)
    for struct in registry.structs:
        if struct.until is not None:
            related = tuple(filter(None, (owners[struct.name],)))
            yield (
                struct.until,
                struct.name,
                "was removed",
                (*related, *_enumerators(struct.header, registry)),
            )


def _moved(
    field: Field, old: Field | None, before: dict[str, Field], now: tuple[Field, ...]
) -> bool:
    if old is not None:
        return old.offset != field.offset
    # A member under a new name at the place and of the type of one that went is a rename; the
    # first three members of extensions were wrapped into `base` without moving anything.
    gone = [f for name, f in before.items() if name not in {x.name for x in now}]
    return field.name != "base" and any(f.offset == field.offset for f in gone)


def _extension_of(struct: Struct, registry: Registry) -> str | None:
    """The struct that begins the extension which `struct` belongs to."""
    if not struct.header:
        return None
    heads = [s.name for s in registry.structs if s.header == struct.header]
    return next((n for n in heads if n.endswith(("_Extension", "Custom_Call"))), None)


def _enumerators(header: str, registry: Registry) -> tuple[str, ...]:
    wanted = f"PJRT_Extension_Type_{header.replace('_', '')}".lower()
    types = (e for e in registry.enums if e.name == "PJRT_Extension_Type")
    return tuple(v.name for e in types for v in e.values if header and v.name.lower() == wanted)
