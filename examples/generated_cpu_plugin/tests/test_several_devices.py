"""Several devices in one process: copies between them, sharded arrays, programs on all of them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from plugin_under_test import config

pytestmark = pytest.mark.core


@pytest.fixture
def four() -> list[Any]:
    """Four devices; <PLUGIN>_NUM_DEVICES=4 is set in conftest.py."""
    devices = jax.devices(config.PLATFORM)
    if len(devices) < 4:
        pytest.skip(f"needs 4 devices, there are {len(devices)}")
    return list(devices[:4])


def test_copies_between_devices(four: list[Any]) -> None:
    x = np.arange(100, dtype=np.float32)
    moved = jax.device_put(x, four[0])
    for device in (*four[1:], four[0]):
        moved = jax.device_put(moved, device)
        assert moved.devices() == {device}
        np.testing.assert_array_equal(np.asarray(moved), x)


def test_copies_to_the_cpu_and_back(four: list[Any]) -> None:
    x = np.arange(12, dtype=np.int8).reshape(3, 4)
    there = jax.device_put(jax.device_put(x, four[1]), jax.devices("cpu")[0])
    back = jax.device_put(there, four[2])
    np.testing.assert_array_equal(np.asarray(back), x)


def test_sharded_array(four: list[Any]) -> None:
    mesh = Mesh(np.array(four).reshape(2, 2), ("x", "y"))
    array = np.arange(64, dtype=np.float32).reshape(8, 8)
    for spec in (PartitionSpec("x", "y"), PartitionSpec("y"), PartitionSpec()):
        moved = jax.device_put(array, NamedSharding(mesh, spec))
        assert len(moved.addressable_shards) == 4
        np.testing.assert_array_equal(np.asarray(moved), array)


def test_array_from_pieces(four: list[Any]) -> None:
    sharding = NamedSharding(Mesh(np.array(four), ("x",)), PartitionSpec("x"))
    array = np.arange(16, dtype=np.float32)
    made = jax.make_array_from_callback((16,), sharding, lambda index: array[index])
    np.testing.assert_array_equal(np.asarray(made), array)


# pitfall 71: programs of several devices abort, or know no shardings
@pytest.mark.needs_compiler
def test_pmap_with_a_sum_over_devices(four: list[Any]) -> None:
    summed = jax.pmap(lambda x: x + jax.lax.psum(x, "i"), axis_name="i", devices=four)
    np.testing.assert_array_equal(np.asarray(summed(jnp.arange(4))), [6, 7, 8, 9])


@pytest.mark.needs_compiler
def test_program_on_each_device(four: list[Any]) -> None:
    for device in four:
        result = jax.jit(lambda x: x * 2)(jax.device_put(np.arange(3), device))
        assert result.devices() == {device}
        np.testing.assert_array_equal(np.asarray(result), [0, 2, 4])


@pytest.mark.needs_compiler
def test_sharded_program_without_communication(four: list[Any]) -> None:
    sharding = NamedSharding(Mesh(np.array(four), ("x",)), PartitionSpec("x"))
    array = np.arange(16, dtype=np.float32)
    double = jax.jit(lambda x: x * 2, in_shardings=sharding, out_shardings=sharding)
    result = double(jax.device_put(array, sharding))
    assert result.sharding.is_equivalent_to(sharding, 1)
    np.testing.assert_array_equal(np.asarray(result), array * 2)


@pytest.mark.needs_compiler
def test_shard_map(four: list[Any]) -> None:
    mesh = Mesh(np.array(four), ("x",))
    spec = PartitionSpec("x")
    mapped = jax.shard_map(
        lambda x: jax.lax.psum(x, "x"), mesh=mesh, in_specs=spec, out_specs=PartitionSpec()
    )
    array = np.arange(8, dtype=np.float32)
    result = jax.jit(mapped)(jax.device_put(array, NamedSharding(mesh, spec)))
    np.testing.assert_array_equal(np.asarray(result), array.reshape(4, 2).sum(0))
