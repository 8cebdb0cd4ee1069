"""A process may end at any moment: with work under way, and with nobody letting go of anything."""

from __future__ import annotations

import pytest
from plugin_under_test import config
from support import run_python

pytestmark = [pytest.mark.core, pytest.mark.needs_compiler]

# Some work on all devices, and copies of what it gives to the host. Nobody waits for either.
BUSY = f"""
import atexit, os, sys, threading, warnings
warnings.simplefilter("ignore")
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
mesh = Mesh(np.array(jax.devices("{config.PLATFORM}")), ("x",))
rows = NamedSharding(mesh, PartitionSpec("x"))
x = jax.device_put(np.ones((len(mesh.devices), 128, 128), np.float32), rows)
def work(x):
    return jax.lax.fori_loop(0, 30, lambda i, x: jnp.sin(x @ x / 128), x)
program = jax.jit(work, out_shardings=rows)
program(x).block_until_ready()
kept = [program(x) for _ in range(8)]
for one in kept:
    one.copy_to_host_async()
"""

ENDINGS = {
    "of the program": "",
    "by an exception": "raise SystemExit(0)",
    # As frameworks do that never destroy their client.
    "without clean-up": "atexit._clear()",
    "of the references first": "del kept, x, program",
    "on another thread": "threading.Thread(target=lambda: kept[0].block_until_ready()).start()",
}


# pitfall 46: a worker of the plugin still holds objects of an interpreter that is gone
# pitfall 47: a client that nobody destroys keeps the process, or the device, from ending
# pitfall 51: objects of the process are used after exit has destroyed them
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS.keys())
def test_exit_with_work_under_way(ending: str) -> None:
    result = run_python(BUSY + ending, timeout=120)
    assert result.returncode == 0, result.stderr
    said = [line for line in result.stderr.splitlines() if "is experimental" not in line]
    assert said == []
