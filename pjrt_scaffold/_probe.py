"""Read a plugin's version and call table. Runs as a child process: plugins may crash or hang.

    python _probe.py LIBRARY ATTRIBUTES_SLOT OUTPUT

Writes one JSON object a line to OUTPUT, one for each step, so that a crash leaves what was learnt
before it. Uses nothing of this package and calls nothing but GetPjrtApi, PJRT_Plugin_Attributes and
the error functions. Offsets are those of a 64-bit target.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any, TextIO

HEAD = 40  # struct_size, extension_start, PJRT_Api_Version (24 bytes)
MOST_SLOTS = 1000
NAMED_VALUE = 56  # bytes of PJRT_NamedValue
INT64_LIST = 2  # PJRT_NamedValue_kInt64List


def main(library: str, attributes_slot: str, output: str) -> None:
    """Probe `library` step by step."""
    with open(output, "w", encoding="utf-8", buffering=1) as out:  # noqa: PTH123
        _step(out, doing="loading it")
        try:
            get_api = ctypes.CDLL(library).GetPjrtApi
        except OSError as error:
            _step(out, failure=f"the library does not load: {error}")
            return
        except AttributeError:
            _step(out, failure="the library exports no GetPjrtApi")
            return
        _step(out, doing="GetPjrtApi")
        get_api.restype = ctypes.c_void_p
        address = get_api()
        if not address:
            _step(out, failure="GetPjrtApi returned null")
            return
        _step(out, doing="reading the table that GetPjrtApi returned")
        size = _read(address, ctypes.c_size_t)
        count = min(max(size - HEAD, 0) // 8, MOST_SLOTS)
        slots = [_read(address + HEAD + 8 * i, ctypes.c_size_t) for i in range(count)]
        _step(
            out,
            struct_size=size,
            major=_read(address + 32, ctypes.c_int),
            minor=_read(address + 36, ctypes.c_int),
            null_slots=[i for i, slot in enumerate(slots) if not slot],
            extensions=_extensions(_read(address + 8, ctypes.c_size_t)),
        )
        slot = int(attributes_slot)
        if slot < count and slots[slot]:
            for name, declared in (("attributes", 32), ("attributes_of_24_bytes", 24)):
                _step(out, **{name: _attributes(slots, slot, declared)})


def _step(out: TextIO, **facts: Any) -> None:
    out.write(json.dumps(facts) + "\n")


def _read(address: int, kind: Any) -> Any:
    return kind.from_address(address).value


def _extensions(address: int) -> list[int]:
    types: list[int] = []
    while address and len(types) < 100:
        types.append(_read(address + 8, ctypes.c_int))
        address = _read(address + 16, ctypes.c_size_t)
    return types


def _attributes(slots: list[int], slot: int, declared: int) -> dict[str, Any]:
    """Call PJRT_Plugin_Attributes with full-size memory whose declared size is `declared`."""
    args = (ctypes.c_size_t * 4)(declared, 0, 0, 0)
    error = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(slots[slot])(ctypes.addressof(args))
    if error:
        return {"error": _message(slots, error)}
    versions: dict[str, list[int]] = {}
    for i in range(args[3]):
        item = args[2] + i * NAMED_VALUE
        kind = _read(item + 32, ctypes.c_int)
        if kind == INT64_LIST:
            name = ctypes.string_at(
                _read(item + 16, ctypes.c_size_t), _read(item + 24, ctypes.c_size_t)
            )
            data, length = _read(item + 40, ctypes.c_size_t), _read(item + 48, ctypes.c_size_t)
            numbers = (ctypes.c_int64 * min(length, 16)).from_address(data) if data else ()
            versions[name.decode(errors="replace")] = list(numbers)
    return {"count": args[3], "versions": versions}


def _message(slots: list[int], error: int) -> str:
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    args = (ctypes.c_size_t * 5)(40, 0, error, 0, 0)
    text = ""
    if slots[1]:
        call(slots[1])(ctypes.addressof(args))
        text = ctypes.string_at(args[3], args[4]).decode(errors="replace") if args[3] else ""
    if slots[0]:
        destroy = (ctypes.c_size_t * 3)(24, 0, error)
        call(slots[0])(ctypes.addressof(destroy))
    return text


if __name__ == "__main__":
    main(*sys.argv[1:4])
