"""Convolutions, poolings and their gradients, beside JAX's own CPU."""

from __future__ import annotations

from typing import Any, Final

import jax
import jax.numpy as jnp
import pytest
from beside_cpu import FLOATS, check, some
from jax import lax
from plugin_under_test import BACKEND

pytestmark = [
    pytest.mark.core,
    pytest.mark.needs_compiler,
    pytest.mark.skipif(
        BACKEND != "reference_cpu", reason="what another backend must know is its own"
    ),
]

ORDERS: Final = (("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC"), ("CNHW", "IWOH", "WCHN"))


@pytest.fixture(autouse=True)
def wide_types() -> Any:
    """Types of 64 bits, for these tests only."""
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint16", "int64", "complex64"])
def test_windows(dtype: str) -> None:
    def program(x: Any, kernel: Any) -> Any:
        results = []
        for numbers in ORDERS:
            lhs = jnp.transpose(x, ["NCHW".index(d) for d in numbers[0]])
            rhs = jnp.transpose(kernel, ["OIHW".index(d) for d in numbers[1]])
            windows: tuple[dict[str, Any], ...] = (
                {"window_strides": (1, 1), "padding": "VALID"},
                {"window_strides": (2, 1), "padding": "SAME", "rhs_dilation": (1, 2)},
                {"window_strides": (1, 3), "padding": ((2, -1), (-2, 5)), "lhs_dilation": (3, 2)},
            )
            results += [
                lax.conv_general_dilated(lhs, rhs, dimension_numbers=numbers, **window)
                for window in windows
            ]
        return results

    check(program, some(dtype, (2, 3, 8, 9)), some(dtype, (4, 3, 3, 2)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_groups(dtype: str) -> None:
    def program(x: Any, kernel: Any, deep: Any) -> Any:
        features = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", feature_group_count=3)
        batches = lax.conv_general_dilated(x, deep, (1, 1), "SAME", batch_group_count=2)
        return features, batches

    arguments = ((4, 6, 5, 5), (9, 2, 3, 3), (4, 6, 2, 2))
    check(program, *(some(dtype, shape) for shape in arguments))


def test_ranks_and_results_of_another_type() -> None:
    def program(x: Any, kernel: Any, line: Any, short: Any, small: Any) -> Any:
        dense = lax.conv_general_dilated(
            x, kernel, (), (), dimension_numbers=lax.ConvDimensionNumbers((0, 1), (0, 1), (0, 1))
        )
        along = lax.conv_general_dilated(line, short, (2,), ((3, 1),))
        wide = lax.conv_general_dilated(
            small, small, (1,), "SAME", preferred_element_type=jnp.int32
        )
        return dense, along, wide, lax.conv_general_dilated(line[:0], short, (1,), "SAME")

    check(
        program,
        some("float32", (3, 4)),
        some("float32", (5, 4)),
        some("float32", (2, 3, 11)),
        some("float32", (4, 3, 2)),
        some("int8", (3, 3, 3)),
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_of_convolutions(dtype: str) -> None:
    def program(x: Any, kernel: Any) -> Any:
        results = []
        for groups in (1, 2):
            rhs = kernel[:, : 4 // groups]

            def convolve(x: Any, rhs: Any, groups: int = groups) -> Any:
                return lax.conv_general_dilated(
                    x, rhs, (2, 1), ((1, 2), (0, 1)), feature_group_count=groups
                )

            result, gradients = jax.vjp(convolve, x, rhs)
            results += [result, gradients(jnp.ones_like(result))]
        return results

    check(program, some(dtype, (2, 4, 7, 6)), some(dtype, (6, 4, 3, 2)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_of_poolings(dtype: str) -> None:
    def program(x: Any) -> Any:
        def largest(x: Any, padding: str, strides: tuple[int, ...]) -> Any:
            return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 2, 1), strides, padding)

        results = []
        for padding in ("VALID", "SAME"):
            for strides in ((1, 1, 1, 1), (1, 2, 2, 1), (1, 3, 1, 1)):
                result, gradient = jax.vjp(lambda x, p=padding, s=strides: largest(x, p, s), x)
                results += [result, *gradient(jnp.ones_like(result))]
        return results

    check(program, some(dtype, (2, 8, 7, 3)))
