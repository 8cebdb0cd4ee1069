"""The library between a framework and a plugin, against a plugin of a few lines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pjrt_scaffold.errors import MissingError, UsageError
from pjrt_scaffold.registry.load import load
from pjrt_scaffold.trace import counts, interposer

REGISTRY = load()
KNOWN = len(REGISTRY.at(REGISTRY.minors[-1]).functions)

PLUGIN = """
#include <stddef.h>
static void* Answer(void* args) { ++*(int*)args; return args; }
static struct { size_t size; void* x; size_t vsize; void* vx; int major, minor;
                void* (*slots[SLOTS])(void*); } api;
const void* GetPjrtApi(void) {
  api.size = sizeof api; api.minor = MINOR;
  for (int i = 0; i < SLOTS; ++i) api.slots[i] = i == 5 ? NULL : Answer;
  return &api;
}
"""

# Loads the library, calls slot 2 `times` and the last slot once, then dies without a clean end.
CLIENT = """
import ctypes, os, sys, time
library, times = ctypes.CDLL(sys.argv[1]), int(sys.argv[2])
library.GetPjrtApi.restype = ctypes.c_void_p
api = library.GetPjrtApi()
words = ctypes.cast(api, ctypes.POINTER(ctypes.c_size_t))
slots = (words[0] - 40) // 8
call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
value = ctypes.c_int(0)
assert not words[5 + 5], "a null slot must stay null"
for slot in [2] * times + [slots - 1]:
    assert call(words[5 + slot])(ctypes.addressof(value)) == ctypes.addressof(value)
assert value.value == times + 1
os.kill(os.getpid(), 9)
"""


def run(folder: Path, slots: int, minor: int) -> Path:
    code, plugin, trace = folder / "p.c", folder / "p.so", folder / "counts"
    code.write_text(PLUGIN)
    made = [
        f"-DSLOTS={slots}",
        f"-DMINOR={minor}",
        "-shared",
        "-fPIC",
        str(code),
        "-o",
        str(plugin),
    ]
    subprocess.run(["cc", *made], check=True)
    library = interposer.build(REGISTRY, folder / "cache")
    names = {"PJRT_SCAFFOLD_TRACE_PLUGIN": plugin, "PJRT_SCAFFOLD_TRACE_FILE": trace}
    environment = os.environ | {name: str(path) for name, path in names.items()}
    command = [sys.executable, "-c", CLIENT, str(library), "3"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    return trace


@pytest.mark.parametrize("extra", [-20, 0, 7], ids=["older", "known", "newer"])
def test_counts_outlive_a_crash(tmp_path: Path, extra: int) -> None:
    """An older plugin has fewer slots; those beyond the registry are passed through."""
    minor = REGISTRY.minors[-1] + (1 if extra > 0 else 0)
    found = counts.read(run(tmp_path, KNOWN + extra, minor), REGISTRY)
    names = [f.name for f in REGISTRY.at(REGISTRY.minors[-1]).functions]
    expected = [(names[2], 3)] + ([(names[KNOWN + extra - 1], 1)] if extra <= 0 else [])
    assert [(c.name, c.calls) for c in found] == expected
    assert all(c.nanoseconds > 0 for c in found)


def test_bad_records(tmp_path: Path) -> None:
    trace = run(tmp_path, KNOWN, REGISTRY.minors[-1])
    good = trace.read_bytes()
    for data, says in (
        (b"", "no record"),
        (good[:100], "cut off"),
        (good[:8] + b"\xff" + good[9:], "newer"),
    ):
        trace.write_bytes(data)
        with pytest.raises(UsageError, match=says):
            counts.read(trace, REGISTRY)


def test_no_compiler(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no C compiler"):
        interposer.build(REGISTRY, tmp_path, "no-such-compiler")


def test_return_types_stay_with_their_slots() -> None:
    """One thunk serves every version, so no version may give a slot another return type."""
    newest = [f.returns for f in REGISTRY.at(REGISTRY.minors[-1]).functions]
    for minor in REGISTRY.minors:
        for slot, function in enumerate(REGISTRY.at(minor).functions):
            assert (function.returns == "void") == (newest[slot] == "void"), (minor, slot)
