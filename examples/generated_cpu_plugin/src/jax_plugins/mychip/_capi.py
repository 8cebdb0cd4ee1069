"""A plugin's C API by ctypes: what a library is, and the functions of its extensions."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path


class _Version(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
    )


class _Head(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("version", _Version),
    )


class _ExtensionHead(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("next", ctypes.c_void_p),
    )


class _ErrorArgs(ctypes.Structure):  # PJRT_Error_Message_Args; PJRT_Error_Destroy_Args is shorter
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("error", ctypes.c_void_p),
        ("message", ctypes.c_void_p),
        ("message_size", ctypes.c_size_t),
    )


# Slots of the function table.
_ERROR_DESTROY, _ERROR_MESSAGE = 0, 1
_Function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class NotAPluginError(Exception):
    """The library loads but is no PJRT plugin."""


class PluginError(RuntimeError):
    """A function of the plugin failed; the message is the plugin's."""


@dataclass(frozen=True)
class FunctionTable:
    """A plugin's ``PJRT_Api``: its version and its functions' addresses, 0 for those not there."""

    api_version: tuple[int, int]
    struct_size: int  # bytes
    slots: tuple[int, ...]


@dataclass(frozen=True)
class Extension:
    """An extension of a plugin's C API: its functions' addresses, by their places in the struct."""

    functions: tuple[int, ...]
    table: FunctionTable

    def call(self, place: int, args: ctypes.Structure) -> None:
        """Calls a function that returns a PJRT_Error. Raises PluginError."""
        error = _Function(self.functions[place])(ctypes.addressof(args))
        if error:
            raise PluginError(_take_error(self.table, error))


def read_function_table(library: Path) -> FunctionTable:
    """
    Loads the library and reads the table that GetPjrtApi() returns. Calls no other function.

    Raises OSError with the loader's message, or NotAPluginError.
    """
    return _read_table(_table_address(library))


def find_extension(library: Path, number: int) -> Extension | None:
    """
    The extension of a PJRT_Extension_Type, or None when the library has none.

    Raises as :func:`read_function_table` does.
    """
    address = _table_address(library)
    at = _Head.from_address(address).extension_start
    while at:
        head = _ExtensionHead.from_address(at)
        if head.type == number:
            pointers = _pointers(at, ctypes.sizeof(_ExtensionHead), head.struct_size)
            return Extension(pointers, _read_table(address))
        at = head.next
    return None


def _table_address(library: Path) -> int:
    loaded = ctypes.CDLL(str(library))
    try:
        get_api = loaded.GetPjrtApi
    except AttributeError:
        raise NotAPluginError(f"{library} exports no GetPjrtApi") from None
    get_api.restype = ctypes.c_void_p
    get_api.argtypes = ()
    address: int | None = get_api()
    if not address:
        raise NotAPluginError(f"GetPjrtApi() of {library} returned null")
    return address


def _read_table(address: int) -> FunctionTable:
    head = _Head.from_address(address)
    slots = _pointers(address, ctypes.sizeof(_Head), head.struct_size)
    return FunctionTable((head.version.major, head.version.minor), head.struct_size, slots)


def _pointers(address: int, first: int, size: int) -> tuple[int, ...]:
    """The pointers in a struct of `size` bytes, from the byte `first` on."""
    count = max(0, size - first) // ctypes.sizeof(ctypes.c_void_p)
    return tuple(one or 0 for one in (ctypes.c_void_p * count).from_address(address + first))


def _take_error(table: FunctionTable, error: int) -> str:
    """What the error says. Destroys it."""
    args = _ErrorArgs(struct_size=ctypes.sizeof(_ErrorArgs), error=error)
    _Function(table.slots[_ERROR_MESSAGE])(ctypes.addressof(args))
    text = ctypes.string_at(args.message, args.message_size).decode(errors="replace")
    args.struct_size = _ErrorArgs.message.offset
    _Function(table.slots[_ERROR_DESTROY])(ctypes.addressof(args))
    return text
