"""The binary interface: version, table, extensions, and the sizes of structs on both sides."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pjrt_scaffold.check.model import NotApplicable, check
from pjrt_scaffold.check.plugin import TABLE_HEAD, Plugin

OLDEST_MINOR = 29  # what jaxlib accepts
_BASE = 24  # bytes of PJRT_Extension_Base
_MOST_EXTENSIONS = 100
_BEYOND = 64  # bytes that are looked at behind a struct
_CANARY = 0xA5
_MAPS = Path("/proc/self/maps")


@check("PJ201")
def major_version(plugin: Plugin) -> Iterator[str]:
    """The major version is 0."""
    major, minor = plugin.version
    if major != 0:
        yield f"the table says version {major}.{minor}; every framework speaks 0.NN"


@check("PJ202")
def minor_version(plugin: Plugin) -> Iterator[str]:
    """The minor version is one that jaxlib accepts."""
    minor = plugin.version[1]
    if minor < OLDEST_MINOR:
        yield f"the table says version 0.{minor}; jaxlib accepts 0.{OLDEST_MINOR} and newer"


@check("PJ203")
def table_size(plugin: Plugin) -> Iterator[str]:
    """The table is as long as its version's."""
    minor, size = plugin.version[1], plugin.table_size
    minors = plugin.registry.minors
    if not minors[0] <= minor <= minors[-1]:
        raise NotApplicable(f"the registry knows 0.{minors[0]} to 0.{minors[-1]}, not 0.{minor}")
    expected = plugin.registry.api_struct_size.at(minor) or TABLE_HEAD
    if size < expected:
        yield f"the table of version 0.{minor} has {expected} bytes, and this one declares {size}"


@check("PJ204")
def no_holes(plugin: Plugin) -> Iterator[str]:
    """No null where a framework calls without looking."""
    for function, address in plugin.slots():
        if not address and function.note is not None and function.note.default != "null":
            yield f"{function.name} is null; frameworks call it without looking"


@check("PJ205")
def slots_are_code(plugin: Plugin) -> Iterator[str]:
    """Each entry points into memory that can be executed."""
    if not _MAPS.exists():
        raise NotApplicable("this system has no /proc/self/maps")
    slots = list(plugin.slots())  # which loads the library; its memory is looked at then
    code = list(_executable(_MAPS.read_text(encoding="utf-8", errors="replace")))
    for function, address in slots:
        if address and not any(start <= address < end for start, end in code):
            yield f"{function.name} is {address:#x}, where there is no code"


@check("PJ206")
def extensions_end(plugin: Plugin) -> Iterator[str]:
    """The chain of extensions comes to an end."""
    seen: set[int] = set()
    for address in _chain(plugin):
        if address in seen:
            yield "the chain of extensions leads back to itself"
            return
        seen.add(address)
    if len(seen) >= _MOST_EXTENSIONS:
        yield f"there are more than {_MOST_EXTENSIONS} extensions"


@check("PJ207")
def extensions_have_sizes(plugin: Plugin) -> Iterator[str]:
    """Each extension declares at least the bytes of its head."""
    for address in _chain(plugin):
        size = plugin.read(address, ctypes.c_size_t)
        if size < _BASE:
            kind = plugin.read(address + 8, ctypes.c_int)
            yield f"the extension of type {kind} declares {size} bytes; its head alone has {_BASE}"


@check("PJ208")
def longer_arguments(plugin: Plugin) -> Iterator[str]:
    """Arguments of a framework that is newer than the plugin are accepted."""
    for name, members in _queries(plugin):
        memory, args = _room(plugin, name, members, fill=0)
        args.struct_size += _BEYOND
        if error := plugin.raw(name, ctypes.addressof(memory)):
            said = plugin.error(name, error)
            yield f"with a struct_size {_BEYOND} bytes larger, {said}"


@check("PJ209")
def writes_in_bounds(plugin: Plugin) -> Iterator[str]:
    """Nothing behind the arguments is written."""
    for name, members in _queries(plugin):
        memory, args = _room(plugin, name, members, fill=_CANARY)
        size = ctypes.sizeof(args)
        if error := plugin.raw(name, ctypes.addressof(memory)):
            plugin.destroy_error(error)
        beyond = bytes(memory)[size:]
        written = [size + i for i, byte in enumerate(beyond) if byte != _CANARY]
        if written:
            yield f"{name} wrote to byte {written[0]} of arguments that have {size}"


def _executable(maps: str) -> Iterator[tuple[int, int]]:
    for line in maps.splitlines():
        span, rights = line.split()[:2]
        if "x" in rights:
            start, end = span.split("-")
            yield int(start, 16), int(end, 16)


def _chain(plugin: Plugin) -> Iterator[int]:
    """The addresses of the extensions; at most so many."""
    address = plugin.read(plugin.table + 8, ctypes.c_size_t)
    for _ in range(_MOST_EXTENSIONS):
        if not address:
            return
        yield address
        address = plugin.read(address + 16, ctypes.c_size_t)


def _queries(plugin: Plugin) -> Iterator[tuple[str, dict[str, int]]]:
    """Calls that change nothing, of those that the plugin has and answers."""
    client = {"client": plugin.client}
    yield "PJRT_Plugin_Attributes", {}
    yield "PJRT_Client_PlatformName", client
    yield "PJRT_Client_PlatformVersion", client
    yield "PJRT_Client_Devices", client
    yield "PJRT_Client_AddressableDevices", client
    for device in plugin.addressable_devices()[:1]:
        of = {"device_description": plugin.description(device)}
        yield "PJRT_Device_GetDescription", {"device": device}
        yield "PJRT_Device_IsAddressable", {"device": device}
        yield "PJRT_DeviceDescription_Id", of
        yield "PJRT_DeviceDescription_Kind", of
        yield "PJRT_DeviceDescription_Attributes", of


def _room(plugin: Plugin, name: str, members: dict[str, int], fill: int) -> tuple[Any, Any]:
    """Memory with the arguments of a call at its start, and those."""
    args = plugin.bindings.args(plugin.functions[name].args, **members)
    size = ctypes.sizeof(args)
    memory = (ctypes.c_uint8 * (size + _BEYOND))(*([fill] * (size + _BEYOND)))
    ctypes.memmove(memory, ctypes.addressof(args), size)
    return memory, type(args).from_buffer(memory)
