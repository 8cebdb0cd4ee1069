"""A client that shares nothing with JAX finds nothing wrong with the default plugin.

pypjrt sends StableHLO as MLIR prints it, takes what registers custom calls for a GPU, and compiles
without a client. What it does not call a pass is listed here, so that more is noticed.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tools import plugins

pytestmark = pytest.mark.slow

CLIENT = "pypjrt==0.1.1"
NOT_PASSED = {
    # There is no function that the plugin lacks.
    "abi.unknown_slot_is_clean_error": "skip",
    # Devices in a row have no place in a mesh.
    "device.coords": "skip",
    # Extensions that the template does not have: kernels of Triton, versions of compiled programs.
    "triton.compile": "skip",
    "abi_version.extension_present": "skip",
    "abi_version.executable_proto": "skip",
    "abi_version.is_compatible_with_executable": "skip",
    # The extension is there for vendors; the devices of the reference backend have no streams.
    "stream.external_ready_events": "unsupported",
}


def test_conformance(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        library = archive.extract("jax_plugins/mychip/pjrt_plugin_mychip.so", tmp_path)
    interpreter = plugins.environment(tmp_path / "venv", [CLIENT], tmp_path / "pip.log")
    report = tmp_path / "report.json"
    # Exit status 1 when a check fails: the log says which one.
    command: list[str | Path] = [interpreter, "-m", "pypjrt.conform", library, "--json", report]
    plugins.run(command, tmp_path / "conform.log", cwd=tmp_path)
    checks = json.loads(report.read_text())["checks"]
    assert {one["id"]: one["result"] for one in checks if one["result"] != "pass"} == NOT_PASSED
