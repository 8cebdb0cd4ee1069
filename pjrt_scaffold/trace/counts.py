"""Read what the library between a framework and a plugin counted."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from pjrt_scaffold.errors import UsageError
from pjrt_scaffold.registry.model import Registry
from pjrt_scaffold.trace.interposer import VERSION

_HEAD = struct.Struct("=8sIIii")
_COUNT = struct.Struct("=QQ")


@dataclass(frozen=True, slots=True)
class Count:
    """How often a function was called, and how long its calls took together."""

    name: str  # "PJRT_Client_Create"
    calls: int
    nanoseconds: int


def read(path: Path, registry: Registry) -> tuple[Count, ...]:
    """The functions that were called, in the order of the plugin's table.

    Raises:
        UsageError: the file is none of ours, is cut off, or comes from a newer version.
    """
    data = path.read_bytes()
    again = "record it again"
    if len(data) < _HEAD.size or not data.startswith(b"PJRTCNT\0"):
        raise UsageError(f"{path} is no record of a trace", "no plugin may have been loaded", again)
    _, version, slots, _, minor = _HEAD.unpack_from(data)
    if version > VERSION:
        why = f"it has version {version}, this pjrt-scaffold reads up to {VERSION}"
        raise UsageError(f"{path} comes from a newer pjrt-scaffold", why, "update pjrt-scaffold")
    if len(data) < _HEAD.size + slots * _COUNT.size:
        raise UsageError(f"{path} is cut off", f"it has {len(data)} bytes", again)
    known = min(max(minor, registry.minors[0]), registry.minors[-1])
    names = {i: f.name for i, f in enumerate(registry.at(known).functions)}
    counts = []
    for slot in range(slots):
        calls, spent = _COUNT.unpack_from(data, _HEAD.size + slot * _COUNT.size)
        if calls:
            counts.append(Count(names.get(slot, f"slot {slot}"), calls, spent))
    return tuple(counts)
