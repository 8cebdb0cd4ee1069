"""The log of `pjrt-scaffold trace run --log`: a line of JSON for each call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pjrt_scaffold.trace import interposer
from pjrt_scaffold.trace.arguments import arguments
from tests.support.rendering import ROOT
from tests.trace.conftest import KNOWN, REGISTRY, Compile

NEWEST = REGISTRY.at(REGISTRY.minors[-1])
SLOTS = {function.name: slot for slot, function in enumerate(NEWEST.functions)}
SAID = 'a "word" \\ and\na line'

# All functions do nothing, but for those that tell a text, and one that fails.
PLUGIN = """
#include <stddef.h>
typedef struct { size_t size; void* x; void* of; const char* text; size_t text_size; } Text;
static void* Say(void* args) {
  Text* text = args;
  text->text = SAID;
  text->text_size = sizeof SAID - 1;
  return NULL;
}
static void* Nothing(void* args) { (void)args; return NULL; }
static void* Fail(void* args) { return args; }
static struct { size_t size; void* x; size_t vsize; void* vx; int major, minor;
                void* (*slots[SLOTS])(void*); } api;
const void* GetPjrtApi(void);
const void* GetPjrtApi(void) {
  api.size = sizeof api; api.minor = MINOR;
  for (int i = 0; i < SLOTS; ++i) api.slots[i] = Nothing;
  api.slots[MESSAGE] = api.slots[NAME] = Say;
  api.slots[FAIL] = Fail;
  return &api;
}
"""

CLIENT = """
import ctypes, os, sys
from pjrt_scaffold.bindings import Bindings
from pjrt_scaffold.registry.load import load

registry = load()
binding = Bindings(registry.at(registry.minors[-1]))
library = ctypes.CDLL(sys.argv[1])
library.GetPjrtApi.restype = ctypes.c_void_p
table = library.GetPjrtApi()

def call(name, **members):
    args = binding.args(name + "_Args", **members)
    binding.function(table, name)(ctypes.byref(args))

dims = (ctypes.c_int64 * 3)(2, -3, 4)
call("PJRT_Client_PlatformName", client=0x1234)
call(
    "PJRT_Client_BufferFromHostBuffer", type=11, dims=ctypes.addressof(dims), num_dims=3,
    byte_strides=16, num_byte_strides=1,
)
call("PJRT_Buffer_ToHostBuffer", dst_size=1 << 40)
if os.fork() == 0:
    call("PJRT_Client_PlatformName")
    os._exit(0)
os.wait()
if sys.argv[2:]:
    os.closerange(3, 100)
    with open(sys.argv[2], "w") as mine:
        call("PJRT_Client_PlatformName")
"""


@pytest.fixture(scope="module")
def library(c: Compile) -> Path:
    slots = {
        "MESSAGE": "PJRT_Error_Message",
        "NAME": "PJRT_Client_PlatformName",
        "FAIL": "PJRT_Buffer_ToHostBuffer",
    }
    numbers = [f"-D{word}={SLOTS[name]}" for word, name in slots.items()]
    text = f"-DSAID={json.dumps(SAID)}"
    table = [f"-DSLOTS={KNOWN}", f"-DMINOR={NEWEST.minor}"]
    return c(PLUGIN, "plugin.so", "-shared", "-fPIC", text, *table, *numbers)


def logged(library: Path, cache: Path, folder: Path, *words: Path) -> list[dict[str, Any]]:
    log = folder / "log"
    tracer = interposer.build(REGISTRY, cache / "pjrt-scaffold")
    environment = interposer.environment(tracer, folder, os.environ, log)
    command: list[str | Path] = [sys.executable, "-c", CLIENT, library, *words]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_calls_are_told_with_their_arguments(library: Path, cache: Path, tmp_path: Path) -> None:
    name, buffer, failed, forked = logged(library, cache, tmp_path)
    assert name["function"] == "PJRT_Client_PlatformName"
    assert name["plugin"] == "plugin.so"
    assert name["args"] == {
        "client": "0x1234",
        "platform_name": SAID,
        "platform_name_size": len(SAID),
    }
    assert "error" not in name
    assert name["process"] == name["thread"] == buffer["process"] != forked["process"]
    assert 0 < name["start_ns"] < name["start_ns"] + name["ns"] <= buffer["start_ns"]
    args = buffer["args"]
    assert (args["type"], args["dims"]) == ("PJRT_Buffer_Type_F32", [2, -3, 4])
    assert args["byte_strides"] == "(not readable)"
    assert (args["device"], args["num_dims"]) == (None, 3)
    assert (failed["error"], failed["args"]["dst_size"]) == (SAID, 1 << 40)


def test_a_file_that_is_not_the_log_is_left_alone(
    library: Path, cache: Path, tmp_path: Path
) -> None:
    """The number of a file that the program closed may be that of another one by then."""
    assert len(logged(library, cache, tmp_path, tmp_path / "mine")) == 4
    assert (tmp_path / "mine").read_bytes() == b""


def test_every_member_lies_in_its_struct() -> None:
    for function, members in zip(NEWEST.functions, arguments(NEWEST), strict=True):
        for member in members:
            fields = {f.name: f for f in NEWEST.structs[function.args].fields(NEWEST.minor)}
            assert (fields[member.name].offset, fields[member.name].size) == (
                member.offset,
                member.size,
            )
            assert member.enum in ("", *NEWEST.enums)


def test_most_arguments_are_shown() -> None:
    """Nearly each function has arguments to show, and the well-known kinds are all in use."""
    shown = arguments(NEWEST)
    assert sum(bool(members) for members in shown) > 0.9 * len(shown)
    kinds = {member.kind for members in shown for member in members}
    assert kinds >= {"Bool", "Signed", "Unsigned", "Pointer", "Enum", "Text", "Numbers"}
