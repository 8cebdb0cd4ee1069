"""
Layouts: in which order the elements of arrays lie in device memory.

jax.experimental.layout asks for them; whatever they are, values are those of XLA's CPU.
"""

from __future__ import annotations

import ctypes
import itertools
import re
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from plugin_under_test import config

pytestmark = [pytest.mark.core, pytest.mark.needs_compiler]

COLUMNS: Final = (1, 0)


def device() -> Any:
    return jax.devices(config.PLATFORM)[0]


def form(*major_to_minor: int) -> Any:
    """Arrays on the first device, whose dimensions lie in this order, the slowest first."""
    return Format(Layout(major_to_minor), SingleDeviceSharding(device()))


def order_of(array: Any) -> tuple[int, ...]:
    return tuple(array.format.layout.major_to_minor)


def sample(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).standard_normal(shape).astype(dtype)


def on_cpu(function: Callable[..., Any], *arguments: Any) -> Any:
    """What XLA's CPU makes of it."""
    cpu = jax.devices("cpu")[0]
    return jax.tree.map(np.asarray, jax.jit(function)(*jax.device_put(arguments, cpu)))


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_all_orders_there_and_back(rank: int) -> None:
    array = sample((2, 3, 4, 5)[:rank])
    for order in itertools.permutations(range(rank)):
        x = jax.device_put(array, form(*order))
        assert order_of(x) == order
        np.testing.assert_array_equal(np.asarray(x), array)
        assert order_of(jax.device_put(x, form(*range(rank)))) == tuple(range(rank))


@pytest.mark.parametrize(
    "dtype", [jnp.int4, jnp.bool, jnp.int8, jnp.bfloat16, jnp.float64, jnp.complex64]
)
def test_types(dtype: Any) -> None:
    with jax.enable_x64():
        array = np.arange(6).reshape(2, 3).astype(dtype)
        x = jax.device_put(array, form(*COLUMNS))
        assert order_of(x) == COLUMNS
        np.testing.assert_array_equal(np.asarray(x), array)
        np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: x.T)(x)), array.T)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (3, 1), (1, 1), (2, 0)])
def test_shapes_where_it_hardly_matters(shape: tuple[int, ...]) -> None:
    x = jax.device_put(sample(shape), form(*COLUMNS))
    assert order_of(x) == COLUMNS
    y = jax.jit(lambda x: x + 1)(x)
    np.testing.assert_array_equal(np.asarray(y), sample(shape) + 1)


def test_memory_is_as_the_layout_says() -> None:
    array = sample((2, 3))
    for order in ((0, 1), COLUMNS):
        x = jax.device_put(array, form(*order)).block_until_ready()
        elements = np.ctypeslib.as_array(
            (ctypes.c_float * 6).from_address(x.unsafe_buffer_pointer())
        )
        np.testing.assert_array_equal(elements, array.transpose(order).ravel())


def test_products_of_matrices_by_columns() -> None:
    a, b = sample((37, 53)), sample((53, 29))

    def product(a: Any, b: Any) -> Any:
        return jnp.dot(a, b, precision="highest")

    want = on_cpu(product, a, b)
    for orders in itertools.product([(0, 1), COLUMNS], repeat=3):
        formats = [form(*order) for order in orders]
        multiply = jax.jit(product, in_shardings=tuple(formats[:2]), out_shardings=formats[2])
        result = multiply(jax.device_put(a, formats[0]), jax.device_put(b, formats[1]))
        assert order_of(result) == orders[2]
        np.testing.assert_allclose(np.asarray(result), want, rtol=1e-4, atol=1e-5)


