"""The C++ front end against an independent reading of the same bytes.

What the front end printed is parsed and verified by the StableHLO inside jaxlib, and compared with
what jaxlib itself makes of the artifact. Both are serialized, read back and printed by jaxlib, so
that they can only differ where the programs do.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import _jax
from jaxlib.mlir import ir

from tests.program.corpus import CASES, lower

pytestmark = pytest.mark.slow  # builds the front end

Done = subprocess.CompletedProcess[str]
TARGETS = ("1.13.0", "1.15.0", "1.10.0")


def artifact(lowered: Any, target: str) -> bytes:
    """What a plugin that reports `target` receives."""
    module = lowered.compiler_ir("stablehlo")
    return bytes(_jax.mlir.serialize_portable_artifact(module, target, True))


def run(
    program: Path, code: bytes, folder: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    path = folder / "program.mlirbc"
    path.write_bytes(code)
    return subprocess.run([program, *options, path], capture_output=True, text=True, check=False)


def dump(program: Path, code: bytes, folder: Path, *options: str) -> str:
    """The program as the front end reads it."""
    done = run(program, code, folder, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(program: Path, code: bytes, folder: Path) -> str:
    """Why the front end does not read the program."""
    done = run(program, code, folder)
    assert done.returncode == 1, done.stdout
    return done.stderr


def canonical(code: bytes) -> str:
    """The artifact in generic form, as jaxlib reads it."""
    module = _jax.mlir.deserialize_portable_artifact(code)
    text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=False)
    text = "\n".join(map(with_comparison_type, text.splitlines()))
    # Hints that the front end does not keep: a second form of the mesh, empty lists, visibility.
    text = re.sub(r" \{stablehlo\.mesh = .*\}", "", text)
    text = re.sub(r"(arg|res)_attrs = \[(\{\}(, )?)*\], ", "", text)
    return re.sub(r", sym_visibility = \"\w+\"", "", text)


def with_comparison_type(line: str) -> str:
    """The line, with the type that a comparison without one has by its operands' elements."""
    found = re.search(r"\(tensor<(?:\d+x)*(\w+)", line)
    if '"stablehlo.compare"' not in line or "compare_type" in line or found is None:
        return line
    element = found[1]
    kind = "UNSIGNED" if element == "i1" or element[0] == "u" else "SIGNED"
    kind = "FLOAT" if element[0] in "fbc" else kind
    return line.replace("<{", f"<{{compare_type = #stablehlo<comparison_type {kind}>, ", 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_equal_to_jaxlib(name: str, target: str, program_dump: Path, tmp_path: Path) -> None:
    code = artifact(CASES[name](), target)
    text = dump(program_dump, code, tmp_path)
    with jax_mlir.make_ir_context():
        module = ir.Module.parse(text)
        assert module.operation.verify()
        reread = bytes(_jax.mlir.serialize_portable_artifact(module, target, True))
        assert canonical(reread) == canonical(code)


@pytest.mark.parametrize("name", CASES)
def test_reads_what_it_prints(name: str, program_dump: Path, tmp_path: Path) -> None:
    text = dump(program_dump, artifact(CASES[name](), TARGETS[0]), tmp_path)
    assert dump(program_dump, text.encode(), tmp_path) == text


def test_source_locations(program_dump: Path, tmp_path: Path) -> None:
    """Errors and traces name the innermost line and the framework's path to the op."""

    def function(x: Any) -> Any:
        return jnp.sin(x)  # the line that is looked for

    code = artifact(lower(function, jnp.ones(3)), TARGETS[0])
    line = next(
        number
        for number, text in enumerate(Path(__file__).read_text().splitlines(), 1)
        if text.endswith("# the line that is looked for")
    )
    [sine] = [
        text
        for text in dump(program_dump, code, tmp_path, "--locations").splitlines()
        if text.startswith('"sine"')
    ]
    assert sine.startswith('"sine"(tensor<3xf32>) -> tensor<3xf32> jit(function)/sin at ')
    assert f"{Path(__file__)}:{line}:" in sine
