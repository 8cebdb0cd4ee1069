"""Programs that send to the host and receive from it while they run, and memory mapped for that."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jaxlib.mlir import ir
from plugin_under_test import BACKEND, config

pytestmark = pytest.mark.ecosystem

# What JAX makes of a callback on platforms that have it go this way.
PROGRAM = """
module @ask {
  func.func public @main(%x: tensor<2x3xf32>) -> tensor<3xf32> {
    %twice = stablehlo.add %x, %x : tensor<2x3xf32>
    %start = stablehlo.create_token : !stablehlo.token
    %sent = "stablehlo.send"(%twice, %start) {
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true
    } : (tensor<2x3xf32>, !stablehlo.token) -> !stablehlo.token
    %y, %end = "stablehlo.recv"(%sent) {
      channel_handle = #stablehlo.channel_handle<handle = 2, type = 3>, is_host_transfer = true
    } : (!stablehlo.token) -> (tensor<3xf32>, !stablehlo.token)
    return %y : tensor<3xf32>
  }
}
"""


def run(callback: Any) -> np.ndarray[Any, Any]:
    """What the program gets when ``callback`` answers what it sends."""
    device = jax.devices(config.PLATFORM)[0]
    shape = xla_client.Shape.array_shape
    f32 = np.dtype(np.float32)
    capsule = device.client.make_python_callback_from_host_send_and_recv(
        callback, [shape(f32, (2, 3))], [shape(f32, (3,))], [1], [2], serializer=lambda _: b""
    )
    with mlir.make_ir_context():
        module = ir.Module.parse(PROGRAM)
        program = device.client.compile_and_load(
            module,
            executable_devices=xla_client.DeviceList((device,)),
            compile_options=xla_client.CompileOptions(),
            host_callbacks=[capsule],
        )
    x = jax.device_put(np.arange(6, dtype=np.float32).reshape(2, 3), device)
    (outputs,) = program.execute_sharded([x]).disassemble_into_single_device_arrays()
    return np.asarray(outputs[0])


needs_send_and_receive = pytest.mark.skipif(
    BACKEND != "reference_cpu"
    or not hasattr(xla_client.Client, "make_python_callback_from_host_send_and_recv"),
    reason="an optional ability of backends, and an interface of some jaxlibs",
)


@needs_send_and_receive
def test_callback_answers_while_the_program_runs() -> None:
    def add_rows(x: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any]]:
        return (x.sum(axis=0),)

    np.testing.assert_array_equal(run(add_rows), [6, 10, 14])


@needs_send_and_receive
def test_exception_of_the_callback_is_the_programs() -> None:
    def refuse(x: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any]]:
        raise ValueError("nothing to answer")

    with pytest.raises(jax.errors.JaxRuntimeError, match="nothing to answer"):
        run(refuse)


@pytest.mark.skipif(BACKEND != "reference_cpu", reason="an optional ability of backends")
def test_host_memory_is_mapped_once() -> None:
    client = jax.devices(config.PLATFORM)[0].client
    data = np.zeros(1024, np.uint8)
    address = data.ctypes.data
    client.dma_map(address, data.nbytes)
    with pytest.raises(jax.errors.JaxRuntimeError, match="overlap"):
        client.dma_map(address + 1, 10)
    client.dma_unmap(address)
    with pytest.raises(jax.errors.JaxRuntimeError, match="no mapped memory"):
        client.dma_unmap(address)
