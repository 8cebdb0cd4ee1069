"""Arrays to a device and back: bit by bit, for every type, shape and layout. Compiles nothing."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from plugin_under_test import config

pytestmark = pytest.mark.core

DTYPES: Final = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "bfloat16"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn"),
    *("int4", "uint4", "int2", "uint2"),
)
SHAPES: Final = ((), (1,), (5,), (0,), (3, 0, 2), (2, 3), (4, 1, 3), (2, 3, 4, 5))

LAYOUTS: Final[dict[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]]] = {
    "dense": lambda a: a,
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1],
    "reversed_last": lambda a: a[..., ::-1],
    "every_other": lambda a: a[::2],
    "inner_slice": lambda a: a[..., 1:-1],
    "column_major": lambda a: np.asfortranarray(a),
    "broadcast": lambda a: np.broadcast_to(a[:1], (3, *a.shape[1:])),
    "not_writable": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
}


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def sample(name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Random elements of the type, all bit patterns that it has."""
    dtype = numpy_dtype(name)
    rng = np.random.default_rng(abs(hash((name, shape))) % 2**32)
    count = int(np.prod(shape))
    if name == "bool":
        return rng.integers(0, 2, shape).astype(dtype)
    if name in ("int2", "uint2", "int4", "uint4", "float4_e2m1fn"):
        patterns = np.arange(4 if name.endswith("2") else 16, dtype=np.int8)
        if name.startswith("int"):
            patterns = patterns - len(patterns) // 2
        if name == "float4_e2m1fn":
            return rng.choice(patterns.view(dtype), shape)
        return rng.choice(patterns, shape).astype(dtype)
    raw = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8)
    return raw.view(dtype).reshape(shape)


def round_trip(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    with jax.enable_x64(True):  # else JAX narrows 64 bits to 32
        moved = jax.device_put(array, jax.devices(config.PLATFORM)[0])
        assert moved.dtype == array.dtype
        assert moved.shape == array.shape
        return np.asarray(moved)


def assert_same_bits(result: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    assert result.tobytes() == np.ascontiguousarray(expected).tobytes()


# pitfall 59: a scalar becomes an array of one element
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_types_and_shapes(dtype: str, shape: tuple[int, ...]) -> None:
    array = sample(dtype, shape)
    assert_same_bits(round_trip(array), array)


# pitfall 70: results in another layout come back transposed
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32", "complex128", "int4"])
@pytest.mark.parametrize("shape", [(6,), (4, 5), (3, 4, 5), (4, 0, 3)], ids=str)
def test_layouts(dtype: str, shape: tuple[int, ...], layout: str) -> None:
    array = LAYOUTS[layout](sample(dtype, shape))
    assert_same_bits(round_trip(array), array)


def test_large_array() -> None:
    array = np.arange(3_000_001, dtype=np.float32)
    assert_same_bits(round_trip(array), array)
    assert_same_bits(round_trip(array[::-3]), array[::-3])


# pitfall 63: host data is freed or changed while the transfer still reads it
@pytest.mark.needs_compiler
@pytest.mark.parametrize("size", [7, 1 << 20])
def test_later_changes_of_the_host_array_are_not_seen(size: int) -> None:
    """jnp.array copies, with a program; what device_put gets the host promises not to change."""
    array = np.arange(size, dtype=np.int32)
    moved = jnp.array(array, device=jax.devices(config.PLATFORM)[0])
    array[:] = -1
    np.testing.assert_array_equal(np.asarray(moved), np.arange(size, dtype=np.int32))


@pytest.mark.parametrize("size", [7, 1 << 20])
def test_the_device_array_outlives_the_host_array(size: int) -> None:
    """A backend may use the host's memory without a copy, if it keeps hold of it."""
    device = jax.devices(config.PLATFORM)[0]
    moved = [jax.device_put(np.full(size, value, np.int32), device) for value in range(8)]
    gc.collect()
    for _ in range(8):  # likely gets the memory again, if it was freed
        np.full(size, -1, np.int32)
    for value, array in enumerate(moved):
        np.testing.assert_array_equal(np.asarray(array), np.full(size, value, np.int32))


def test_the_host_copy_outlives_the_device_array() -> None:
    moved = jax.device_put(np.arange(1000), jax.devices(config.PLATFORM)[0])
    host = np.asarray(moved)
    moved.delete()
    np.testing.assert_array_equal(host, np.arange(1000))


def test_deleted_array_says_so() -> None:
    moved = jax.device_put(np.arange(3), jax.devices(config.PLATFORM)[0])
    moved.delete()
    assert moved.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(moved)


def test_every_memory_kind() -> None:
    device = jax.devices(config.PLATFORM)[0]
    for memory in device.addressable_memories():
        sharding = jax.sharding.SingleDeviceSharding(device, memory_kind=memory.kind)
        moved = jax.device_put(np.arange(10), sharding)
        assert moved.sharding.memory_kind == memory.kind
        np.testing.assert_array_equal(np.asarray(moved), np.arange(10))


def test_many_transfers_give_their_memory_back() -> None:
    device = jax.devices(config.PLATFORM)[0]
    if device.memory_stats() is None:
        pytest.skip("the device keeps no statistics")
    before = device.memory_stats()["bytes_in_use"]
    for _ in range(50):
        jax.device_put(np.zeros(100_000, np.float32), device).block_until_ready()
    assert device.memory_stats()["bytes_in_use"] <= before + 2 * 400_000
