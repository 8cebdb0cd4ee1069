"""Compiled programs as bytes: serialized and loaded again, here and by JAX's persistent cache."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental import serialize_executable
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from plugin_under_test import BACKEND, config
from support import output_of

pytestmark = pytest.mark.needs_compiler


def reloaded(compiled: Any, devices: Sequence[Any]) -> Any:
    """The compiled program after a way through bytes, on these devices."""
    try:
        serialized, in_tree, out_tree = serialize_executable.serialize(compiled)
    except jax.errors.JaxRuntimeError as error:
        if BACKEND == "own" and "UNIMPLEMENTED" in str(error):
            pytest.skip("the backend serializes nothing, which is optional")
        raise
    return serialize_executable.deserialize_and_load(
        serialized, in_tree, out_tree, config.PLATFORM, execution_devices=devices
    )


@pytest.mark.core
@pytest.mark.parametrize("index", [0, -1])
def test_program_of_one_device(index: int) -> None:
    device = jax.devices(config.PLATFORM)[index]
    x = jax.device_put(np.arange(6, dtype=np.float32), device)
    again = reloaded(jax.jit(lambda x: (x * 2, x.sum())).lower(x).compile(), [device])
    doubled, total = again(x)
    assert doubled.devices() == {device}
    np.testing.assert_array_equal(np.asarray(doubled), np.arange(6) * 2)
    assert float(total) == 15


@pytest.mark.core
def test_program_of_several_devices() -> None:
    """The shardings of arguments and results survive, and so does the sum over the devices."""
    devices = jax.devices(config.PLATFORM)
    if len(devices) < 2:
        pytest.skip("needs 2 devices")
    sharding = NamedSharding(Mesh(np.array(devices), ("x",)), PartitionSpec("x"))
    x = jax.device_put(np.arange(2 * len(devices), dtype=np.float32), sharding)
    whole = NamedSharding(sharding.mesh, PartitionSpec())
    program = jax.jit(lambda x: (x * 2, x.sum()), out_shardings=(sharding, whole))
    doubled, total = reloaded(program.lower(x).compile(), devices)(x)
    assert doubled.sharding.is_equivalent_to(sharding, 1)
    np.testing.assert_array_equal(np.asarray(doubled), np.asarray(x) * 2)
    assert float(total) == np.asarray(x).sum()


# JAX keeps the programs of platforms on a list of its own only, so the test answers for it.
CACHED = f"""
import jax, numpy as np
from jax._src import compilation_cache, monitoring
jax.config.update("jax_compilation_cache_dir", CACHE)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
compilation_cache.is_cache_used = lambda backend: True
events = []
monitoring.register_event_listener(lambda event, **_: events.append(event.split("/")[-1]))
device = jax.devices("{config.PLATFORM}")[0]
y = jax.jit(lambda x: x * 3 + 1)(jax.device_put(np.arange(4), device))
print(events.count("cache_hits"), events.count("cache_misses"), np.asarray(y).tolist())
"""


# pitfall 69: caches take another program for this one, or take none
@pytest.mark.ecosystem
@pytest.mark.skipif(BACKEND == "own", reason="a backend need not serialize its programs")
def test_persistent_cache_over_processes(tmp_path: Path) -> None:
    """What one process compiled, another one loads."""
    code = CACHED.replace("CACHE", repr(str(tmp_path)))
    assert output_of(code) == "0 1 [1, 4, 7, 10]"
    assert output_of(code) == "1 0 [1, 4, 7, 10]"
