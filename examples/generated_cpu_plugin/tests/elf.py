"""A small reader of ELF libraries: what one exports, what it needs, where it looks for that."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

_NEEDED, _RPATH, _RUNPATH = 1, 15, 29
_SHT_DYNAMIC, _SHT_DYNSYM = 6, 11


@dataclass
class Library:
    """What the dynamic loader sees."""

    needed: list[str] = field(default_factory=list)
    search_path: list[str] = field(default_factory=list)  # RPATH and RUNPATH
    exported: list[str] = field(default_factory=list)


def read(path: Path) -> Library:
    """Reads a 64-bit little-endian library. Raises ValueError for anything else."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{path} is no 64-bit little-endian ELF file")
    offset, entry_size, count = (
        struct.unpack_from("<Q", data, 40)[0],
        *struct.unpack_from("<HH", data, 58),
    )
    # name, type, flags, address, offset, size, link, info, alignment, entry size
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", data, offset + index * entry_size)
        for index in range(count)
    ]
    library = Library()
    for section in sections:
        strings = sections[section[6]][4]
        rows = range(section[4], section[4] + section[5], section[9] or 1)
        if section[1] == _SHT_DYNAMIC:
            for row in rows:
                tag, value = struct.unpack_from("<qQ", data, row)
                if tag == _NEEDED:
                    library.needed.append(_text(data, strings + value))
                elif tag in (_RPATH, _RUNPATH):
                    library.search_path += _text(data, strings + value).split(":")
        elif section[1] == _SHT_DYNSYM:
            for row in rows:
                name, info, _, defined = struct.unpack_from("<IBBH", data, row)
                if defined and info >> 4 in (1, 2):  # global or weak
                    library.exported.append(_text(data, strings + name))
    return library


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()
