"""Fourier transforms, triangular systems and Cholesky factors, beside JAX's own CPU."""

from __future__ import annotations

from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from beside_cpu import Array, check
from jax import lax
from plugin_under_test import BACKEND

pytestmark = [
    pytest.mark.core,
    pytest.mark.needs_compiler,
    pytest.mark.skipif(
        BACKEND != "reference_cpu", reason="what another backend must know is its own"
    ),
]

UNITS: Final = 200  # sums of many numbers, in another order
WIDE: Final = ("float32", "float64", "complex64", "complex128")


@pytest.fixture(autouse=True)
def wide_types() -> Any:
    """Types of 64 bits, for these tests only."""
    with jax.enable_x64(True):
        yield


def random(dtype: str, shape: tuple[int, ...]) -> Array:
    numbers = np.random.default_rng(1)
    x = numbers.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        return np.asarray((x + 1j * numbers.normal(size=shape)).astype(dtype))
    return np.asarray(x.astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fourier_transforms(dtype: str) -> None:
    lengths = (1, 2, 12, 16, 17, 37, 60)

    def program(x: Any) -> Any:
        results = []
        for n in lengths:
            part = x[:, :n]
            half = jnp.fft.rfft(part)
            results += [jnp.fft.fft(part), jnp.fft.ifft(part), half, jnp.fft.irfft(half, n)]
        cube = x[:, :60].reshape(3, 4, 3, 5)
        spectrum = jnp.fft.rfftn(cube, axes=(1, 2, 3))
        return results, jnp.fft.fft2(cube), spectrum, jnp.fft.irfftn(spectrum, axes=(1, 2, 3))

    check(program, random(dtype, (3, 64)), units=UNITS)


@pytest.mark.parametrize("dtype", WIDE)
def test_cholesky(dtype: str) -> None:
    def program(x: Any) -> Any:
        square = x @ jnp.conj(jnp.swapaxes(x, -1, -2)) + 4 * jnp.eye(x.shape[-1], dtype=x.dtype)
        return lax.linalg.cholesky(square), jnp.isnan(lax.linalg.cholesky(-square))

    check(program, random(dtype, (2, 7, 7)), units=UNITS)
    check(program, random(dtype, (60, 60)), units=50 * UNITS)


@pytest.mark.parametrize("dtype", WIDE)
def test_triangular_solve(dtype: str) -> None:
    def program(a: Any, b: Any) -> Any:
        a = a + 4 * jnp.eye(a.shape[-1], dtype=a.dtype)
        results = []
        for which in range(32):
            left, lower, unit, turned, conjugated = (which >> bit & 1 == 1 for bit in range(5))
            results.append(
                lax.linalg.triangular_solve(
                    a / 4,
                    b if left else jnp.swapaxes(b, -1, -2),
                    left_side=left,
                    lower=lower,
                    transpose_a=turned,
                    conjugate_a=conjugated,
                    unit_diagonal=unit,
                )
            )
        return results

    check(program, random(dtype, (2, 6, 6)), random(dtype, (2, 6, 4)), units=50 * UNITS)
