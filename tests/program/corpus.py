"""JAX programs that between them use every construct that JAX sends.

Each entry gives a lowered computation; lowering is for a platform of no special rules, as a plugin
gets it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.shard_alike import shard_alike
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

PLATFORM = "mychip"
Lowered = Any
CASES: dict[str, Callable[[], Lowered]] = {}

F32 = jax.ShapeDtypeStruct((4, 6), jnp.float32)
SQUARE = jax.ShapeDtypeStruct((3, 3), jnp.float32)
I32 = jax.ShapeDtypeStruct((4, 6), jnp.int32)
KEY = jax.ShapeDtypeStruct((2,), jnp.uint32)


def words(text: str) -> list[str]:
    return text.split()


def lower(function: Callable[..., Any], *arguments: Any, **options: Any) -> Lowered:
    """The function for `arguments` (arrays or shapes) as a plugin's platform receives it."""
    traced = jax.jit(function, **options).trace(*arguments)
    return traced.lower(lowering_platforms=(PLATFORM,))


def case(name: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    CASES[name] = partial(lower, function, *arguments, **options)


def scalar(dtype: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((), dtype)


def vector(size: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((size,), dtype)


# ---- Elementwise ----

for name in words(
    "sin cos tan tanh exp expm1 log log1p sqrt cbrt rint floor ceil abs negative sign isfinite "
    "arctan arcsin arccosh sinh square reciprocal exp2 log2"
):
    case(f"unary_{name}", getattr(jnp, name), F32)
for name in words("logistic rsqrt erf erfc erf_inv lgamma digamma round integer_pow"):
    function = getattr(lax, name)
    if name == "integer_pow":
        function = partial(lax.integer_pow, y=3)
    case(f"lax_{name}", function, F32)
for name in words("add subtract multiply divide power arctan2 maximum minimum remainder mod fmod"):
    case(f"binary_{name}", getattr(jnp, name), F32, F32)
for name in words("bitwise_and bitwise_or bitwise_xor left_shift right_shift floor_divide"):
    case(f"binary_{name}", getattr(jnp, name), I32, I32)
for name in words("population_count clz bitwise_not"):
    case(f"lax_{name}", getattr(lax, name), I32)
for name in words("less less_equal greater greater_equal equal not_equal"):
    case(f"compare_{name}", getattr(jnp, name), F32, F32)
case("compare_bool", lambda a: a == jnp.array([True, False]), vector(2, jnp.bool_))
case("compare_total_order", lambda a: jnp.sort(a), vector(5))
case("clamp", lambda a: jnp.clip(a, -1.0, 1.0), F32)
case("select", lambda a: jnp.where(a > 0, a, 0), F32)
case("convert", lambda a: (a.astype(jnp.int8), a.astype(jnp.bfloat16), a > 0), F32)
case("bitcast", lambda a: lax.bitcast_convert_type(a, jnp.uint8), F32)
case("reduce_precision", lambda a: lax.reduce_precision(a, 5, 10), F32)
case("complex", lambda a: (jnp.fft.fft(a), lax.complex(a, a).real, jnp.abs(a + 1j)), F32)
case("rfft", lambda a: jnp.fft.irfft(jnp.fft.rfft(a)), F32)
case("nothing", lambda: ())
case("passes_through", lambda a, b: b, F32, I32, keep_unused=True)
case("zero_sized", lambda a: a * 2 + jnp.zeros((0, 3)), jax.ShapeDtypeStruct((0, 3), jnp.float32))

# ---- Shape ----

case("reshape", lambda a: a.reshape(2, 12).T, F32)
case("broadcast", lambda a, b: a[:, None] + b, vector(4), F32)
case("concatenate", lambda a: jnp.concatenate([a, a * 2, a], axis=1), F32)
case("pad", lambda a: lax.pad(a, 0.5, [(1, -1, 2), (0, 3, 0)]), F32)
case("slice", lambda a: (a[1:3, ::2], a[::-1]), F32)
case("iota", lambda: (jnp.arange(7), jnp.eye(3), jnp.linspace(0, 1, 5)))
case("stack_split", lambda a: jnp.split(jnp.stack([a, a]), 2), F32)

# ---- Indexing ----

case("gather_rows", lambda a, i: a[i], F32, vector(3, jnp.int32))
case("gather_pairs", lambda a, i: a[i, i], F32, vector(3, jnp.int32))
case("gather_batched", lambda a, i: jnp.take_along_axis(a, i, axis=1), F32, I32)
case("scatter_set", lambda a, i: a.at[i].set(1.0), F32, vector(3, jnp.int32))
case("scatter_add", lambda a, i: a.at[i, 2].add(a[0, :3]), F32, vector(3, jnp.int32))
case("scatter_batched", lambda a, i: jax.vmap(lambda x, j: x.at[j].max(7.0))(a, i), F32, I32)
case("dynamic_slice", lambda a, i: lax.dynamic_slice(a, (i, i), (2, 3)), F32, scalar(jnp.int32))
case(
    "dynamic_update",
    lambda a, i: lax.dynamic_update_slice(a, jnp.ones((2, 2)), (i, 0)),
    F32,
    scalar(jnp.int32),
)

# ---- Reductions ----

for name in words("sum prod max min any all mean var argmax argmin"):
    case(f"reduce_{name}", partial(getattr(jnp, name), axis=1), F32)
case("reduce_two_inputs", lambda a: (jnp.argmax(a), jnp.max(a, axis=0)), F32)
case("cumulative", lambda a: (jnp.cumsum(a, axis=1), lax.cummax(a)), F32)
case(
    "reduce_window",
    lambda a: lax.reduce_window(a, -jnp.inf, lax.max, (2, 2), (1, 2), "SAME"),
    F32,
)
case(
    "select_and_scatter",
    jax.grad(lambda a: lax.reduce_window(a, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID").sum()),
    F32,
)
case("sort_pairs", lambda a, b: lax.sort((a, b), dimension=1, num_keys=1), F32, I32)
case("argsort", lambda a: jnp.argsort(a, axis=0), F32)
case("top_k", lambda a: lax.top_k(a, 2), F32)
case("logsumexp", lambda a: jax.nn.softmax(a), F32)

# ---- Contractions and linear algebra ----

case("dot", lambda a: a @ a.T, F32)
case("dot_batched", lambda a: jnp.einsum("bij,bkj->bik", a, a), jnp.ones((2, 3, 4)))
case("dot_highest", lambda a: jnp.dot(a, a.T, precision="highest"), F32)
case(
    "dot_algorithm",
    lambda a: jnp.dot(a, a.T, precision=lax.DotAlgorithmPreset.BF16_BF16_F32),
    F32,
)
case("dot_tf32", lambda a: jnp.dot(a, a.T, precision=lax.DotAlgorithmPreset.TF32_TF32_F32), F32)
case(
    "convolution",
    lambda x, k: lax.conv_general_dilated(
        x,
        k,
        (2, 1),
        "SAME",
        rhs_dilation=(1, 2),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=2,
    ),
    jnp.ones((1, 8, 8, 4)),
    jnp.ones((3, 3, 2, 6)),
)
case("cholesky", jnp.linalg.cholesky, SQUARE)
case("solve", lambda a, b: jax.scipy.linalg.solve_triangular(a, b), SQUARE, SQUARE)
case("inverse", jnp.linalg.inv, SQUARE)
case("qr_custom_call", jnp.linalg.qr, F32)
case("batch_norm", lambda a: jax.nn.standardize(a), F32)

# ---- Control flow ----

case("while", lambda a: lax.while_loop(lambda x: x.sum() < 9, lambda x: x + 1, a), F32)
case("fori", lambda a: lax.fori_loop(0, 5, lambda i, x: x * i, a), F32)
case("scan", lambda a: lax.scan(lambda c, x: (c + x, c * x), jnp.zeros(6), a), F32)
case("cond", lambda p, a: lax.cond(p, jnp.sin, jnp.cos, a), scalar(jnp.bool_), F32)
case(
    "switch",
    lambda i, a: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x * a[0, 0]], a),
    scalar(jnp.int32),
    F32,
)
case(
    "nested_loops",
    lambda a: lax.fori_loop(
        0, 3, lambda i, x: lax.while_loop(lambda y: y.sum() < i, lambda y: y + a, x), a
    ),
    F32,
)
case("barrier", lambda a: lax.optimization_barrier((a, a + 1)), F32)
case("calls", lambda a: jax.jit(jnp.tanh)(jax.jit(jnp.tanh)(a)) + jax.nn.relu(a), F32)
case("associative_scan", lambda a: lax.associative_scan(jnp.add, a), F32)

# ---- Random numbers ----

case("threefry_bits", lambda k: jax.random.bits(k, (7,)), KEY)
case("threefry_normal", lambda k: jax.random.normal(jax.random.split(k)[0], (3, 4)), KEY)
case("threefry_choice", lambda k: jax.random.permutation(k, 10), KEY)
case("random_gamma", lambda k: jax.random.gamma(k, 2.0, (3,)), KEY)
case("rng_bit_generator", lambda k: lax.rng_bit_generator(k, (5,)), vector(4, jnp.uint32))

# ---- Constants of every type ----

INTS = words("int2 int4 int8 int16 int32 uint2 uint4 uint8 uint16 uint32")
FLOATS = words(
    "bfloat16 float16 float32 float8_e3m4 float8_e4m3 float8_e4m3fn float8_e4m3fnuz "
    "float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn"
)
SHAPES = {"scalar": (), "one": (1,), "three": (3,), "matrix": (2, 5), "long": (101,)}
for dtype in [*INTS, *FLOATS, "bool", "complex64"]:
    for label, shape in SHAPES.items():
        numbers: np.ndarray = np.arange(1, 1 + int(np.prod(shape, dtype=int))) % 3

        def constant(numbers: Any = numbers, shape: Any = shape, dtype: str = dtype) -> Any:
            return jnp.asarray(numbers.reshape(shape), dtype=dtype)

        case(f"constant_{dtype}_{label}", lambda make=constant: make())
case("constant_splat", lambda: jnp.full((50, 50), 3))
case("constant_bool_ones", lambda: (np.ones(8, bool), np.ones((1,), bool), np.zeros((9,), bool)))
case("constant_bool_mixed", lambda: (np.arange(9) % 2 == 0, np.arange(8) % 3 == 0))
case("constant_specials", lambda: np.array([np.nan, np.inf, -np.inf, -0.0], np.float32))
case("constant_negative", lambda: (np.arange(-3, 3, dtype=np.int8), np.int32(-1)))
case("constant_empty", lambda: np.zeros((0, 4), np.float32))


def wide_constants() -> Lowered:
    """The types that JAX has only with jax_enable_x64."""
    with jax.enable_x64(True):
        return lower(
            lambda x: (
                x + np.pi,
                np.arange(3, dtype=np.int64) - 2**40,
                np.array([2**64 - 1, 1], np.uint64),
                np.array([1 + 2j, -0.5j]),
                np.full((2, 2), 1e300),
            ),
            jax.ShapeDtypeStruct((2,), np.float64),
        )


CASES["constant_wide"] = wide_constants

# ---- Several devices ----


def devices_mesh(*names: str) -> Mesh:
    devices = np.array(jax.devices())
    return Mesh(devices.reshape((2, 2) if len(names) == 2 else (4,)), names)


def shard_map(function: Callable[..., Any], spec: Any, *arguments: Any) -> Lowered:
    mesh = devices_mesh("x")
    mapped = jax.shard_map(function, mesh=mesh, in_specs=P("x"), out_specs=spec, check_vma=False)
    return lower(mapped, *arguments)


def named_sharding() -> Lowered:
    mesh = devices_mesh("x", "y")
    rows = NamedSharding(mesh, P("x", None))
    both = NamedSharding(mesh, P("x", "y"))

    def function(a: Any) -> Any:
        return lax.with_sharding_constraint(jnp.sin(a), rows).sum(axis=1)

    return lower(function, jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=both))


def sharding_group() -> Lowered:
    rows = NamedSharding(devices_mesh("x"), P("x", None))

    def function(a: Any) -> Any:
        return shard_alike(a, jnp.cos(a))

    return lower(function, jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=rows))


def pmap_psum() -> Lowered:
    return jax.pmap(lambda x: x + lax.psum(x, "i"), axis_name="i").lower(np.arange(4))


ROWS = jax.ShapeDtypeStruct((8, 4), jnp.float32)
CASES["pmap_psum"] = pmap_psum
CASES["named_sharding"] = named_sharding
CASES["sharding_group"] = sharding_group
CASES["all_reduce"] = partial(shard_map, lambda a: lax.psum(a, "x"), P(), ROWS)
CASES["all_reduce_max"] = partial(shard_map, lambda a: lax.pmax(a, "x"), P(), ROWS)
CASES["all_gather"] = partial(shard_map, lambda a: lax.all_gather(a, "x"), P(), ROWS)
CASES["reduce_scatter"] = partial(
    shard_map, lambda a: lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True), P("x"), ROWS
)
CASES["all_to_all"] = partial(
    shard_map, lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True), P("x"), ROWS
)
CASES["collective_permute"] = partial(
    shard_map,
    lambda a: lax.ppermute(a, "x", [(i, (i + 1) % 4) for i in range(4)]),
    P("x"),
    ROWS,
)
CASES["axis_index"] = partial(shard_map, lambda a: a + lax.axis_index("x"), P("x"), ROWS)
CASES["shard_map_bfloat16"] = partial(
    shard_map, lambda a: a * 2, P("x"), jax.ShapeDtypeStruct((8, 4), jnp.bfloat16)
)
CASES["shard_map_float8"] = partial(
    shard_map, lambda a: a, P("x"), jax.ShapeDtypeStruct((8, 4), jnp.float8_e4m3fn)
)

