"""What changed between two versions of the API."""

from __future__ import annotations

from dataclasses import dataclass

from pjrt_scaffold.registry.model import Api, Field, Registry, Struct


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One change, as a name and what happened to it."""

    name: str  # "PJRT_ExecuteOptions.call_location"
    what: str  # "added"


def diff(registry: Registry, old: int, new: int) -> list[Change]:
    """The changes from 0.`old` to 0.`new`, sorted by name.

    Raises:
        UnknownVersionError: one of the versions is not in the registry.
    """
    return changes(registry.at(old), registry.at(new))


def changes(a: Api, b: Api) -> list[Change]:
    """The changes from the API version `a` to `b`, sorted by name."""
    found = [
        *_names({f.name for f in a.functions}, {f.name for f in b.functions}, "function"),
        *_names(set(a.structs) | set(a.opaque), set(b.structs) | set(b.opaque), "type"),
        *_names(set(a.callbacks), set(b.callbacks), "callback"),
        *_names(_values(a), _values(b), "enum value"),
    ]
    slots = {f.name: f.slots.at(a.minor) for f in a.functions}
    for function in b.functions:
        before, after = slots.get(function.name), function.slots.at(b.minor)
        if before is not None and before != after:
            found.append(Change(function.name, f"moved from slot {before} to {after}"))
    spelled = _signatures(b)
    for name, signature in _signatures(a).items():
        if name in spelled and spelled[name] != signature:
            found.append(Change(name, f"'{signature}' became '{spelled[name]}'"))
    for name in a.opaque.keys() & b.structs.keys():
        found.append(Change(name, "no longer opaque: begins with its first member"))
    for name in a.structs.keys() & b.structs.keys():
        found += _struct(a.structs[name], a.minor, b.minor)
    return sorted(found)


def _names(old: set[str], new: set[str], kind: str) -> list[Change]:
    added = [Change(name, f"{kind} added") for name in new - old]
    return added + [Change(name, f"{kind} removed") for name in old - new]


def _signatures(api: Api) -> dict[str, str]:
    items = [(f.name, f.returns, f.params) for f in (*api.functions, *api.extension_functions)]
    items += [(c.name, c.returns, c.params) for c in api.callbacks.values()]
    return {
        name: f"{returns} ({', '.join(param.decl for param in params)})"
        for name, returns, params in items
    }


def _values(api: Api) -> set[str]:
    return {value.name for enum in api.enums.values() for value in enum.values}


def _struct(struct: Struct, old: int, new: int) -> list[Change]:
    before = {f.name: f for f in struct.fields(old)}
    after = {f.name: f for f in struct.fields(new)}
    changes = [
        Change(f"{struct.name}.{name}", f"field {kind}")
        for kind, gained, had in (("added", after, before), ("removed", before, after))
        for name in gained.keys() - had.keys()
    ]
    for name in before.keys() & after.keys():
        changes += _field(f"{struct.name}.{name}", before[name], after[name])
    sizes = struct.struct_size.at(old), struct.struct_size.at(new)
    if sizes[0] != sizes[1]:
        changes.append(Change(f"{struct.name}_STRUCT_SIZE", f"{sizes[0]} became {sizes[1]}"))
    return changes


def _field(name: str, before: Field, after: Field) -> list[Change]:
    changes = []
    if before.offset != after.offset:
        changes.append(Change(name, f"moved from byte {before.offset} to {after.offset}"))
    if before.decl != after.decl:
        changes.append(Change(name, f"'{before.decl}' became '{after.decl}'"))
    return changes
