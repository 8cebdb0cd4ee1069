"""Errors: those of looking up a device that cannot be, which every plugin must refuse."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from pjrt_scaffold.check.model import NotApplicable, check
from pjrt_scaffold.check.plugin import Plugin

NO_DEVICE, NEITHER = -123456, -7654321


@check("PJ301")
def unknown_device(plugin: Plugin) -> Iterator[str]:
    """Looking up an id that no device has is an error."""
    with _error(plugin, NO_DEVICE) as error:
        if not error:
            yield f"PJRT_Client_LookupDevice found a device of id {NO_DEVICE}"


@check("PJ302")
def code(plugin: Plugin) -> Iterator[str]:
    """The code is one of PJRT_Error_Code, and not OK."""
    known = {v.value: v.name for v in plugin.bindings.api.enums["PJRT_Error_Code"].values}
    with _error(plugin, NO_DEVICE) as error:
        found = plugin.code(_required(error))
        if found not in known or found == 0:
            yield f"PJRT_Error_GetCode gave {found}, which is no code of an error"


@check("PJ303")
def message(plugin: Plugin) -> Iterator[str]:
    """There is a message, in UTF-8."""
    with _error(plugin, NO_DEVICE) as error:
        found = plugin.message(_required(error))
    if not found:
        yield "PJRT_Error_Message gave no text"
    try:
        found.decode()
    except UnicodeDecodeError as wrong:
        yield f"the message {found!r} is no UTF-8: {wrong.reason}"


@check("PJ304")
def message_stays(plugin: Plugin) -> Iterator[str]:
    """A second error leaves the first one's message alone, and so does its end."""
    with _error(plugin, NO_DEVICE) as first:
        args = plugin.bindings.args("PJRT_Error_Message_Args", error=_required(first))
        plugin.raw("PJRT_Error_Message", ctypes.addressof(args))
        before = plugin.message(_required(first))
        with _error(plugin, NEITHER) as second:
            plugin.message(_required(second))
        after = ctypes.string_at(args.message, args.message_size) if args.message else b""
    if before != after:
        yield f"the message {before!r} became {after!r} when there was another error"


@contextmanager
def _error(plugin: Plugin, device: int) -> Iterator[int]:
    """What looking up a device answers; destroyed at the end."""
    of = {"client": plugin.client, "id": device}
    args = plugin.bindings.args("PJRT_Client_LookupDevice_Args", **of)
    error = plugin.raw("PJRT_Client_LookupDevice", ctypes.addressof(args))
    try:
        yield error
    finally:
        if error:
            plugin.destroy_error(error)


def _required(error: int) -> int:
    if not error:
        raise NotApplicable("the plugin has no error to look at")
    return error
