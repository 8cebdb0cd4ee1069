"""JAX programs that one plugin must run under many releases of jaxlib.

Runs as a script in an environment that holds jax and the plugin and nothing of this project; it is
written for every jax from 0.4.38 on.

    python programs.py          the names of the programs, one a line
    python programs.py NAME...  runs them in this order

For each program one line of JSON goes to standard output when it starts and one when it ends, so
that whoever reads them knows which program ended the process. Expected values come from NumPy.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

PLATFORM = "mychip"
NUM_DEVICES = 4

PROGRAMS: dict[str, Callable[[], None]] = {}


def program(function: Callable[[], None]) -> Callable[[], None]:
    """List a function as a program; its name's first word is the group that it belongs to."""
    PROGRAMS[function.__name__] = function
    return function


def numbers(*shape: int, seed: int = 0) -> Any:
    """Normally distributed float32 of this shape."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def close(actual: Any, expected: Any, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=rtol, atol=atol)


def same(actual: Any, expected: Any) -> None:
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


# ---- The programs of the PJRT integration guide ----


@program
def guide_devices() -> None:
    devices = jax.devices()
    assert [device.platform for device in devices] == [PLATFORM] * NUM_DEVICES, devices
    assert jax.default_backend() == PLATFORM
    assert [device.id for device in devices] == list(range(NUM_DEVICES))
    assert all(device.process_index == 0 and device.device_kind for device in devices)
    assert "bytes_in_use" in (devices[0].memory_stats() or {})


@program
def guide_add() -> None:
    result = jnp.add(1, 1)
    assert result == 2
    assert result.devices() == {jax.devices()[0]}


@program
def guide_jit() -> None:
    assert jax.jit(lambda x: x * 2)(1.0) == 2.0


@program
def guide_pmap() -> None:
    """On every device, with a sum over them."""
    count = jax.device_count()
    same(jax.pmap(lambda x: x + 1)(np.arange(count)), np.arange(count) + 1)
    summed = jax.pmap(lambda x: x + lax.psum(x, "i"), axis_name="i")(np.arange(count))
    same(summed, np.arange(count) + np.arange(count).sum())


# ---- Transfers ----

DTYPES = (
    *("bool", "int4", "int8", "int16", "int32", "uint4", "uint8", "uint16", "uint32"),
    *("float16", "bfloat16", "float32", "complex64", "float8_e4m3fn", "float8_e5m2"),
)


@program
def transfer_every_dtype() -> None:
    for dtype in DTYPES:
        host: Any = np.arange(-3, 9).reshape(3, 4).astype(jnp.dtype(dtype))
        device = jax.device_put(host)
        assert device.dtype == host.dtype
        same(device, host)


@program
def transfer_shapes_and_strides() -> None:
    base: Any = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    views = [base.T, base[:, ::-1], base[::2, 1:], np.broadcast_to(base[0], (5, 3, 4))]
    for host in [*views, base[:0], np.float32(7), np.zeros((0, 3), np.int8)]:
        same(jax.device_put(host), host)
    large = numbers(1000, 1500)
    same(jax.device_put(large), large)


@program
def transfer_between_devices() -> None:
    host = numbers(5, 7)
    array = jax.device_put(host, jax.devices()[0])
    for device in [*jax.devices()[1:], jax.devices("cpu")[0], jax.devices()[0]]:
        array = jax.device_put(array, device)
        assert array.devices() == {device}
        same(array, host)


@program
def transfer_asynchronously() -> None:
    results = [jax.jit(lambda x, i=i: x * i)(np.arange(1000)) for i in range(8)]
    for result in results:
        result.copy_to_host_async()
    jax.block_until_ready(results)
    for i, result in enumerate(results):
        assert result.is_ready()
        same(result, np.arange(1000) * i)


@program
def transfer_between_memories() -> None:
    device = jax.devices()[0]
    memories = device.addressable_memories()
    kinds = [memory.kind for memory in memories]
    assert device.default_memory().kind == "device", kinds
    host = numbers(3, 4)
    for kind in kinds:
        array = jax.device_put(host, SingleDeviceSharding(device, memory_kind=kind))
        assert array.sharding.memory_kind == kind
        same(array, host)
        same(jax.device_put(array, SingleDeviceSharding(device)), host)


@program
def transfer_sharded() -> None:
    host = numbers(8, 4)
    array = jax.device_put(host, NamedSharding(mesh(), P("x")))
    assert [shard.data.shape for shard in array.addressable_shards] == [(2, 4)] * NUM_DEVICES
    same(array, host)
    same(jax.device_put(array, NamedSharding(mesh(), P(None, "x"))), host)


# ---- Programs on one device ----


@program
def run_elementwise() -> None:
    x = np.linspace(-2, 2, 1000, dtype=np.float32)
    chain = jax.jit(lambda v: jnp.tanh(v) * jnp.exp(-v) + jnp.sqrt(jnp.abs(v)))
    close(chain(x), np.tanh(x) * np.exp(-x) + np.sqrt(np.abs(x)))
    for name in ["sin", "cos", "tan", "exp", "expm1", "log1p", "cbrt", "rint", "floor", "sign"]:
        argument = x if name != "log1p" else np.abs(x)
        close(getattr(jnp, name)(argument), getattr(np, name)(argument))
    close(jax.nn.sigmoid(x), 1 / (1 + np.exp(-x)))
    close(lax.erf(jnp.float32([0.5, -1.0])), [0.5204999, -0.8427008])
    close(jnp.sinh(x) + jnp.arccosh(2 + x**2), np.sinh(x) + np.arccosh(2 + x**2))


@program
def run_arithmetic_of_every_dtype() -> None:
    a, b = np.arange(1, 13).reshape(3, 4), np.arange(4)
    for dtype in ("float32", "bfloat16", "float16", "int32", "int16", "int8", "uint8", "uint32"):
        result = jax.jit(lambda a, b: a * b + a)(jnp.asarray(a, dtype), jnp.asarray(b, dtype))
        assert result.dtype == dtype
        same(np.asarray(result, np.float32), a * b + a)
    same(jax.jit(lambda a: (a >> 1) ^ (a & 3) | ~a)(a), (a >> 1) ^ (a & 3) | ~a)


@program
def run_constants() -> None:
    for dtype in DTYPES:
        host = np.array([[0, 1, 2], [1, 1, 0]]).astype(jnp.dtype(dtype))
        same(jax.jit(lambda host=host: jnp.asarray(host))(), host)
    same(jax.jit(lambda: np.arange(9) % 2 == 0)(), np.arange(9) % 2 == 0)
    same(jax.jit(lambda: np.array([np.nan, np.inf, -0.0]))(), [np.nan, np.inf, -0.0])


@program
def run_reductions() -> None:
    x = numbers(5, 6)
    for axis in (None, 0, 1):
        for name in ["sum", "prod", "max", "min", "mean", "var", "argmax", "argmin"]:
            close(getattr(jnp, name)(x, axis), getattr(np, name)(x, axis))
    close(jnp.cumsum(x, 1), np.cumsum(x, 1))
    close(jax.nn.logsumexp(x), np.log(np.exp(x).sum()))
    window = lax.reduce_window(x[:4], -np.inf, lax.max, (2, 2), (2, 2), "VALID")
    close(window, x[:4].reshape(2, 2, 3, 2).max((1, 3)))


@program
def run_matrix_products() -> None:
    a, b = numbers(2, 33, 17), numbers(2, 17, 40, seed=1)
    close(jnp.matmul(a, b), a @ b)
    close(jnp.dot(a[0], b[0], precision="highest"), a[0] @ b[0])
    close(jnp.einsum("bij,bjk->ik", a, b), np.einsum("bij,bjk->ik", a, b))
    mixed = jnp.matmul(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16))
    close(mixed.astype(np.float32), a @ b, rtol=0.1, atol=0.2)


@program
def run_shapes() -> None:
    x: Any = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    same(jnp.transpose(x, (2, 0, 1)), x.transpose(2, 0, 1))
    same(jnp.pad(x, 1), np.pad(x, 1))
    same(jnp.concatenate([x, x], 1), np.concatenate([x, x], 1))
    same(jax.jit(lambda v: v[:, ::-1, 1:4:2])(x), x[:, ::-1, 1:4:2])
    same(lax.bitcast_convert_type(np.float32([1, -2]), jnp.uint32), [0x3F800000, 0xC0000000])
    for shape in ((), (0,), (0, 3), (1, 1)):
        same(jax.jit(lambda v: v + 1)(np.ones(shape, np.float32)), np.full(shape, 2))


@program
def run_indexing() -> None:
    x, rows = numbers(5, 4), np.array([3, 0, 3])
    same(jnp.asarray(x)[rows], x[rows])
    expected = x.copy()
    np.add.at(expected, rows, 1)
    close(jnp.asarray(x).at[rows].add(1), expected)
    columns = np.argsort(x, 1)
    same(jnp.take_along_axis(x, columns, 1), np.take_along_axis(x, columns, 1))  # batched gather
    batched = jax.vmap(lambda row, i: row.at[i].set(9.0))(x, np.array([0, 1, 2, 3, 0]))
    assert np.asarray(batched)[4, 0] == 9
    same(jax.jit(lambda v, i: lax.dynamic_slice(v, (i, 1), (2, 3)))(x, 2), x[2:4, 1:])
    updated = jax.jit(lambda v, i: lax.dynamic_update_slice(v, jnp.zeros((2, 2)), (i, 0)))(x, 3)
    same(updated[3:, :2], np.zeros((2, 2)))


@program
def run_sort() -> None:
    x = numbers(4, 50)
    same(jnp.sort(x, 1), np.sort(x, 1))
    same(jnp.argsort(x, 0), np.argsort(x, 0, kind="stable"))
    values, indices = lax.top_k(x, 3)
    same(values, -np.sort(-x, 1)[:, :3])
    same(np.take_along_axis(x, np.asarray(indices), 1), values)
    same(jnp.unique(np.array([3, 1, 3, 2])), [1, 2, 3])


@program
def run_control_flow() -> None:
    def collatz(n: Any) -> Any:
        def step(state: Any) -> Any:
            n, steps = state
            return lax.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n), steps + 1

        return lax.while_loop(lambda state: state[0] != 1, step, (n, 0))[1]

    assert jax.jit(collatz)(27) == 111
    total, partial = lax.scan(lambda c, x: (c + x, c), 0, jnp.arange(5))
    assert total == 10
    same(partial, [0, 0, 1, 3, 6])
    switch = jax.jit(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.negative], x))
    close([switch(i, 1.0) for i in range(3)], [np.sin(1), np.cos(1), -1])


@program
def run_random_numbers() -> None:
    """The same key gives the same numbers on every platform."""

    def draw() -> list[np.ndarray]:
        key = jax.random.key(0)
        draws = (
            jax.random.normal(key, (100,)),
            jax.random.randint(key, (50,), 0, 1000),
            jax.random.permutation(key, 30),
            jax.random.gamma(key, 2.0, (20,)),
            jax.random.categorical(key, jnp.zeros((20, 5))),
        )
        return [np.asarray(values) for values in draws]

    ours = draw()
    with jax.default_device(jax.devices("cpu")[0]):
        theirs = draw()
    for our, their in zip(ours, theirs, strict=True):
        close(our, their)


@program
def run_gradients() -> None:
    x = np.linspace(0, 3, 7, dtype=np.float32)
    close(jax.jit(jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2)))(x), np.sin(2 * x))
    close(jax.hessian(lambda x: jnp.sum(x**3))(x), np.diag(6 * x))
    looped = jax.grad(lambda v: lax.fori_loop(0, 3, lambda _, w: w * v, 1.0))
    close(looped(2.0), 12.0)


@contextlib.contextmanager
def wide_types() -> Iterator[None]:
    """With 64-bit types, however this jax spells that."""
    enable_x64: Any = getattr(jax, "enable_x64", None)
    if not callable(enable_x64):
        enable_x64 = importlib.import_module("jax.experimental").enable_x64
    with enable_x64(True):
        yield


@program
def run_wide_types() -> None:
    with wide_types():
        x = np.linspace(0, 1, 50)
        result = jax.jit(lambda v: jnp.exp(v) @ v)(x)
        assert result.dtype == np.float64
        close(result, np.exp(x) @ x, rtol=1e-12)
        same(jax.jit(lambda v: v * 2**40)(np.arange(3)), np.arange(3) * 2**40)
        close(jnp.arange(3) * 2j, np.arange(3) * 2j)


# ---- Programs on several devices ----


def mesh(*shape: int) -> Mesh:
    """The devices as a mesh with axes x, y."""
    sizes = shape or (NUM_DEVICES,)
    return Mesh(np.array(jax.devices()).reshape(sizes), ("x", "y")[: len(sizes)])


def shard_map(function: Callable[..., Any], out_specs: Any) -> Callable[..., Any]:
    """The function mapped over the rows of its arguments, however this jax spells that."""
    try:
        from jax import shard_map as mapped
    except ImportError:
        from jax.experimental.shard_map import shard_map as mapped
    jitted: Callable[..., Any] = jax.jit(
        mapped(function, mesh=mesh(), in_specs=P("x"), out_specs=out_specs)
    )
    return jitted


def check_sharded_jit() -> None:
    """A matrix product that the compiler splits, in the layouts of tensor parallelism."""
    grid = mesh(2, 2)
    a, b = numbers(8, 6), numbers(6, 4, seed=1)

    def shard(value: Any, *spec: str | None) -> Any:
        return jax.device_put(value, NamedSharding(grid, P(*spec)))

    @jax.jit
    def product(a: Any, b: Any) -> Any:
        hidden = lax.with_sharding_constraint(a @ b, NamedSharding(grid, P("x", "y")))
        return jnp.tanh(hidden).sum(1)

    expected = np.tanh(a @ b).sum(1)
    close(product(shard(a, "x", None), shard(b, None, "y")), expected)
    close(product(shard(a, None, "y"), shard(b, "y", None)), expected)
    close(product(shard(a), shard(b)), expected)
    rows = jax.jit(lambda: jnp.arange(8.0) * 2, out_shardings=NamedSharding(mesh(), P("x")))()
    assert len(rows.addressable_shards) == NUM_DEVICES
    close(rows, np.arange(8.0) * 2)


def check_shard_map() -> None:
    """Every collective, over the rows of a matrix."""
    x = numbers(8, 4)
    close(shard_map(lambda v: lax.psum(v.sum(0), "x"), P())(x), x.sum(0))
    close(shard_map(lambda v: lax.pmax(v.max(0), "x"), P())(x), x.max(0))
    close(
        shard_map(lambda v: lax.all_gather(v, "x", axis=0, tiled=True)[:2], P("x"))(x),
        np.tile(x[:2], (4, 1)),
    )
    ring = [(i, (i + 1) % NUM_DEVICES) for i in range(NUM_DEVICES)]
    close(shard_map(lambda v: lax.ppermute(v, "x", ring), P("x"))(x), np.roll(x, 2, 0))
    scattered = shard_map(
        lambda v: lax.psum_scatter(v, "x", scatter_dimension=1, tiled=True), P(None, "x")
    )
    close(scattered(x), x.reshape(4, 2, 4).sum(0))
    close(
        shard_map(lambda v: lax.all_to_all(v, "x", 1, 0, tiled=True), P(None, "x"))(x),
        x,
    )
    same(
        shard_map(lambda v: v[:, :1] * 0 + lax.axis_index("x"), P("x"))(x)[:, 0],
        np.arange(8) // 2,
    )


@contextlib.contextmanager
def partitioner(shardy: bool) -> Iterator[None]:
    """With Shardy or GSPMD; where this jax has only one of them, with that."""
    from jax._src import config

    state = getattr(config, "use_shardy_partitioner", None)
    if state is None or not callable(state):
        yield
        return
    with state(shardy):
        yield


@program
def shard_jit() -> None:
    check_sharded_jit()


@program
def shard_collectives() -> None:
    check_shard_map()


@program
def shard_with_shardy() -> None:
    with partitioner(shardy=True):
        check_sharded_jit()
        check_shard_map()


@program
def shard_with_gspmd() -> None:
    with partitioner(shardy=False):
        check_sharded_jit()
        check_shard_map()


# ---- Training ----

SIZES = (16, 32, 4)


def initial_parameters(key: Any) -> list[tuple[Any, Any]]:
    keys = jax.random.split(key, len(SIZES) - 1)
    return [
        (jax.random.normal(key, (m, n)) / m**0.5, jnp.zeros(n))
        for key, m, n in zip(keys, SIZES[:-1], SIZES[1:], strict=True)
    ]


def loss(parameters: Any, images: Any, labels: Any) -> Any:
    """Softmax cross entropy of a perceptron with one hidden layer."""
    *hidden, (w_last, b_last) = parameters
    activations = images
    for w, b in hidden:
        activations = jax.nn.relu(activations @ w + b)
    log_probabilities = jax.nn.log_softmax(activations @ w_last + b_last)
    return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))


def step(parameters: Any, images: Any, labels: Any) -> Any:
    value, gradients = jax.value_and_grad(loss)(parameters, images, labels)
    return value, jax.tree.map(lambda p, g: p - 0.5 * g, parameters, gradients)


def train(place: Callable[[Any], Any]) -> None:
    """Twenty steps, the batch put where `place` says; the loss must fall."""
    key_parameters, key_images = jax.random.split(jax.random.key(1))
    images = jax.random.normal(key_images, (64, SIZES[0]))
    labels = jnp.argmax(images[:, : SIZES[-1]], axis=1)
    parameters, jitted = initial_parameters(key_parameters), jax.jit(step, donate_argnums=0)
    losses = []
    for _ in range(20):
        value, parameters = jitted(parameters, place(images), place(labels))
        losses.append(float(value))
    assert all(later < earlier for earlier, later in pairwise(losses)), losses
    assert losses[-1] < losses[0] / 2, losses


@program
def train_one_device() -> None:
    train(lambda array: array)


@program
def train_data_parallel() -> None:
    rows = NamedSharding(mesh(), P("x"))
    whole = NamedSharding(mesh(), P())
    with jax.default_device(jax.devices()[0]):
        key = jax.random.key(1)
        images = jax.random.normal(key, (64, SIZES[0]))
        labels = jnp.argmax(images[:, : SIZES[-1]], axis=1)
        parameters = initial_parameters(key)
    single = step(parameters, images, labels)
    batch = jax.device_put((images, labels), rows)
    sharded = jax.jit(step)(jax.device_put(parameters, whole), *batch)
    for ours, expected in zip(jax.tree.leaves(sharded), jax.tree.leaves(single), strict=True):
        close(ours, expected)


# ---- What programs ask beside running ----


@program
def ask_compiled() -> None:
    """Texts, costs and memory of a compiled program."""
    lowered = jax.jit(lambda a: jnp.tanh(a @ a)).lower(np.ones((8, 8), np.float32))
    compiled = lowered.compile()
    close(compiled(np.ones((8, 8), np.float32)), np.full((8, 8), np.tanh(8)))
    assert compiled.as_text() is None or isinstance(compiled.as_text(), str)
    compiled.cost_analysis()
    stats = compiled.memory_analysis()
    assert stats is None or stats.output_size_in_bytes == 256
    assert len(jax.tree.leaves(compiled.input_shardings)) == 1


@program
def ask_serialized() -> None:
    from jax.experimental import serialize_executable

    compiled = jax.jit(lambda a: a * 3).lower(np.arange(4)).compile()
    load = serialize_executable.deserialize_and_load
    options: dict[str, Any] = {}
    if "execution_devices" in inspect.signature(load).parameters:  # else all of the devices
        options["execution_devices"] = jax.devices()[:1]
    loaded = load(*serialize_executable.serialize(compiled), **options)
    same(loaded(np.arange(4)), np.arange(4) * 3)


@program
def ask_exported() -> None:
    from jax import export

    exported = export.export(jax.jit(jnp.sin), platforms=[PLATFORM])(np.float32([1, 2]))
    again = export.deserialize(exported.serialize())
    close(again.call(np.float32([1, 2])), np.sin([1, 2]))


@program
def ask_profile() -> None:
    with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder):
        jax.jit(lambda a: a + 1)(1).block_until_ready()


@program
def ask_impossible() -> None:
    """What cannot be had is an error that says so, and the next program runs."""
    message = "nothing was raised"
    try:
        jax.block_until_ready(jax.jit(lambda: jnp.zeros((1 << 20, 1 << 20)) + 1)())  # 4 TiB
    except Exception as error:  # its class moved between releases
        message = str(error)
    assert "RESOURCE_EXHAUSTED" in message, message
    same(jax.jit(lambda x: x + 1)(1), 2)


def report(name: str, outcome: str, error: str = "") -> None:
    """Write one line for whoever started this process, past what programs print."""
    line = json.dumps({"name": name, "outcome": outcome, "error": error}) + "\n"
    os.write(RESULTS, line.encode())


RESULTS = os.dup(1)


def main(names: list[str]) -> None:
    """Run the programs, or print all names when there are none."""
    if not names:
        print("\n".join(PROGRAMS))
    for name in names:
        report(name, "started")
        try:
            PROGRAMS[name]()
        except Exception as error:
            text = traceback.format_exc()
            print(text, file=sys.stderr)
            report(name, "failed", f"{type(error).__name__}: {error}")
        else:
            report(name, "passed")


if __name__ == "__main__":
    main(sys.argv[1:])
