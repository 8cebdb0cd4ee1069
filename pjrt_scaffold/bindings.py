"""The PJRT C API as ctypes, for any version in the registry, made at run time.

    binding = Bindings(load().at(112))
    args = binding.args("PJRT_Client_Create_Args")  # struct_size is set, all else is zero
    error = binding.function(table, "PJRT_Client_Create")(ctypes.byref(args))

Pointers are plain addresses (c_void_p). Whoever passes one keeps alive what it points to.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pjrt_scaffold.registry.model import Api, Field

_SCALARS: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "char": ctypes.c_char,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "uint8_t": ctypes.c_uint8,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
}
_BY_SIZE: dict[int, Any] = {4: ctypes.c_int32, 8: ctypes.c_void_p}
_WORD = ctypes.sizeof(ctypes.c_void_p)


class Bindings:
    """Structs and functions of one API version."""

    def __init__(self, api: Api) -> None:
        """Bindings of one version, as `Registry.at` gives it."""
        self.api = api
        self._classes: dict[str, type[ctypes.Structure]] = {}
        self._functions = {f.name: f for f in api.functions}

    def struct(self, name: str) -> type[ctypes.Structure]:
        """The class of a struct, every member at the offset that the registry records.

        Raises:
            KeyError: this version has no such struct.
        """
        if name not in self._classes:
            struct = self.api.structs[name]
            members = struct.fields(self.api.minor)
            size = -(-struct.end(self.api.minor) // _WORD) * _WORD
            self._classes[name] = type(name, (ctypes.Structure,), self._body(members, size))
        return self._classes[name]

    def args(self, name: str, **members: Any) -> Any:
        """A zeroed struct with `struct_size` as this version declares it, and `members` set."""
        one: Any = self.struct(name)()
        declared = self.api.structs[name].struct_size.at(self.api.minor)
        if declared is not None:
            one.struct_size = declared
        for member, value in members.items():
            if not hasattr(one, member):
                raise AttributeError(f"{name} has no member {member} at 0.{self.api.minor}")
            setattr(one, member, value)
        return one

    def offset(self, function: str) -> int:
        """Where the function's pointer lies in the table, in bytes.

        Raises:
            KeyError: the table of this version has no such function.
        """
        slot = self._functions[function].slots.at(self.api.minor)
        if slot is None:
            raise KeyError(function)
        return self._header() + slot * _WORD

    def function(self, table: int, name: str) -> Callable[..., Any] | None:
        """The function in the table at the address `table`, taking a pointer to its arguments.

        None if the table ends before it, by the size it declares, or holds a null pointer. Up to
        0.56 the declared size leaves out the last four functions, so nobody may rely on them.
        """
        offset = self.offset(name)
        if ctypes.c_size_t.from_address(table).value < offset + _WORD:
            return None
        address = ctypes.c_void_p.from_address(table + offset).value
        returns = None if self._functions[name].returns == "void" else ctypes.c_void_p
        return ctypes.CFUNCTYPE(returns, ctypes.c_void_p)(address) if address else None

    def _header(self) -> int:
        """Bytes before the first slot: size, extensions and the version struct."""
        return 2 * _WORD + self.api.structs["PJRT_Api_Version"].end(self.api.minor)

    def _body(self, members: Sequence[Field], size: int) -> dict[str, Any]:
        """The attributes of a packed class whose gaps are members of their own."""
        fields: list[tuple[str, Any]] = []
        unnamed: list[str] = []
        end = 0
        for member, gap in _gaps(members, size):
            if gap:
                fields.append((f"_gap{end}", ctypes.c_char * gap))
            end += gap
            if member is None:
                continue
            name = member.name
            if member.union:
                name = f"_union{end}"
                unnamed.append(name)
            fields.append((name, self._type(member)))
            end += member.size
        return {"_pack_": 1, "_anonymous_": tuple(unnamed), "_fields_": fields}

    def _type(self, member: Field) -> Any:
        if member.union:
            parts = [(part.name, self._type(part)) for part in member.union]
            return type("Union", (ctypes.Union,), {"_pack_": 1, "_fields_": parts})
        base = member.type.base
        count = member.type.array
        each = member.size // count if count else member.size
        kind: Any
        if member.type.pointer or base == "function":
            kind = ctypes.c_void_p
        elif base in _SCALARS:
            kind = _SCALARS[base]
        elif base in self.api.structs:
            kind = self.struct(base)
        else:  # an enum, or a callback's pointer
            kind = _BY_SIZE[each]
        return kind * count if count else kind


def _gaps(members: Sequence[Field], size: int) -> Iterator[tuple[Field | None, int]]:
    """Each member with the bytes of padding before it, at last None with those up to `size`."""
    end = 0
    for member in members:
        yield member, member.offset - end
        end = member.end
    yield None, size - end
