"""A plugin that is loaded into this process, for the checks: calls by name, errors raised."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pjrt_scaffold.bindings import Bindings
from pjrt_scaffold.check.model import NotApplicable
from pjrt_scaffold.registry.model import Function, Registry

TABLE_HEAD = 40  # bytes before the first slot: size, extensions, version
_VERSION = 32  # where the major version lies, an int; the minor follows


class PjrtError(Exception):
    """A function answered with an error; it is destroyed already."""

    def __init__(self, function: str, code: int, message: str) -> None:
        """Which function, and what the error says."""
        super().__init__(f"{function} failed with code {code}: {message}")
        self.code = code


class Plugin:
    """A library and what it has, each made when it is first asked for."""

    def __init__(self, library: Path, registry: Registry, doing: Callable[[str], None]) -> None:
        """`doing` is told of each step before it is taken, so that a crash has a place."""
        self.path = library
        self.registry = registry
        self._doing = doing

    @cached_property
    def library(self) -> ctypes.CDLL:
        """The library, loaded.

        Raises:
            OSError: the loader refuses it.
        """
        self._doing("loading the library")
        return ctypes.CDLL(str(self.path))

    @cached_property
    def table(self) -> int:
        """The address that GetPjrtApi returns; 0 for null."""
        get_api = self.library.GetPjrtApi
        get_api.restype = ctypes.c_void_p
        self._doing("GetPjrtApi")
        return int(get_api() or 0)

    @property
    def table_size(self) -> int:
        """The bytes of the table that it declares."""
        return int(self.read(self.table, ctypes.c_size_t))

    @property
    def version(self) -> tuple[int, int]:
        """Major and minor version of the API."""
        major = self.read(self.table + _VERSION, ctypes.c_int)
        return major, self.read(self.table + _VERSION + 4, ctypes.c_int)

    @cached_property
    def bindings(self) -> Bindings:
        """Those of the plugin's version, or of the nearest one that the registry holds."""
        minors = self.registry.minors
        return Bindings(self.registry.at(min(max(self.version[1], minors[0]), minors[-1])))

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """The functions of the plugin's version by name."""
        return {f.name: f for f in self.bindings.api.functions}

    def slots(self) -> Iterator[tuple[Function, int]]:
        """The functions of this version that the table has room for, and where each lies."""
        for function in self.functions.values():
            offset = self.bindings.offset(function.name)
            if offset + 8 <= self.table_size:
                yield function, self.read(self.table + offset, ctypes.c_size_t)

    @staticmethod
    def read(address: int, kind: Any) -> Any:
        """The value of that C type at the address."""
        return kind.from_address(address).value

    def call(self, name: str, **members: Any) -> Any:
        """Call the function, and return the struct of its arguments, filled.

        Raises:
            PjrtError: it answered with an error.
            NotApplicable: the plugin does not have the function.
        """
        args = self.bindings.args(self._args(name), **members)
        if error := self.raw(name, ctypes.addressof(args)):
            raise self.error(name, error)
        return args

    def raw(self, name: str, args: int) -> int:
        """Call the function with arguments at an address; the error that it answers, or 0.

        Raises:
            NotApplicable: the plugin does not have the function.
        """
        self._args(name)
        function = self.bindings.function(self.table, name)
        if function is None:
            raise NotApplicable(f"the table has no {name}")
        self._doing(name)
        return int(function(args) or 0)

    def error(self, name: str, error: int) -> PjrtError:
        """What the error says, which is destroyed."""
        code, message = self.code(error), self.message(error)
        self.destroy_error(error)
        return PjrtError(name, code, message.decode(errors="replace"))

    def code(self, error: int) -> int:
        """The code of an error, -1 if asking fails."""
        args = self.bindings.args("PJRT_Error_GetCode_Args", error=error, code=-1)
        failed = self.raw("PJRT_Error_GetCode", ctypes.addressof(args))
        return -1 if failed else int(args.code)

    def message(self, error: int) -> bytes:
        """The message of an error, empty if it has none."""
        args = self.bindings.args("PJRT_Error_Message_Args", error=error)
        self.raw("PJRT_Error_Message", ctypes.addressof(args))
        return ctypes.string_at(args.message, args.message_size) if args.message else b""

    def destroy_error(self, error: int) -> None:
        """Give an error back."""
        args = self.bindings.args("PJRT_Error_Destroy_Args", error=error)
        self.raw("PJRT_Error_Destroy", ctypes.addressof(args))

    @cached_property
    def client(self) -> int:
        """A client, of a plugin that is initialised."""
        self.call("PJRT_Plugin_Initialize")
        return int(self.call("PJRT_Client_Create").client or 0)

    def devices(self) -> list[int]:
        """All devices."""
        args = self.call("PJRT_Client_Devices", client=self.client)
        return addresses(args.devices, args.num_devices)

    def addressable_devices(self) -> list[int]:
        """The devices of this process."""
        args = self.call("PJRT_Client_AddressableDevices", client=self.client)
        return addresses(args.addressable_devices, args.num_addressable_devices)

    def description(self, device: int) -> int:
        """The description of a device."""
        args = self.call("PJRT_Device_GetDescription", device=device)
        return int(args.device_description or 0)

    def id(self, device: int) -> int:
        """The id of a device."""
        of = self.description(device)
        return int(self.call("PJRT_DeviceDescription_Id", device_description=of).id)

    def memories(self, device: int) -> list[int]:
        """The memories that a device can use."""
        args = self.call("PJRT_Device_AddressableMemories", device=device)
        return addresses(args.memories, args.num_memories)

    def _args(self, name: str) -> str:
        """The name of the struct that the function takes."""
        if name not in self.functions:
            raise NotApplicable(f"API version 0.{self.bindings.api.minor} has no {name}")
        return self.functions[name].args


def addresses(start: int | None, count: int) -> list[int]:
    """The pointers in an array."""
    if not start:
        return []
    return [int(one or 0) for one in (ctypes.c_void_p * count).from_address(start)]


def text(start: int | None, size: int) -> bytes:
    """The bytes that a pointer and a length name."""
    return ctypes.string_at(start, size) if start else b""
