"""Arrays in the memories of a device and of its host: placed there, and made there by programs."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from plugin_under_test import BACKEND, config

pytestmark = pytest.mark.core

KINDS = ("device", "pinned_host", "unpinned_host")


def place(kind: str) -> SingleDeviceSharding:
    """The memory of that kind of the last device."""
    device = jax.devices(config.PLATFORM)[-1]
    kinds = [memory.kind for memory in device.addressable_memories()]
    if kind not in kinds and BACKEND == "own":
        pytest.skip(f"the device has no {kind} memory, only {kinds}")
    return SingleDeviceSharding(device, memory_kind=kind)


def assert_at(array: Any, sharding: Any, expected: Any) -> None:
    assert array.sharding.memory_kind == sharding.memory_kind
    assert array.devices() == sharding.device_set
    np.testing.assert_array_equal(np.asarray(array), expected)


@pytest.mark.parametrize(("origin", "target"), list(permutations(KINDS, 2)))
def test_copies_between_memories(origin: str, target: str) -> None:
    x = np.arange(10, dtype=np.int16)
    first = jax.device_put(x, place(origin))
    second = jax.device_put(first, place(target))
    assert_at(second, place(target), x)
    first.delete()
    assert_at(second, place(target), x)  # a copy, not a view


@pytest.mark.needs_compiler
@pytest.mark.parametrize("kind", KINDS)
def test_result_of_a_program(kind: str) -> None:
    double = jax.jit(lambda x: (x * 2, x + 1), out_shardings=(place(kind), place("device")))
    x = jax.device_put(np.arange(10, dtype=np.float32), place("device"))
    doubled, more = double(x)
    assert_at(doubled, place(kind), np.arange(10) * 2)
    assert_at(more, place("device"), np.arange(10) + 1)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("kind", KINDS)
def test_argument_of_a_program(kind: str) -> None:
    x = jax.device_put(np.arange(10, dtype=np.float32), place(kind))
    double = jax.jit(
        lambda x: jax.device_put(x, place("device")) * 2, out_shardings=place("device")
    )
    assert_at(double(x), place("device"), np.arange(10) * 2)


# pitfall 65: outputs are said to be in another memory than they are
@pytest.mark.needs_compiler
def test_results_of_several_devices() -> None:
    place("pinned_host")
    devices = jax.devices(config.PLATFORM)
    mesh = Mesh(np.array(devices), ("x",))
    sharding = NamedSharding(mesh, PartitionSpec("x"), memory_kind="pinned_host")
    x = np.arange(2 * len(devices), dtype=np.float32)
    on_devices = jax.device_put(x, NamedSharding(mesh, PartitionSpec("x")))
    assert_at(jax.jit(lambda x: x * 2, out_shardings=sharding)(on_devices), sharding, x * 2)


def test_memory_that_there_is_not() -> None:
    device = jax.devices(config.PLATFORM)[0]
    with pytest.raises(ValueError, match="no_such_memory"):
        SingleDeviceSharding(device, memory_kind="no_such_memory")
