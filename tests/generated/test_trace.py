"""`pjrt-scaffold trace run` around JAX and a real plugin."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.support.rendering import ROOT
from tools import plugins

pytestmark = pytest.mark.slow

PROGRAM = """
import jax, jax.numpy as jnp

print(jax.jit(lambda x: (x @ x.T).sum())(jnp.ones((3, 4))))
try:
    jnp.ones(1 << 24).block_until_ready()
except Exception as error:
    print(type(error).__name__)
"""


def test_jax_is_traced_and_computes_the_same(wheel: Path, tmp_path: Path) -> None:
    python = plugins.environment(tmp_path / "venv", [wheel, "jax"], tmp_path / "pip.log")
    environ = {
        **plugins.clean_environ(),
        "JAX_PLATFORMS": "mychip",
        "MYCHIP_MEMORY_BYTES": "1000000",
    }
    program: list[str | Path] = [python, "-c", PROGRAM]
    plain = subprocess.run(
        program, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
    )
    calls = tmp_path / "calls.json"
    run = [sys.executable, "-m", "pjrt_scaffold", "trace", "run"]
    trace: list[str | Path] = [*run, "--json", "-o", calls, "--log", tmp_path / "log", "--"]
    traced = subprocess.run(
        [*trace, *program], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    assert (traced.stdout, traced.stderr) == (plain.stdout, plain.stderr)
    (record,) = json.loads(calls.read_text())
    assert Path(record["plugin"]).name == "pjrt_plugin_mychip.so"
    counts = {function["name"]: function for function in record["functions"]}
    assert counts["PJRT_Client_Create"]["calls"] == 1
    for name in ("PJRT_Client_Compile", "PJRT_LoadedExecutable_Execute", "PJRT_Buffer_Destroy"):
        assert counts[name]["calls"] > 0, name
        assert counts[name]["nanoseconds"] > 0, name
    assert all(function["unfinished"] == 0 for function in counts.values())
    log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert Counter(call["function"] for call in log) == {
        name: function["calls"] for name, function in counts.items()
    }
    names = [call["args"] for call in log if call["function"] == "PJRT_Client_PlatformName"]
    assert {args["platform_name"] for args in names} == {"mychip"}
    assert any("cannot allocate" in call["error"] for call in log if "error" in call)
    failed = {name for name, function in counts.items() if function["failed"]}
    assert failed == {"PJRT_LoadedExecutable_Execute"}  # what does not fit into the memory
