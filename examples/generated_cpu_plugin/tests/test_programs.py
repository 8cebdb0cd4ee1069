"""Programs on one device, first those of the PJRT guide; each is compared with NumPy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plugin_under_test import config

pytestmark = [pytest.mark.core, pytest.mark.needs_compiler]


def test_add() -> None:
    result = jnp.add(1, 1)
    assert result == 2
    assert result.devices() == {jax.devices(config.PLATFORM)[0]}


def test_jit() -> None:
    assert jax.jit(lambda x: x * 2)(1.0) == 2.0


def test_elementwise_chain() -> None:
    x = np.linspace(-2, 2, 1000, dtype=np.float32)
    result = jax.jit(lambda v: jnp.tanh(v) * jnp.exp(-v) + jnp.sqrt(jnp.abs(v)))(x)
    np.testing.assert_allclose(
        result, np.tanh(x) * np.exp(-x) + np.sqrt(np.abs(x)), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int32", "int8", "uint8"])
def test_arithmetic(dtype: str) -> None:
    a = jnp.asarray(np.arange(1, 13).reshape(3, 4), dtype=dtype)
    b = jnp.asarray(np.arange(4), dtype=dtype)
    result = jax.jit(lambda a, b: a * b + a)(a, b)
    assert result.dtype == a.dtype
    expected = np.arange(1, 13).reshape(3, 4) * np.arange(4) + np.arange(1, 13).reshape(3, 4)
    np.testing.assert_array_equal(np.asarray(result, np.float32), expected)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions(axis: int | None) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
    np.testing.assert_allclose(jnp.sum(x, axis), x.sum(axis))
    np.testing.assert_allclose(jnp.max(x, axis), x.max(axis))
    np.testing.assert_array_equal(jnp.argmin(x, axis), x.argmin(axis))
    np.testing.assert_array_equal(jnp.any(x > 3, axis), (x > 3).any(axis))


def test_matrix_product() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((2, 33, 17), np.float32)
    b = rng.standard_normal((2, 17, 40), np.float32)
    np.testing.assert_allclose(jnp.matmul(a, b), a @ b, rtol=1e-4, atol=1e-5)


def test_shapes() -> None:
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    np.testing.assert_array_equal(jnp.transpose(x, (2, 0, 1)), x.transpose(2, 0, 1))
    np.testing.assert_array_equal(jnp.pad(x, 1), np.pad(x, 1))
    np.testing.assert_array_equal(jnp.concatenate([x, x], 1), np.concatenate([x, x], 1))
    np.testing.assert_array_equal(jax.jit(lambda v: v[:, ::-1, 1:4:2])(x), x[:, ::-1, 1:4:2])


def test_indexing() -> None:
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    rows = np.array([3, 0, 3])
    np.testing.assert_array_equal(jnp.asarray(x)[rows], x[rows])
    expected = x.copy()
    np.add.at(expected, rows, 1)
    np.testing.assert_array_equal(jnp.asarray(x).at[rows].add(1), expected)


def test_control_flow() -> None:
    def collatz(n: Any) -> Any:
        def step(state: Any) -> Any:
            n, steps = state
            return jax.lax.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n), steps + 1

        return jax.lax.while_loop(lambda state: state[0] != 1, step, (n, 0))[1]

    assert jax.jit(collatz)(27) == 111
    total, partial = jax.lax.scan(lambda c, x: (c + x, c), 0, jnp.arange(5))
    assert total == 10
    np.testing.assert_array_equal(partial, [0, 0, 1, 3, 6])


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1, 1)])
def test_small_shapes(shape: tuple[int, ...]) -> None:
    x = np.ones(shape, np.float32)
    result = jax.jit(lambda v: v + 1)(x)
    assert result.shape == shape
    np.testing.assert_array_equal(result, x + 1)


def test_random_numbers() -> None:
    """The same key gives the same numbers on every platform."""
    ours = np.asarray(jax.random.normal(jax.random.key(0), (100,)))
    with jax.default_device(jax.devices("cpu")[0]):
        theirs = np.asarray(jax.random.normal(jax.random.key(0), (100,)))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_gradient() -> None:
    gradient = jax.jit(jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2)))
    x = np.linspace(0, 3, 7, dtype=np.float32)
    np.testing.assert_allclose(gradient(x), np.sin(2 * x), atol=1e-5)