def test_programs_take_arrays_as_they_lie() -> None:
    """Without a word about layouts, jit compiles for those of its arguments."""
    x = jax.device_put(sample((4, 6)), form(*COLUMNS))
    y = jax.device_put(sample((4, 6)), form(0, 1))

    def work(x: Any, y: Any) -> Any:
        return jnp.cumsum(x * 2 + y, axis=1), x.sum(0)

    got = jax.jit(work)(x, y)
    for one, want in zip(got, on_cpu(work, sample((4, 6)), sample((4, 6))), strict=True):
        np.testing.assert_allclose(np.asarray(one), want, rtol=1e-5)


def test_compiled_program_tells_its_layouts() -> None:
    shape = jax.ShapeDtypeStruct((2, 3, 4), np.float32)
    jitted = jax.jit(
        lambda x: (x + 1, x.sum()),
        in_shardings=form(2, 0, 1),
        out_shardings=(form(1, 2, 0), Format(None, SingleDeviceSharding(device()))),
    )
    compiled = jitted.lower(shape).compile()
    (arguments, _) = compiled.input_formats
    assert arguments[0].layout.major_to_minor == (2, 0, 1)
    first, second = compiled.output_formats
    assert first.layout.major_to_minor == (1, 2, 0)
    assert second.layout.major_to_minor == ()
    array = sample((2, 3, 4))
    result, total = compiled(jax.device_put(array, form(2, 0, 1)))
    assert order_of(result) == (1, 2, 0)
    np.testing.assert_array_equal(np.asarray(result), array + 1)
    np.testing.assert_allclose(np.asarray(total), array.sum(), rtol=1e-5)
    assert "mhlo" in compiled.as_text() or "HloModule" in compiled.as_text()


def test_auto_is_a_layout() -> None:
    auto = Format(Layout.AUTO, SingleDeviceSharding(device()))
    jitted = jax.jit(lambda a, b: a @ b.T, in_shardings=auto, out_shardings=auto)
    shape = jax.ShapeDtypeStruct((3, 4), np.float32)
    compiled = jitted.lower(shape, shape).compile()
    (formats, _) = compiled.input_formats
    arrays = [jax.device_put(sample((3, 4)), each) for each in formats]
    want = on_cpu(lambda a, b: a @ b.T, sample((3, 4)), sample((3, 4)))
    np.testing.assert_allclose(np.asarray(compiled(*arrays)), want, rtol=1e-4, atol=1e-5)


def test_training_with_transposed_parameters() -> None:
    """Ten steps of a small network whose weights lie by columns and stay so."""
    rng = np.random.default_rng(3)
    parameters = {
        "in": rng.standard_normal((8, 16)).astype(np.float32),
        "out": rng.standard_normal((16, 4)).astype(np.float32),
    }
    inputs, targets = sample((32, 8)), sample((32, 4))

    def step(parameters: Any, inputs: Any, targets: Any) -> Any:
        def loss(p: Any) -> Any:
            return jnp.mean((jnp.tanh(inputs @ p["in"]) @ p["out"] - targets) ** 2)

        value, gradients = jax.value_and_grad(loss)(parameters)
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients), value

    columns = form(*COLUMNS)
    tree = {"in": columns, "out": columns}
    rows = form(0, 1)
    compiled = jax.jit(
        step,
        in_shardings=(tree, rows, rows),
        out_shardings=(tree, Format(None, SingleDeviceSharding(device()))),
        donate_argnums=0,
    )
    state = jax.device_put(parameters, tree)
    data = jax.device_put((inputs, targets), rows)
    want: Any = parameters
    for _ in range(10):
        state, loss = compiled(state, *data)
        want, want_loss = on_cpu(step, want, inputs, targets)
        np.testing.assert_allclose(np.asarray(loss), want_loss, rtol=1e-4)
    for name, array in state.items():
        assert order_of(array) == COLUMNS
        np.testing.assert_allclose(np.asarray(array), want[name], rtol=1e-3, atol=1e-4)


