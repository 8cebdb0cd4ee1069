"""What the tests of the registry share: renderings of csrc, a compiler, a published header."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pjrt_scaffold.registry import Registry, load
from tests.support.rendering import Renderer

OFFERED = tuple(minor for minor in load().minors if minor != 56)  # 0.56 had two function tables
# Versions at which the generated sources are always compiled: the ends, and around odd changes.
VERSIONS = (54, 55, 57, 67, 71, 75, 81, 90, 105, 107, 112, OFFERED[-1])

Render = Callable[[int], Path]


@pytest.fixture(scope="session")
def registry() -> Registry:
    return load()


@pytest.fixture(scope="session")
def csrc(render: Renderer) -> Render:
    """The csrc folder rendered for an API minor."""
    return lambda minor: render({"pjrt_api_version": f"0.{minor}"}) / "csrc"


@pytest.fixture(scope="session")
def published(request: pytest.FixtureRequest) -> Path:
    """An include root with the header that the public wheel xla-cpu-pjrt ships (API 0.81)."""
    assert request.config.cache is not None
    root = Path(request.config.cache.mkdir("xla-cpu-pjrt"))
    header = root / "xla" / "pjrt" / "c" / "pjrt_c_api.h"
    if not header.is_file():
        _download(root, header)
    return root


def _download(root: Path, header: Path) -> None:
    wheels = root / "wheels"
    command = [sys.executable, "-m", "pip", "download", "xla-cpu-pjrt==0.0.1", "--no-deps", "-q"]
    options = ["--only-binary=:all:", "--platform=manylinux_2_27_x86_64", f"--dest={wheels}"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(
            "the wheel xla-cpu-pjrt could not be downloaded with pip; this test compares with the "
            f"header in it and needs a network or a package index:\n{done.stderr}"
        )
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("include/pjrt_c_api.h")]
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_bytes(archive.read(name))
    shutil.rmtree(wheels)


def compile_and_run(source: Path, include: Path, *flags: str, env: dict[str, str]) -> str:
    """Build one C++20 program without a warning, run it, return what it printed."""
    program = source.with_suffix("")
    compile_source(source, include, "g++", "-std=c++20", *flags, "-o", str(program))
    done = subprocess.run([program], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compile_source(source: Path, include: Path, compiler: str, *flags: str) -> None:
    """Compile, with warnings as errors."""
    strict = ["-Wall", "-Wextra", "-Wundef", "-Werror", f"-I{include}"]
    done = subprocess.run(
        [compiler, *strict, *flags, str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
