"""Read what the library between a framework and its plugins counted, and show it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from pjrt_scaffold._terminal import columns
from pjrt_scaffold.errors import UsageError
from pjrt_scaffold.registry.model import Registry
from pjrt_scaffold.trace.interposer import PATH, VERSION

_MAGIC = b"PJRTCNT\0"
_HEAD = struct.Struct(f"=8sIIiiq{PATH}s")
_COUNT = struct.Struct("=QQQQ")


@dataclass(frozen=True, slots=True)
class Count:
    """How often a function was called, and how long its calls took together."""

    name: str  # "PJRT_Client_Create"
    calls: int  # those that returned
    failed: int  # those of them that returned an error
    unfinished: int  # those that had not returned when their process ended
    nanoseconds: int  # of the calls that returned


@dataclass(frozen=True, slots=True)
class Record:
    """What happened between one plugin and the processes that used it."""

    plugin: str  # the path of the library
    version: str  # "0.112", of the table that it gave
    processes: int  # those that loaded it; the ones they forked are not counted apart
    counts: tuple[Count, ...]  # of the functions that were called, in the order of the table


def read(path: Path, registry: Registry) -> Record:
    """What one process counted of one plugin.

    Raises:
        UsageError: the file is none of ours, is cut off, or comes from a newer version.
    """
    data = path.read_bytes()
    if not data.startswith(_MAGIC):
        raise UsageError(f"{path} is no record of a trace.")
    version = int.from_bytes(data[8:12], "little")
    if version > VERSION:
        why = f"It has version {version}; this pjrt-scaffold reads up to {VERSION}."
        raise UsageError(f"{path} comes from a newer pjrt-scaffold.", why, "Update pjrt-scaffold.")
    slots = int.from_bytes(data[12:16], "little")
    if len(data) < _HEAD.size + slots * _COUNT.size:
        raise UsageError(f"{path} is cut off.", f"It has {len(data)} bytes.", "Trace again.")
    *_, major, minor, _, plugin = _HEAD.unpack_from(data)
    known = min(max(minor, registry.minors[0]), registry.minors[-1])
    names = [function.name for function in registry.at(known).functions]
    names += [f"slot {slot}" for slot in range(len(names), slots)]
    counts = []
    for name, slot in zip(names, range(slots), strict=False):
        begun, ended, failed, spent = _COUNT.unpack_from(data, _HEAD.size + slot * _COUNT.size)
        if begun:
            counts.append(Count(name, ended, failed, begun - ended, spent))
    path_of_plugin = plugin.split(b"\0")[0].decode(errors="surrogateescape")
    return Record(path_of_plugin, f"{major}.{minor}", 1, tuple(counts))


def read_all(folder: Path, registry: Registry) -> tuple[Record, ...]:
    """One record for each plugin, whichever processes loaded it."""
    records = []
    for path in folder.glob("counts-*"):
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) == _MAGIC:  # else its process died while it began
                records.append(read(path, registry))
    records.sort(key=lambda r: (r.plugin, r.version))
    groups = groupby(records, lambda r: (r.plugin, r.version))
    return tuple(_together(list(group)) for _, group in groups)


def _together(records: Sequence[Record]) -> Record:
    sums: dict[str, Count] = {}
    for count in (count for record in records for count in record.counts):
        other = sums.get(count.name, Count(count.name, 0, 0, 0, 0))
        sums[count.name] = Count(
            count.name,
            count.calls + other.calls,
            count.failed + other.failed,
            count.unfinished + other.unfinished,
            count.nanoseconds + other.nanoseconds,
        )
    processes = sum(record.processes for record in records)
    return Record(records[0].plugin, records[0].version, processes, tuple(sums.values()))


def as_json(records: Iterable[Record]) -> list[dict[str, Any]]:
    """The records for programs."""
    return [
        {
            "plugin": record.plugin,
            "api_version": record.version,
            "processes": record.processes,
            "functions": [
                {
                    "name": count.name,
                    "calls": count.calls,
                    "failed": count.failed,
                    "unfinished": count.unfinished,
                    "nanoseconds": count.nanoseconds,
                }
                for count in record.counts
            ],
        }
        for record in records
    ]


def summary(records: Sequence[Record]) -> str:
    """The records for people: a table for each plugin, what took longest first."""
    return "\n\n".join(_table(record) for record in records)


def _table(record: Record) -> str:
    counts = sorted(record.counts, key=lambda count: (-count.nanoseconds, count.name))
    calls = sum(count.calls for count in counts)
    loaded = f"{record.processes} processes" if record.processes > 1 else "one process"
    title = f"{record.plugin}: PJRT API {record.version}, {loaded}, {calls} calls"
    rows = [("total ms", "mean us", "calls", "failed", "function")]
    for count in counts:
        mean = f"{count.nanoseconds / count.calls / 1e3:.1f}" if count.calls else "-"
        total = f"{count.nanoseconds / 1e6:.3f}"
        rows.append((total, mean, str(count.calls), str(count.failed or "-"), count.name))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    right = [
        (*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[-1])
        for row in rows
    ]
    lines = [title, *columns(right).splitlines()]
    lines += [
        f"{count.name}: {count.unfinished} had not returned when the process ended"
        for count in counts
        if count.unfinished
    ]
    return "\n".join(lines)
