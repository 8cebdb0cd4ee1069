"""What a plugin gains and owes when it moves from one API version to another."""

from __future__ import annotations

from dataclasses import dataclass

from pjrt_scaffold.registry.diff import Change, changes
from pjrt_scaffold.registry.model import Api, Enum, Function, Note, Registry, Struct, VersionNote

_UNIMPLEMENTED, _NULL = "UNIMPLEMENTED", "null slot"
_STOPGAP, _BENIGN = "success, a stopgap", "success, neutral values"


@dataclass(frozen=True, slots=True)
class NewFunction:
    """A function that the newer table has and the older lacks."""

    name: str  # "PJRT_Device_GetAttributes"
    since: int  # 92
    slot: int  # index in the table
    level: str  # load, run, common, optional; empty when nobody has written it down
    stub: str  # what the generated default answers: "null slot"
    error_is_fatal: bool
    called: str
    advice: str

    @property
    def is_gap(self) -> bool:
        """Whether the default lacks the function; else it answers what is true without it."""
        return self.stub != _BENIGN


@dataclass(frozen=True, slots=True)
class GrownStruct:
    """A struct with members that the older version lacks."""

    name: str  # "PJRT_ExecuteOptions"
    old_size: int  # bytes that X_STRUCT_SIZE declares, else up to the end of the last member
    new_size: int
    fields: tuple[tuple[int, str], ...]  # (since, declaration)


@dataclass(frozen=True, slots=True)
class NewValue:
    """An enum value that the older version lacks."""

    enum: str  # "PJRT_Buffer_Type"
    name: str  # "PJRT_Buffer_Type_S1"
    value: int
    since: int


