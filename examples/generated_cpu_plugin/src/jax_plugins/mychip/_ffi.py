"""
Foreign functions: how ``jax.ffi.register_ffi_target`` reaches the plugin library.

JAX keeps what programs register for a platform until somebody takes it; this module does, and hands
it to the library through the extensions of its PJRT C API.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from . import _jax_compat
from ._capi import Extension, find_extension
from ._config import PLATFORM

# Numbers of PJRT_Extension_Type.
_CUSTOM_CALL: Final = 0
_FFI: Final = 5

_STAGES: Final = ("instantiate", "prepare", "initialize", "execute")


_FunctionPointer: Final[Any] = ctypes.CFUNCTYPE(None).__mro__[1]  # of all functions of ctypes


class _CustomCallArgs(ctypes.Structure):  # PJRT_Gpu_Register_Custom_Call_Args
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("name_size", ctypes.c_size_t),
        ("api_version", ctypes.c_int),
        *((stage, ctypes.c_void_p) for stage in _STAGES),
        ("traits", ctypes.c_uint32),
    )


class _TypeInfo(ctypes.Structure):  # PJRT_FFI_Type_Info
    _fields_ = (
        ("deleter", ctypes.c_void_p),
        ("serialize", ctypes.c_void_p),
        ("deserialize", ctypes.c_void_p),
    )


class _TypeArgs(ctypes.Structure):  # PJRT_FFI_Type_Register_Args
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("name_size", ctypes.c_size_t),
        ("type_id", ctypes.c_int64),
        ("type_info", ctypes.POINTER(_TypeInfo)),
    )


class _OwnTypeInfo(ctypes.Structure):  # XLA_FFI_TypeInfo
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


def take_foreign_functions(library: Path) -> list[str]:
    """
    Hands the platform's foreign functions to the library, from now on and those that wait.

    Does nothing when the library takes none. Returns what was wrong with those that wait; whoever
    registers later gets an exception.
    """
    custom_call, ffi = find_extension(library, _CUSTOM_CALL), find_extension(library, _FFI)
    if custom_call is None or ffi is None:
        return []
    functions = ForeignFunctions(custom_call, ffi)
    problems: list[str] = []
    waiting = True

    def tolerant(register: Callable[..., None]) -> Callable[..., None]:
        def wrapper(name: str, *args: Any) -> None:
            try:
                register(name, *args)
            except Exception as error:
                if not waiting:
                    raise
                problems.append(f"{name} is not registered: {error}")

        return wrapper

    _jax_compat.take_foreign_functions(
        PLATFORM, tolerant(functions.register_target), tolerant(functions.register_type)
    )
    waiting = False
    return problems


@dataclass(frozen=True)
class ForeignFunctions:
    """Registers handlers and their types with one plugin library, by its extensions."""

    custom_call: Extension
    ffi: Extension

    def register_target(
        self, name: str, fn: Any, platform: str, api_version: int, traits: Any = 0
    ) -> None:
        """
        Registers a handler: a capsule or ctypes function, or a dict of them by stage.

        Raises PluginError with the library's message, TypeError for other handlers, and ValueError
        for stages that do not exist.
        """
        stages = stages_of(fn)
        if unknown := sorted(set(stages) - set(_STAGES)):
            raise ValueError(f"{name}: {unknown[0]!r} is no stage; there are {', '.join(_STAGES)}")
        text = name.encode()
        args = _CustomCallArgs(
            struct_size=_CustomCallArgs.traits.offset + _CustomCallArgs.traits.size,
            name=text,
            name_size=len(text),
            api_version=api_version,
            traits=int(getattr(traits, "value", traits)),
            **{stage: address_of(one, f"{name}, {stage}") for stage, one in stages.items()},
        )
        self.custom_call.call(0, args)

    def register_type(self, name: str, registration: Any) -> None:
        """
        Registers a type of handlers' state or user data: a capsule with its XLA_FFI_TypeId, or a
        dict of that and its XLA_FFI_TypeInfo. An id of 0 is replaced by the one that it gets.
        """
        if not isinstance(registration, Mapping):
            registration = {"type_id": registration}
        type_id = ctypes.c_int64.from_address(address_of(registration["type_id"], name))
        info = _TypeInfo()
        if (capsule := registration.get("type_info")) is not None:
            address = address_of(capsule, name)
            own = _OwnTypeInfo.from_address(address)
            # Before version 0.2 of the FFI it began with the deleter, and no function lies so low.
            is_new = own.struct_size == ctypes.sizeof(_OwnTypeInfo)
            info.deleter = own.deleter if is_new else _TypeInfo.from_address(address).deleter
        text = name.encode()
        args = _TypeArgs(
            struct_size=ctypes.sizeof(_TypeArgs),
            name=text,
            name_size=len(text),
            type_id=type_id.value,
            type_info=ctypes.pointer(info),
        )
        self.ffi.call(0, args)
        type_id.value = args.type_id


def stages_of(function: Any) -> dict[str, Any]:
    """The handlers of the stages of a function that is a dict of them, or the only one."""
    return dict(function) if isinstance(function, Mapping) else {"execute": function}


def address_of(function: Any, what: str) -> int:
    """The pointer in a capsule, whatever its name is, or of a ctypes function."""
    if isinstance(function, _FunctionPointer):
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    if type(function).__name__ != "PyCapsule":
        raise TypeError(
            f"{what} is a {type(function).__name__}; give a capsule (jax.ffi.pycapsule) or a "
            "function of ctypes"
        )
    api = ctypes.pythonapi
    get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    return get_pointer(function, get_name(function)) or 0
