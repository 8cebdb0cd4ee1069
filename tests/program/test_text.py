"""The C++ front end reads a program's text as it reads its bytes.

What a plugin receives from JAX are bytes; other clients send what MLIR prints. jaxlib prints each
artifact in the forms that MLIR has, and from all of them the front end has to make the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import _jax
from jaxlib.mlir import ir

from tests.program.corpus import CASES
from tests.program.test_reading import TARGETS, artifact, dump, refusal

pytestmark = pytest.mark.slow  # builds the front end


def read_assembly() -> dict[str, str]:
    """The programs of assembly.mlir by their names."""
    parts = Path(__file__).with_name("assembly.mlir").read_text().split("\n// ---- ")[1:]
    programs: dict[str, str] = {}
    for part in parts:
        name, programs[name] = part.split("\n", 1)
    return programs


ASSEMBLY = read_assembly()


def printed(code: bytes, **options: Any) -> bytes:
    """The artifact as MLIR writes it."""
    with jax_mlir.make_ir_context():
        module = _jax.mlir.deserialize_portable_artifact(code)
        text: str = module.operation.get_asm(**options)
        return text.encode()


def assembled(text: str) -> bytes:
    """The artifact of a program in text, as jaxlib reads it."""
    with jax_mlir.make_ir_context():
        module = ir.Module.parse(text)
        return bytes(_jax.mlir.serialize_portable_artifact(module, TARGETS[0], True))


def check(program: Path, code: bytes, folder: Path) -> str:
    """Holds all forms of an artifact against each other; gives what was read."""
    want = dump(program, code, folder)
    assert dump(program, printed(code), folder) == want
    assert dump(program, printed(code, print_generic_op_form=True), folder) == want
    # With locations: those are the same too.
    text = printed(code, enable_debug_info=True)
    assert dump(program, text, folder) == want
    locations = dump(program, code, folder, "--locations")
    assert dump(program, text, folder, "--locations") == locations
    return want


@pytest.mark.parametrize("name", CASES)
def test_every_form_of_jaxs_programs(name: str, program_dump: Path, tmp_path: Path) -> None:
    check(program_dump, artifact(CASES[name](), TARGETS[0]), tmp_path)


@pytest.mark.parametrize("name", ASSEMBLY)
def test_every_form_of_ops(name: str, program_dump: Path, tmp_path: Path) -> None:
    """The text as it was written, too."""
    want = check(program_dump, assembled(ASSEMBLY[name]), tmp_path)
    assert dump(program_dump, ASSEMBLY[name].encode(), tmp_path) == want


@pytest.mark.parametrize("name", ["training_step", "threefry_bits", "scan", "named_sharding"])
def test_what_jax_prints(name: str, program_dump: Path, tmp_path: Path) -> None:
    """Before it is made an artifact: lowered.as_text()."""
    lowered = CASES[name]()
    text = dump(program_dump, lowered.as_text().encode(), tmp_path)
    assert dump(program_dump, lowered.as_text(debug_info=True).encode(), tmp_path) == text


def test_dialects_that_artifacts_do_not_have(program_dump: Path, tmp_path: Path) -> None:
    text = CASES["lax_erf"]().as_text().encode()
    assert "op chlo.erf is unknown here; known are" in refusal(program_dump, text, tmp_path)
