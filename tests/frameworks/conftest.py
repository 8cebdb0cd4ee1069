"""The wheel and the environments that these tests share, under build/frameworks.

Gigabytes are downloaded once: an environment stays as long as its packages are the same.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tools import plugins

HOME = plugins.ROOT / "build" / "frameworks"
# Releases that live together, also with numpy 2 and one protobuf; the wheel chooses the jax.
FRAMEWORKS = ("tensorflow-cpu==2.21.0", "torch==2.13.0")
# The last torch_xla, and the torch that it was built against.
TORCH_XLA = ("torch_xla==2.9.0", "torch==2.9.0")


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default repository with an entry point for PyTorch/XLA."""
    path = tmp_path_factory.mktemp("frameworks") / "mychip-pjrt"
    plugins.render(path, {"frameworks": "[torch_xla]"})
    return path


@pytest.fixture(scope="session")
def wheel(repository: Path) -> Path:
    """Its wheel."""
    return plugins.build_wheel(repository, repository.parent / "wheel", HOME / "build.log")


def environment(name: str, packages: Sequence[str], wheel: Path) -> Path:
    """The Python of an environment with the packages and the wheel, which is always the new one."""
    home, wanted = HOME / name, HOME / f"{name}.txt"
    said = "\n".join(packages)
    if not wanted.is_file() or wanted.read_text(encoding="utf-8") != said:
        shutil.rmtree(home, ignore_errors=True)
        plugins.environment(home, [*packages, wheel], HOME / f"{name}.log")
        wanted.write_text(said, encoding="utf-8")
    python = home / "bin" / "python"
    again: list[str | Path] = [python, "-m", "pip", "install", "--no-deps", "--force-reinstall"]
    plugins.run([*again, wheel], HOME / f"{name} wheel.log")
    return python


@pytest.fixture(scope="session")
def python(wheel: Path) -> Path:
    """The Python beside which jax, TensorFlow, torch and the plugin are installed."""
    return environment("together", FRAMEWORKS, wheel)


@pytest.fixture(scope="session")
def python_with_torch_xla(wheel: Path) -> Path:
    """The Python beside which jax, torch, torch_xla and the plugin are installed."""
    return environment("torch_xla", [*TORCH_XLA, "pytest"], wheel)


def output_of(
    python: Path, arguments: Sequence[str | Path], environ: Mapping[str, str] | None = None
) -> str:
    """What Python prints with these arguments, outside of every checkout. It must exit with 0."""
    done = subprocess.run(
        [python, *arguments],
        cwd=python.parent,
        env={**plugins.clean_environ(), **(environ or {})},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()
