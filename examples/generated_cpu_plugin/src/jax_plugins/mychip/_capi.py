"""Reading a plugin's function table with ctypes: enough to say what a library is, without JAX."""

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


class NotAPluginError(Exception):
    """The library loads but is no PJRT plugin."""


@dataclass(frozen=True)
class FunctionTable:
    """A plugin's ``PJRT_Api``: its version and its functions' addresses, 0 for those not there."""

    api_version: tuple[int, int]
    struct_size: int  # bytes
    slots: tuple[int, ...]


def read_function_table(library: Path) -> FunctionTable:
    """
    Loads the library and reads the table that GetPjrtApi() returns. Calls no other function.

    Raises OSError with the loader's message, or NotAPluginError.
    """
    loaded = ctypes.CDLL(str(library))
    try:
        get_api = loaded.GetPjrtApi
    except AttributeError:
        raise NotAPluginError(f"{library} exports no GetPjrtApi") from None
    get_api.restype = ctypes.c_void_p
    get_api.argtypes = ()
    address = get_api()
    if not address:
        raise NotAPluginError(f"GetPjrtApi() of {library} returned null")
    head = _Head.from_address(address)
    size, first = head.struct_size, ctypes.sizeof(_Head)
    count = max(0, size - first) // ctypes.sizeof(ctypes.c_void_p)
    slots = (ctypes.c_void_p * count).from_address(address + first)
    return FunctionTable(
        (head.version.major, head.version.minor), size, tuple(slot or 0 for slot in slots)
    )
