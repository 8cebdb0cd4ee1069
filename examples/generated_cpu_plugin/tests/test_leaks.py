"""What a program needs goes with it: threads and memory do not grow with what was compiled."""

from __future__ import annotations

import json
import os
import sys

import pytest
from plugin_under_test import config
from support import output_of

pytestmark = [
    pytest.mark.core,
    pytest.mark.needs_compiler,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

# Compiles and runs programs on all devices, each another one, and drops them.
CODE = f"""
import gc, json, os, warnings
warnings.simplefilter("ignore")
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
mesh = Mesh(np.array(jax.devices("{config.PLATFORM}")), ("x",))
rows = NamedSharding(mesh, PartitionSpec("x"))
x = jax.device_put(np.ones((len(mesh.devices), 64), np.float32), rows)
table = np.ones((64, 400), np.float32)  # a constant of 100 kB in each program
def measure(count):
    for number in range(count):
        kept = table * number
        compiled = jax.jit(lambda x: x @ kept + number).lower(x).compile()
        compiled(x).block_until_ready()
        del compiled
        jax.clear_caches()
    gc.collect()
    with open("/proc/self/status") as status:
        lines = dict(line.split(":") for line in status)
    return int(lines["Threads"]), int(lines["VmRSS"].split()[0])
print(json.dumps([measure(20), measure(100)]))
"""


# pitfall 54: every compilation starts threads that never end
# pitfall 81: what was compiled for a program stays when the program goes
def test_compilations_leave_nothing_behind() -> None:
    (threads, kilobytes), (threads_later, kilobytes_later) = json.loads(output_of(CODE))
    assert threads_later <= threads
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which keeps what was freed for a while
        assert kilobytes_later - kilobytes < 100 * 50
