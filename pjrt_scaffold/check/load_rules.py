"""Loading: is it a library that this machine can load, with an entry, and quiet?"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pjrt_scaffold.check.model import NotApplicable, check
from pjrt_scaffold.check.plugin import Plugin

_MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv"}  # e_machine of ELF


@check("PJ101")
def loads(plugin: Plugin) -> Iterator[str]:
    """The loader's refusal, in words that say what to do."""
    try:
        plugin.library  # noqa: B018 loads it
    except OSError as error:
        yield refusal(plugin.path, str(error))


@check("PJ102")
def has_the_symbol(plugin: Plugin) -> Iterator[str]:
    """GetPjrtApi is exported."""
    if not hasattr(plugin.library, "GetPjrtApi"):
        yield "the library exports no GetPjrtApi"


@check("PJ103")
def returns_a_table(plugin: Plugin) -> Iterator[str]:
    """GetPjrtApi returns, and not null."""
    if not plugin.table:
        yield "GetPjrtApi returned null"


@check("PJ104")
def is_quiet(plugin: Plugin) -> Iterator[str]:
    """Whatever any check's process prints is added by the runner."""
    if not plugin.table:
        raise NotApplicable("there is no table")
    yield from ()


@check("PJ105")
def lets_the_process_end(plugin: Plugin) -> Iterator[str]:
    """The child of this rule ends as programs do."""
    if not plugin.table:
        raise NotApplicable("there is no table")
    yield from ()


def refusal(library: Path, error: str) -> str:
    """Why the loader refused a library: what kind of file it is, and what the loader said."""
    with library.open("rb") as file:
        head = file.read(20)
    if sys.platform == "linux":
        if head[:4] != b"\x7fELF":
            return f"the file is no library: it begins with {head[:8]!r}"
        machine = _MACHINES.get(int.from_bytes(head[18:20], "little"), "another machine")
        if machine != platform.machine():
            return f"the library is built for {machine}, and this is {platform.machine()}"
    if missing := re.match(r"(.+): cannot open shared object file", error):
        return f"the library needs {missing[1]}, which is not to be found here"
    return f"the loader refuses it: {error}"
