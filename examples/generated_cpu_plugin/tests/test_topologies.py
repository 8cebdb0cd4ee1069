"""Topologies: devices to compile for that need not be there, and the programs made for them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import serialize_executable, topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from plugin_under_test import BACKEND, config

pytestmark = pytest.mark.ecosystem


def devices_of(name: str, **options: Any) -> list[Any]:
    """The devices of the topology of that name."""
    try:
        return list(topologies.get_topology_desc(name, config.PLATFORM, **options).devices)
    except (NotImplementedError, jax.errors.JaxRuntimeError):
        if BACKEND == "reference_cpu":
            raise
        pytest.skip("the backend has no topologies without devices, which is optional")


def test_topology_of_the_options() -> None:
    devices = devices_of("", num_devices=6)
    assert [device.id for device in devices] == list(range(6))
    kind = jax.devices(config.PLATFORM)[0].device_kind
    assert all(device.device_kind == kind for device in devices)


@pytest.mark.needs_compiler
def test_topology_of_a_name() -> None:
    assert len(devices_of("2x4")) == 8
    assert len(devices_of(f"{config.PLATFORM}:3")) == 3


@pytest.mark.skipif(BACKEND != "reference_cpu", reason="names are the backend's own")
def test_names_that_mean_nothing_are_refused() -> None:
    with pytest.raises(jax.errors.JaxRuntimeError, match="for example 8 or 2x4"):
        topologies.get_topology_desc("enormous", config.PLATFORM)
    with pytest.raises(jax.errors.JaxRuntimeError, match="num_devices"):
        topologies.get_topology_desc("", config.PLATFORM, number_of_devices=3)


@pytest.mark.needs_compiler
def test_program_for_more_devices_than_there_are() -> None:
    """Compiles for sixteen devices: shardings, costs and memory are known without one of them."""
    mesh = Mesh(np.array(devices_of("16")), ("x",))
    sharding = NamedSharding(mesh, PartitionSpec("x"))
    x = jax.ShapeDtypeStruct((32, 4), jnp.float32, sharding=sharding)
    compiled = jax.jit(lambda x: x * 2, out_shardings=sharding).lower(x).compile()
    assert compiled.input_shardings[0][0].is_equivalent_to(sharding, 2)
    memory = compiled.memory_analysis()
    assert memory is not None
    assert memory.argument_size_in_bytes == 32 * 4 * 4 // 16


@pytest.mark.needs_compiler
def test_program_is_loaded_by_a_client() -> None:
    """What was compiled without a device runs on one, after a way through bytes."""
    ahead = SingleDeviceSharding(devices_of("1")[0])
    x = jax.ShapeDtypeStruct((3,), jnp.float32, sharding=ahead)
    compiled = jax.jit(lambda x: x * 3 + 1).lower(x).compile()
    serialized, in_tree, out_tree = serialize_executable.serialize(compiled)
    device = jax.devices(config.PLATFORM)[0]
    loaded = serialize_executable.deserialize_and_load(
        serialized, in_tree, out_tree, config.PLATFORM, execution_devices=[device]
    )
    y = loaded(jax.device_put(np.arange(3, dtype=np.float32), device))
    np.testing.assert_array_equal(np.asarray(y), [1, 4, 7])
