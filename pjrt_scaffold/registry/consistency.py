"""Checks that the registry's data fits together; run by the tests and after every import."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from pjrt_scaffold.registry.model import Api, Registry

_C_TYPES = frozenset(
    {"bool", "char", "double", "float", "function", "int", "size_t", "union", "void"}
    | {"int8_t", "int16_t", "int32_t", "int64_t", "intptr_t"}
    | {"uint8_t", "uint16_t", "uint32_t", "uint64_t", "uintptr_t"}
)
_LEVELS = ("load", "run", "common", "optional")
_DEFAULTS = ("unimplemented", "null", "success")


def problems(registry: Registry) -> list[str]:
    """Everything that is wrong, a sentence each; empty for a sound registry."""
    return [f"0.{minor}: {p}" for minor in registry.minors for p in _version(registry.at(minor))]


def unannotated(registry: Registry) -> list[str]:
    """Functions of the newest call table that people have written nothing about."""
    newest = registry.at(registry.minors[-1])
    return [f.name for f in newest.functions if f.note is None]


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
    known |= {f.name for f in api.functions + api.extension_functions}
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
        newest = {f.name for layout in struct.layouts for f in layout.fields}
        for name in note.requires:
            if name not in newest:
                yield f"{function.name}: required member {name} does not exist"
