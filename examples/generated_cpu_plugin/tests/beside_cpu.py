"""Programs run here and on JAX's own CPU, and their results held against each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from plugin_under_test import config

INTEGERS: Final = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS: Final = ("bfloat16", "float16", "float32", "float64")
NUMBERS: Final = INTEGERS + FLOATS

Array = np.ndarray[Any, Any]


def some(dtype: str, shape: tuple[int, ...]) -> Array:
    """Small whole numbers, which sums and products keep exact."""
    numbers = np.random.default_rng(0).integers(0, 5, shape)
    return np.asarray(numbers.astype(np.float32).astype(jnp.dtype(dtype)))


def check(program: Callable[..., Any], *arguments: Array, units: int = 0) -> None:
    """Runs the program here and on JAX's CPU; results may differ by ``units`` in the last place."""
    results = []
    for platform in (config.PLATFORM, "cpu"):
        device = jax.devices(platform)[0]
        with jax.default_device(device):
            results.append(jax.jit(program)(*(jax.device_put(a, device) for a in arguments)))
    ours, theirs = (jax.tree.flatten_with_path(result)[0] for result in results)
    for (path, mine), (_, wanted) in zip(ours, theirs, strict=True):
        a, b = np.asarray(mine), np.asarray(wanted)
        where = jax.tree_util.keystr(path)
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        if a.dtype.kind in "biu" or a.dtype == bool:
            np.testing.assert_array_equal(a, b, where)
            continue
        if a.dtype.kind == "c":
            a, b = (np.stack([x.real, x.imag], -1) for x in (a, b))
        # JAX's CPU makes numbers below the smallest normal one zero in some functions.
        tolerance, tiny = units * float(jnp.finfo(a.dtype).eps), float(jnp.finfo(a.dtype).tiny)
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        np.testing.assert_allclose(wide_a, wide_b, tolerance, max(tolerance, tiny), err_msg=where)
        if units == 0:
            numbers = ~np.isnan(wide_a)
            signs = np.signbit(wide_a)[numbers], np.signbit(wide_b)[numbers]
            np.testing.assert_array_equal(*signs, f"the sign of zero, {where}")