DONATING: Final = """
module @donate attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<96x128xf32> {mhlo.layout_mode = "{0,1}",
      tf.aliasing_output = 0 : i32}) -> (tensor<96x128xf32> {mhlo.layout_mode = "RESULT"}) {
    %0 = stablehlo.add %a, %a : tensor<96x128xf32>
    return %0 : tensor<96x128xf32>
  }
}
"""


@pytest.mark.parametrize("result", ["{0,1}", "{1,0}"])
def test_donated_memory(result: str) -> None:
    """The result takes over the memory, of whatever layout it is."""
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    options = compiler.get_compile_options(
        num_replicas=1, num_partitions=1, device_assignment=np.array([[device().id]])
    )
    with mlir.make_ir_context():
        program = device().client.compile_and_load(
            ir.Module.parse(DONATING.replace("RESULT", result)),
            executable_devices=xla_client.DeviceList((device(),)),
            compile_options=options,
        )
    array = sample((96, 128))
    x = jax.device_put(array, form(*COLUMNS))
    results = program.execute_sharded([x]).disassemble_into_single_device_arrays()
    assert x.is_deleted()
    np.testing.assert_array_equal(np.asarray(results[0][0]), array + array)


def test_arrays_of_another_layout_than_the_compiled_one_are_refused() -> None:
    compiled = (
        jax.jit(lambda x: x + 1, in_shardings=form(*COLUMNS))
        .lower(jax.ShapeDtypeStruct((2, 3), np.float32))
        .compile()
    )
    with pytest.raises(ValueError, match=r"[Ll]ayout"):
        compiled(jax.device_put(sample((2, 3)), form(0, 1)))


def test_tiles_are_refused_by_name() -> None:
    tiled = Format(Layout(COLUMNS, ((8, 128),)), SingleDeviceSharding(device()))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"UNIMPLEMENTED.*without tiles") as error:
        jax.jit(lambda x: x + 1, out_shardings=tiled)(sample((16, 256)))
    assert re.search(r"T\(8,128\)", str(error.value))


def test_copies_keep_the_layout() -> None:
    second = jax.devices(config.PLATFORM)[1]
    array = sample((3, 5))
    x = jax.device_put(array, form(*COLUMNS))
    y = jax.device_put(x, second)
    assert order_of(y) == COLUMNS
    np.testing.assert_array_equal(np.asarray(y), array)


def test_serialized_programs_keep_their_layouts() -> None:
    from jax.experimental.serialize_executable import deserialize_and_load, serialize

    jitted = jax.jit(lambda x: x * 2, in_shardings=form(*COLUMNS), out_shardings=form(*COLUMNS))
    compiled = jitted.lower(jax.ShapeDtypeStruct((2, 3), np.float32)).compile()
    again: Any = deserialize_and_load(*serialize(compiled), execution_devices=[device()])
    (formats, _) = again.input_formats
    assert formats[0].layout.major_to_minor == COLUMNS
    result = again(jax.device_put(sample((2, 3)), form(*COLUMNS)))
    assert order_of(result) == COLUMNS
    np.testing.assert_array_equal(np.asarray(result), sample((2, 3)) * 2)


def test_several_devices() -> None:
    devices = jax.devices(config.PLATFORM)
    if len(devices) < 4:
        pytest.skip("for four devices")
    mesh = Mesh(np.array(devices[:4]).reshape(2, 2), ("x", "y"))
    array = sample((8, 12))
    for spec in (PartitionSpec("x", "y"), PartitionSpec("y"), PartitionSpec(None, "x")):
        split = Format(Layout(COLUMNS), NamedSharding(mesh, spec))
        x = jax.device_put(array, split)
        assert order_of(x) == COLUMNS
        np.testing.assert_array_equal(np.asarray(x), array)
        y = jax.jit(lambda x: x @ x.T, out_shardings=split)(x[:, :8])
        assert order_of(y) == COLUMNS
        np.testing.assert_allclose(
            np.asarray(y), array[:, :8] @ array[:, :8].T, rtol=1e-4, atol=1e-5
        )
