"""The passes keep what a program computes: XLA runs it before and after on the same numbers."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import _jax, xla_client
from jaxlib.mlir import ir

from tests.program.corpus import CASES, words
from tests.program.test_reading import TARGETS, artifact, dump

pytestmark = pytest.mark.slow  # builds the front end

# Programs of several devices, and what XLA's CPU client has no code for.
NOT_RUN = words(
    "all_reduce all_reduce_max all_gather reduce_scatter all_to_all collective_permute axis_index "
    "shard_map_bfloat16 shard_map_float8 named_sharding pmap_psum qr_custom_call"
)
# Constants alone give the passes nothing to do.
RUN = [name for name in CASES if name not in NOT_RUN and not name.startswith("constant_")]

DTYPES = {"i1": "bool", "i32": "int32", "ui32": "uint32", "f32": "float32"}


def arguments_of(module: Any, name: str) -> list[Any]:
    """Random numbers of main's types, the same ones for each call."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    main = next(op for op in module.body.operations if str(op.attributes["sym_name"]) == '"main"')
    arguments = []
    for argument in main.regions[0].blocks[0].arguments:
        tensor = ir.RankedTensorType(argument.type)
        dtype = DTYPES[str(tensor.element_type)]
        numbers = generator.uniform(-2, 2, tensor.shape)
        if dtype != "float32":
            numbers = generator.integers(0, 2 if dtype == "bool" else 4, tensor.shape)
        arguments.append(np.asarray(numbers).astype(dtype))
    return arguments


def run(module: Any, arguments: list[Any]) -> list[Any]:
    """The module's results on XLA's CPU client."""
    [device, *_] = jax.devices("cpu")
    client = device.client
    devices = xla_client.DeviceList((device,))
    executable = client.compile_and_load(str(module), devices, xla_client.CompileOptions())
    buffers = [jax.device_put(argument, device) for argument in arguments]
    results = executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
    return [np.asarray(one) for [one] in results]


def optimized(name: str, program_dump: Path, folder: Path) -> tuple[bytes, str]:
    code = artifact(CASES[name](), TARGETS[0])
    return code, dump(program_dump, code, folder, "--passes")


@pytest.mark.parametrize("name", RUN)
def test_same_results(name: str, program_dump: Path, tmp_path: Path) -> None:
    code, text = optimized(name, program_dump, tmp_path)
    with jax_mlir.make_ir_context():
        before = _jax.mlir.deserialize_portable_artifact(code)
        after = ir.Module.parse(text)
        arguments = arguments_of(before, name)
        expected = run(before, arguments)
        actual = run(after, arguments)
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        assert one.dtype == other.dtype
        # XLA fuses the two differently, so floats may differ in the last bits.
        if one.dtype.kind in "biu":
            np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_allclose(
                one.astype(np.complex128), other.astype(np.complex128), rtol=2e-5, atol=1e-6
            )


@pytest.mark.parametrize("name", CASES)
def test_result_is_a_program(name: str, program_dump: Path, tmp_path: Path) -> None:
    _, text = optimized(name, program_dump, tmp_path)
    assert "func.call" not in text
    assert "stablehlo.composite" not in text
    with jax_mlir.make_ir_context():
        assert ir.Module.parse(text).operation.verify()
