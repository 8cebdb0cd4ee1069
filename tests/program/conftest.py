"""Builds the front end's own printer, and lets JAX see four devices."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

CSRC = Path(__file__).parents[2] / "template" / "csrc"


@pytest.fixture(scope="session")
def program_dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that prints a StableHLO portable artifact as the C++ front end reads it."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "generated").mkdir()
    (folder / "generated" / "config.h").write_text("#define PJRT_PLUGIN_NS test_plugin\n")
    compiler = os.environ.get("CXX") or shutil.which("c++") or "g++"
    command = [compiler, "-std=c++20", "-O1", f"-I{CSRC}", f"-I{folder}"]
    sources = [s for s in sorted(CSRC.glob("program/*.cc")) if not s.stem.endswith("_test")]

    def compile_one(source: Path) -> Path:
        target = folder / f"{source.stem}.o"
        subprocess.run([*command, "-c", source, "-o", target], check=True)
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, sources))
    program = folder / "program_dump"
    subprocess.run([*command, *objects, "-o", program], check=True)
    return program