@dataclass(frozen=True, slots=True)
class ExtensionChange:
    """What happened to one extension; extensions count versions of their own."""

    name: str  # "cross_host_transfers"
    what: str  # added, removed, changed
    old_version: int | None  # value of PJRT_API_X_EXTENSION_VERSION; None: it has no such macro
    new_version: int | None
    audience: (
        str  # whose plugins frameworks ask for it: any, gpu, tpu, none; empty: not written down
    )
    without: str  # what happens when a plugin lacks it
    structs: tuple[GrownStruct, ...]
    changes: tuple[Change, ...]  # all others


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything between two versions, the older one excluded."""

    old: int
    new: int
    functions: tuple[NewFunction, ...]
    structs: tuple[GrownStruct, ...]
    values: tuple[NewValue, ...]
    types: tuple[str, ...]  # structs, callbacks and opaque types that came
    extensions: tuple[ExtensionChange, ...]
    breaks: tuple[Change, ...]  # what moved, went or changed its type in the main header
    notes: tuple[VersionNote, ...]  # changes of meaning, with the action that they ask for


def compare(registry: Registry, old: int, new: int) -> Comparison:
    """Compare version 0.`old` with the later version 0.`new`.

    Raises:
        UnknownVersionError: one of the versions is not in the registry.
    """
    a, b = registry.at(old), registry.at(new)
    found = changes(a, b)
    functions = _functions(a, b)
    structs = _grown_structs(a, b, "")
    values = tuple(
        value for enum in b.enums.values() if not enum.header for value in _values(enum, old)
    )
    header_of = _headers(a, b)
    types = tuple(
        c.name
        for c in found
        if c.what in ("type added", "callback added") and not header_of.get(c.name)
    )
    appended = {f.name for f in functions} | {v.name for v in values} | set(types)
    appended |= {f"{s.name}_STRUCT_SIZE" for s in structs}
    breaks = tuple(
        c
        for c in found
        if not header_of.get(_owner(c.name))
        and c.name not in appended
        and c.what not in ("field added", "type added", "callback added")
    )
    notes = tuple(n for n in registry.notes if old < n.since <= new)
    extensions = _extensions(registry, a, b, found, header_of)
    return Comparison(old, new, functions, structs, values, types, extensions, breaks, notes)


def stub(note: Note | None) -> str:
    """What the generated default of a function answers, in words."""
    if note is None or note.default == "unimplemented":
        return _UNIMPLEMENTED
    return {"null": _NULL, "success": _STOPGAP if note.stopgap else _BENIGN}[note.default]


def new_function(f: Function, slot: int) -> NewFunction:
    """What people must know of a function that somebody may have to implement.

    Args:
        f: a function of the call table.
        slot: its place there.
    """
    return NewFunction(
        name=f.name,
        since=f.since,
        slot=slot,
        level=f.note.level if f.note else "",
        stub=stub(f.note),
        error_is_fatal=bool(f.note and f.note.error_is_fatal),
        called=f.note.called if f.note else "",
        advice=f.note.advice if f.note else "",
    )


def _functions(a: Api, b: Api) -> tuple[NewFunction, ...]:
    before = {f.name for f in a.functions}
    return tuple(
        new_function(f, slot) for slot, f in enumerate(b.functions) if f.name not in before
    )


def _grown_structs(a: Api, b: Api, header: str) -> tuple[GrownStruct, ...]:
    return tuple(
        grown
        for name, struct in b.structs.items()
        if struct.header == header and name in a.structs
        if (grown := _grown(struct, a.minor, b.minor))
    )


def _grown(struct: Struct, old: int, new: int) -> GrownStruct | None:
    before = {member.name for f in struct.fields(old) for member in f.union or (f,)}
    fields = tuple(
        (member.since, member.decl)
        for f in struct.fields(new)
        for member in f.union or (f,)
        if member.name not in before
    )
    if not fields:
        return None
    sizes = [struct.struct_size.at(minor) or struct.end(minor) for minor in (old, new)]
    return GrownStruct(struct.name, sizes[0], sizes[1], fields)


def _values(enum: Enum, old: int) -> list[NewValue]:
    return [NewValue(enum.name, v.name, v.value, v.since) for v in enum.values if v.since > old]


def _headers(*apis: Api) -> dict[str, str]:
    """The header of every name, empty for the main one."""
    result: dict[str, str] = {}
    for api in apis:
        for struct in api.structs.values():
            result[struct.name] = struct.header
        for enum in api.enums.values():
            result |= {value.name: enum.header for value in enum.values}
        for callback in api.callbacks.values():
            result[callback.name] = callback.header
        for function in api.extension_functions:
            result[function.name] = function.header
        for opaque in api.opaque.values():
            result.setdefault(opaque.name, opaque.header)
    return result


def _owner(name: str) -> str:
    return name.split(".")[0].removesuffix("_STRUCT_SIZE")


def _extensions(
    registry: Registry, a: Api, b: Api, found: list[Change], header_of: dict[str, str]
) -> tuple[ExtensionChange, ...]:
    groups: dict[str, list[Change]] = {}
    for change in found:
        if header := header_of.get(_owner(change.name)):
            groups.setdefault(header, []).append(change)
    present = [{s.header for s in api.structs.values()} for api in (a, b)]
    versions = [_extension_versions(api) for api in (a, b)]
    stayed = {n for n in present[0] & present[1] if versions[0].get(n) != versions[1].get(n)}
    result = []
    for name in sorted({*groups} | stayed):
        kept = name in present[0] and name in present[1]
        note = registry.extensions.get(name)
        structs = _grown_structs(a, b, name) if kept else ()
        told = {s.name + "_STRUCT_SIZE" for s in structs}
        told |= {f"{s.name}.{field}" for s in structs for field in _members(b, s.name)}
        rest = [c for c in groups.get(name, ()) if kept and not _is_told(c, told)]
        result.append(
            ExtensionChange(
                name=name,
                what="changed" if kept else "added" if name in present[1] else "removed",
                old_version=versions[0].get(name),
                new_version=versions[1].get(name),
                audience=note.audience if note else "",
                without=note.without if note else "",
                structs=structs,
                changes=tuple(rest),
            )
        )
    return tuple(result)


def _is_told(change: Change, told: set[str]) -> bool:
    """Whether the list of grown structs says it: a new member, or the size that it brings."""
    return change.name in told and (
        change.what == "field added" or change.name.endswith("_STRUCT_SIZE")
    )


def _members(api: Api, struct: str) -> list[str]:
    fields = api.structs[struct].fields(api.minor)
    return [member.name for f in fields for member in f.union or (f,)]


def _extension_versions(api: Api) -> dict[str, int | None]:
    return {c.header: c.values.at(api.minor) for c in api.constants.values() if c.header}
