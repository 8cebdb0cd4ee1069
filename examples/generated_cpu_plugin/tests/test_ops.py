"""
Operations over element types and corner values, beside JAX's own CPU.

Each test runs one program with many results, so that a wide sweep compiles few programs. Functions
that libraries round in their own ways may differ by a few units in the last place; all else must
agree bit for bit, but for the payload of a NaN.
"""

from __future__ import annotations

from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from beside_cpu import FLOATS, INTEGERS, NUMBERS, Array, check, some
from jax import lax
from plugin_under_test import BACKEND

pytestmark = [
    pytest.mark.core,
    pytest.mark.needs_compiler,
    pytest.mark.skipif(
        BACKEND != "reference_cpu", reason="what another backend must know is its own"
    ),
]

UNITS: Final = 16


@pytest.fixture(autouse=True)
def wide_types() -> Any:
    """Types of 64 bits, for these tests only."""
    with jax.enable_x64(True):
        yield


def corners(dtype: str) -> Array:
    """Values at the edges of a type, and some between."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        bits = info.bits
        signed = [-1, -2, -7] if info.min < 0 else []
        whole = [info.min, info.min + 1, info.max, 0, 1, 2, 7, bits - 1, bits, *signed]
        return np.array(whole, dtype)
    limits = jnp.finfo(dtype)
    values = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, -2.5, 3, np.inf, -np.inf, np.nan, -0.7, 10]
    return np.array([*values, limits.max, -limits.max, limits.tiny, limits.eps], jnp.dtype(dtype))


def pairs(dtype: str) -> tuple[Array, Array]:
    """Each corner value with each."""
    a, b = np.meshgrid(corners(dtype), corners(dtype), indexing="ij")
    return a.ravel(), b.ravel()


@pytest.mark.parametrize("dtype", ["bool", *NUMBERS])
def test_comparisons_and_choices(dtype: str) -> None:
    def program(a: Any, b: Any) -> Any:
        compare = [lax.eq(a, b), lax.ne(a, b), lax.lt(a, b), lax.le(a, b), lax.gt(a, b)]
        return compare, lax.select(lax.ge(a, b), a, b), lax.clamp(a[3], b, a[-1])

    check(program, *pairs(dtype))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_arithmetic(dtype: str) -> None:
    def program(a: Any, b: Any) -> Any:
        names = ("add", "sub", "mul", "div", "rem", "max", "min")
        results = {name: getattr(lax, name)(a, b) for name in names}
        return results | {"abs": jnp.abs(a), "sign": lax.sign(a), "neg": lax.neg(a)}

    a, b = pairs(dtype)
    if dtype in FLOATS:  # which of two zeros is the larger is nowhere said
        keep = ~((a == 0) & (b == 0))
        a, b = a[keep], b[keep]
    check(program, a, b)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits_and_shifts(dtype: str) -> None:
    def program(a: Any, b: Any) -> Any:
        joins = [lax.bitwise_and(a, b), lax.bitwise_or(a, b), lax.bitwise_xor(a, b)]
        shifts = ("shift_left", "shift_right_arithmetic", "shift_right_logical")
        results = {"joins": joins} | {name: getattr(lax, name)(a, b) for name in shifts}
        unary = ("bitwise_not", "population_count", "clz")
        return results | {name: getattr(lax, name)(a) for name in unary}

    check(program, *pairs(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions(dtype: str) -> None:
    def exact(x: Any) -> Any:
        even = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
        return lax.floor(x), lax.ceil(x), lax.round(x), even, lax.is_finite(x)

    def rounded(x: Any) -> Any:
        names = ("exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tanh")
        return {name: getattr(lax, name)(x) for name in (*names, "logistic", "erf")}

    x = corners(dtype)
    check(exact, x)
    check(rounded, np.where(np.abs(x.astype(np.float64)) < 1e6, x, x[9]), units=UNITS)
    small = x[np.abs(x.astype(np.float64)) < 1e3]
    a, b = (m.ravel() for m in np.meshgrid(small, small))
    check(lambda a, b: (lax.pow(a, b), lax.atan2(a, b)), a, b, units=UNITS)


@pytest.mark.parametrize("dtype", ["bool", *NUMBERS])
def test_conversions(dtype: str) -> None:
    names = ("bool", *NUMBERS)
    check(lambda x: {n: lax.convert_element_type(x, jnp.dtype(n)) for n in names}, corners(dtype))


@pytest.mark.parametrize("dtype", ["bool", *NUMBERS])
def test_reductions(dtype: str) -> None:
    def program(x: Any, empty: Any) -> Any:
        results = []
        for axis in (None, 0, 1, 2, (0, 2)):
            results += [jnp.sum(x, axis), jnp.max(x, axis), jnp.min(x, axis), jnp.any(x, axis)]
        found = [(jnp.argmax(x, axis), jnp.argmin(x, axis)) for axis in (None, 0, 1, 2)]
        return results, found, jnp.sum(empty, 0), jnp.prod(empty, 0), jnp.cumsum(x, 1)

    check(program, some(dtype, (3, 4, 5)), some(dtype, (0, 3)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_reductions_of_nan(dtype: str) -> None:
    def program(x: Any) -> Any:
        names = ("max", "min", "argmax", "argmin", "sum", "sort", "argsort")
        return {(name, axis): getattr(jnp, name)(x, axis=axis) for name in names for axis in (0, 1)}

    x = some(dtype, (6, 7))
    x[2, 3] = np.nan
    x[4] = np.inf
    check(program, x)


@pytest.mark.parametrize("dtype", ["bool", *NUMBERS])
def test_sorts(dtype: str) -> None:
    """Arrays of several widths go along with the keys, whichever dimension is sorted."""

    def program(x: Any) -> Any:
        results = []
        for axis in (0, 1):
            place = lax.broadcasted_iota(jnp.int64, x.shape, axis)
            small = lax.convert_element_type(place, jnp.int8)
            results.append(lax.sort((x, place, small), dimension=axis, num_keys=1))
            results.append(lax.sort((small % 3, x, place), dimension=axis, num_keys=2))
        return results, lax.sort(x[:, 0]), jnp.argsort(x, 1, descending=True)

    check(program, some(dtype, (30, 5)))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_matrix_products(dtype: str) -> None:
    def program(a: Any, b: Any, v: Any) -> Any:
        numbers = [(((2,), (1,)), ((0,), (0,))), (((1,), (2,)), ((0,), (0,)))]
        batched = [lax.dot_general(a, b, numbers[0]), lax.dot_general(b, a, numbers[1])]
        spread = lax.dot_general(a, b, (((2, 0), (1, 0)), ((), ())))
        return batched, spread, v @ v, jnp.outer(v, v), a[0, :0] @ b[0], a[0, :, :0] @ b[0, :0]

    check(program, some(dtype, (2, 3, 4)), some(dtype, (2, 4, 5)), some(dtype, (7,)))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "int32", "float64"])
def test_data_movement(dtype: str) -> None:
    def program(x: Any, fill: Any) -> Any:
        edges = [((1, 2, 0), (0, 0, 1), (-1, 3, 0)), ((-1, 0, 2), (0, -2, 0), (-2, -2, 1))]
        pads = [lax.pad(x, fill, edge) for edge in (*edges, ((-2, 0, 0), (0, 0, 0), (5, -5, 0)))]
        cuts = [x[::-1, 1:, ::2], x.T.reshape(4, 15), x[:, ::-1].reshape(-1), x[:, :0]]
        joins = [jnp.concatenate([x, x[:, :0], x[:, ::-1]], 1), jnp.stack([x, x], -1)]
        moved = [jnp.transpose(x, (2, 0, 1)), jnp.roll(x, 7), jnp.broadcast_to(x[:1], (3, 4, 5))]
        return pads, cuts, joins, moved

    check(program, some(dtype, (3, 4, 5)), some(dtype, ()))


@pytest.mark.parametrize("index", ["int8", "uint8", "int32", "int64"])
def test_positions_out_of_range(index: str) -> None:
    """Slices move inside; gathers clip or fill; scatters drop what lies outside."""

    def program(x: Any, at: Any) -> Any:
        starts = [(at[k], at[-1 - k]) for k in range(len(at))]
        slices = [lax.dynamic_slice(x, start, (2, 3)) for start in starts]
        updates = [lax.dynamic_update_slice(x, x[:2, :3] + 9, start) for start in starts]
        reads = [x.at[at].get(mode=mode) for mode in ("clip", "fill")]
        writes = []
        for mode in ("clip", "drop"):
            writes += [x.at[at].add(1, mode=mode), x.at[1:3, at].multiply(2, mode=mode)]
            writes += [x.at[at].min(0, mode=mode), x.at[:, at].max(3, mode=mode)]
            writes += [x.at[at].set(5, mode=mode)]
        return slices, updates, reads, writes

    low = np.iinfo(index).min
    at = np.array([0, 5, 2, 2, 6, np.iinfo(index).max, low, low // 2], index)
    check(program, some("float32", (6, 7)), at)


@pytest.mark.parametrize("rank", range(9))
def test_ranks(rank: int) -> None:
    x = some("float32", (2, 3, 1, 2, 2, 1, 3, 2)[:rank])
    check(lambda x: (x.T + 1, x.sum(), jnp.flip(x), jnp.pad(x, 1), x.reshape(-1)), x)


@pytest.mark.parametrize("aggregate", [True, False], ids=["k", "as many as come"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_approximate_top_k(dtype: str, aggregate: bool) -> None:
    """The exact answer is one that may be given, and the one that JAX's CPU gives."""
    x = np.random.default_rng(0).permutation(256).reshape(2, 16, 8).astype(jnp.dtype(dtype))

    def program(x: Any) -> Any:
        options = {"reduction_dimension": 1, "aggregate_to_topk": aggregate}
        return lax.approx_max_k(x, 3, **options), lax.approx_min_k(x, 3, **options)

    check(program, x)
