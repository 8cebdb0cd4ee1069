"""The environment variable <PLUGIN>_DUMP: a folder into which each compiled program is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from plugin_under_test import BACKEND, config
from support import output_of

pytestmark = [
    pytest.mark.core,
    pytest.mark.skipif(BACKEND != "reference_cpu", reason="what the reference backend writes"),
]

PROGRAM = f"""
import jax, numpy as np
def doubled(x):
    return x * 2 + 0
device = jax.devices("{config.PLATFORM}")[0]
print(float(jax.jit(doubled)(jax.device_put(np.float32(4), device))))
"""


def test_writes_each_program_three_times(tmp_path: Path) -> None:
    """As it came, as it is after the passes, and as it runs."""
    assert output_of(PROGRAM, {config.ENV_PREFIX + "DUMP": str(tmp_path)}) == "8.0"
    names = [
        f"0000.jit_doubled.{kind}" for kind in ("optimized.mlir", "plan.txt", "program.mlirbc")
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    optimized, plan, program = (tmp_path / name for name in names)
    assert program.read_bytes().startswith(b"ML\xefR")
    assert "stablehlo.multiply" in optimized.read_text()
    assert "jit_doubled" in optimized.read_text()
    assert "multiply" in plan.read_text()


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    nowhere = tmp_path / "a file"
    nowhere.write_text("not a folder")
    assert output_of(PROGRAM, {config.ENV_PREFIX + "DUMP": str(nowhere)}) == "8.0"
    assert nowhere.read_text() == "not a folder"
