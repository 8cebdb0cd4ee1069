"""
Donation: a program may take over the memory of its arguments.

JAX writes the donation of jit's donate_argnums into programs only for platforms on a list of its
own. So the plugin's part is tested with a program made by hand, and JAX's part as it is documented.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from plugin_under_test import config

pytestmark = [pytest.mark.core, pytest.mark.needs_compiler]

PROGRAM = """
module @donate attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<1024xf32> ATTRIBUTE, %b: tensor<1024xf32>)
      -> tensor<1024xf32> {
    %0 = stablehlo.add %a, %b : tensor<1024xf32>
    return %0 : tensor<1024xf32>
  }
}
"""


def compiled(attribute: str) -> Any:
    """The program with an attribute at its first argument, compiled for the first device."""
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    device = jax.devices(config.PLATFORM)[0]
    options = compiler.get_compile_options(
        num_replicas=1, num_partitions=1, device_assignment=np.array([[device.id]])
    )
    with mlir.make_ir_context():
        module = ir.Module.parse(PROGRAM.replace("ATTRIBUTE", attribute))
        return device.client.compile_and_load(
            module,
            executable_devices=xla_client.DeviceList((device,)),
            compile_options=options,
        )


def run(program: Any, *arguments: Any) -> Any:
    results = program.execute_sharded(list(arguments))
    return results.disassemble_into_single_device_arrays()[0][0]


def inputs() -> tuple[Any, Any]:
    device = jax.devices(config.PLATFORM)[0]
    put = [np.arange(1024, dtype=np.float32), np.ones(1024, np.float32)]
    return jax.device_put(put[0], device), jax.device_put(put[1], device)


# pitfall 67: donation copies in silence
@pytest.mark.parametrize(
    "attribute", ["{tf.aliasing_output = 0 : i32}", "{jax.buffer_donor = true}"]
)
def test_donated_argument_is_consumed(attribute: str) -> None:
    a, b = inputs()
    result = run(compiled(attribute), a, b)
    np.testing.assert_array_equal(np.asarray(result), np.arange(1024) + 1)
    assert a.is_deleted() or attribute == "{jax.buffer_donor = true}"  # the latter is an offer
    assert not b.is_deleted()
    np.testing.assert_array_equal(np.asarray(b), np.ones(1024))


def test_without_the_attribute_nothing_is_consumed() -> None:
    a, b = inputs()
    run(compiled(""), a, b)
    assert not a.is_deleted()
    assert not b.is_deleted()


def test_donation_in_a_loop() -> None:
    program = compiled("{tf.aliasing_output = 0 : i32}")
    a, b = inputs()
    for _ in range(10):
        a = run(program, a, b)
    np.testing.assert_array_equal(np.asarray(a), np.arange(1024) + 10)


def test_a_view_of_the_host_keeps_its_values() -> None:
    """An array of NumPy that may share the donated memory must not change."""
    a, b = inputs()
    view = np.asarray(a)
    run(compiled("{tf.aliasing_output = 0 : i32}"), a, b)
    np.testing.assert_array_equal(view, np.arange(1024))


def test_consumed_argument_is_refused() -> None:
    program = compiled("{tf.aliasing_output = 0 : i32}")
    a, b = inputs()
    run(program, a, b)
    with pytest.raises((RuntimeError, ValueError), match=r"deleted|donated"):
        run(program, a, b)


@pytest.mark.filterwarnings("ignore:Some donated buffers:UserWarning")
def test_jax_does_not_donate_for_platforms_off_its_list() -> None:
    """When this fails because x is deleted, JAX has learned: then donation works, rejoice."""
    from jax._src.interpreters import mlir

    assert config.PLATFORM not in mlir._platforms_with_donation
    x, _ = inputs()
    result = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    np.testing.assert_array_equal(np.asarray(result), np.arange(1024) + 1)
    assert not x.is_deleted()
