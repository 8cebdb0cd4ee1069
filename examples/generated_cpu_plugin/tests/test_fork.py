"""A forked child has no worker threads: it gets an error, not a deadlock."""

from __future__ import annotations

import sys

import pytest
from plugin_under_test import config
from support import run_python

pytestmark = pytest.mark.ecosystem

CODE = f"""
import os, warnings
warnings.simplefilter("ignore")
import jax, numpy as np
device = jax.devices("{config.PLATFORM}")[0]
kept = jax.device_put(np.arange(4), device)
child = os.fork()
if child == 0:
    try:
        jax.device_put(np.arange(4), device).block_until_ready()
        print("no error", flush=True)
    except Exception as error:
        print(str(error)[:300], flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(np.asarray(kept).sum())
"""


# pitfall 55: a forked child waits for ever for threads that it does not have
@pytest.mark.skipif(sys.platform != "linux", reason="forking after threads is for Linux")
def test_child_of_a_fork_gets_an_error() -> None:
    result = run_python(CODE, timeout=60)
    lines = result.stdout.splitlines()
    assert lines[-1] == "6", result.stdout + result.stderr
    assert "FAILED_PRECONDITION" in lines[0]
    assert "fork" in lines[0]
