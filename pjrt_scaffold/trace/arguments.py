"""Which members of a function's arguments the log shows, and how: the data of log.c.jinja."""

from __future__ import annotations

from dataclasses import dataclass

from pjrt_scaffold.registry.model import Api, Field

_KINDS = {
    "bool": "Bool",
    "double": "Float",
    "float": "Float",
    "int": "Signed",
    "int32_t": "Signed",
    "int64_t": "Signed",
    "size_t": "Unsigned",
    "uint32_t": "Unsigned",
    "uint64_t": "Unsigned",
}


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a struct of arguments."""

    name: str  # "dims"
    offset: int  # bytes
    size: int  # bytes
    kind: str  # "Numbers": a value of log.c.jinja's Kind
    length: int = 0  # bytes: where the length of a Text or of Numbers stands
    enum: str = ""  # "PJRT_Buffer_Type"


def arguments(api: Api) -> list[list[Member]]:
    """The members of each function's arguments, in the order of the table.

    A struct whose members moved between versions is left out: a caller may use another layout.
    """
    found = []
    for function in api.functions:
        struct = api.structs.get(function.args)
        fields = struct.fields(api.minor) if struct and len(struct.layouts) == 1 else ()
        members = (_member(field, fields, api) for field in fields)
        found.append([member for member in members if member is not None])
    return found


def _member(field: Field, fields: tuple[Field, ...], api: Api) -> Member | None:
    base, pointer = field.type.base, field.type.pointer
    if field.name in ("", "struct_size", "extension_start") or field.type.array is not None:
        return None
    lengths = {f.name: f.offset for f in fields if f.type.base == "size_t" and not f.type.pointer}
    if pointer == 1 and base == "char" and f"{field.name}_size" in lengths:
        return Member(field.name, field.offset, 8, "Text", lengths[f"{field.name}_size"])
    if pointer == 1 and base == "int64_t" and f"num_{field.name}" in lengths:
        return Member(field.name, field.offset, 8, "Numbers", lengths[f"num_{field.name}"])
    if pointer or base == "function" or base in api.callbacks:
        return Member(field.name, field.offset, 8, "Pointer")
    if base in api.enums:
        return Member(field.name, field.offset, field.size, "Enum", enum=base)
    if base in _KINDS:
        return Member(field.name, field.offset, field.size, _KINDS[base])
    return None  # a struct within the struct