# ---- Whole programs ----


def training_step() -> Lowered:
    """One step of gradient descent of a small network, with its buffers donated."""
    sizes = [5, 16, 16, 3]

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        for weights, bias in parameters[:-1]:
            x = jax.nn.relu(x @ weights + bias)
        weights, bias = parameters[-1]
        logits = x @ weights + bias
        return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(y.shape[0]), y])

    def step(parameters: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients)

    parameters = [
        (jax.ShapeDtypeStruct((a, b), jnp.float32), vector(b)) for a, b in pairwise(sizes)
    ]
    x = jax.ShapeDtypeStruct((8, 5), jnp.float32)
    return lower(step, parameters, x, vector(8, jnp.int32), donate_argnums=(0,))


def donation_on_cpu() -> Lowered:
    """JAX writes donation attributes for the platforms on its own list."""
    return jax.jit(lambda a: a + 1, donate_argnums=0).lower(F32)


CASES["training_step"] = training_step
CASES["donation"] = donation_on_cpu
case("attention", lambda q: jax.nn.dot_product_attention(q, q, q), jnp.ones((1, 8, 2, 4)))
case("layer_norm_gelu", lambda a: jax.nn.gelu(jax.nn.standardize(a)), F32)
case("hessian", jax.hessian(lambda a: jnp.sum(jnp.sin(a) ** 3)), vector(3))
