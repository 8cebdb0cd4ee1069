"""The default repository keeps its promises: its own tests, every Python, every jax, one wheel."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.generated.conftest import OLDEST_JAX, make
from tools import plugins
from tools.jaxlibs_matrix import TESTED

pytestmark = pytest.mark.slow

MEGABYTES = 12


def test_wheel(wheel: Path, repository: Path) -> None:
    assert wheel.name.startswith("mychip_pjrt-")
    assert "-py3-none-" in wheel.name
    assert wheel.stat().st_size <= MEGABYTES * 1e6
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        library = archive.read("jax_plugins/mychip/pjrt_plugin_mychip.so")
    assert all(name.startswith("jax_plugins/mychip/") for name in names)
    assert str(repository).encode() not in library, "the library names the folder it was built in"


def test_make_test_on_the_oldest_jax(repository: Path) -> None:
    make(repository, "test", f"JAX={OLDEST_JAX}")


def test_lint_and_types(repository: Path) -> None:
    make(repository, "lint", "typecheck")


def test_same_wheel_on_the_newest_jax(wheel: Path, repository: Path, tmp_path: Path) -> None:
    """Not rebuilt: what was built with one Python serves the others."""
    python = plugins.find_python("3.13") or plugins.find_python("3.12")
    if python is None:
        pytest.skip("there is no Python 3.13 or 3.12 on this machine")
    packages: list[str | Path] = [wheel, f"jax=={TESTED[-1].jaxlib}", "pytest"]
    interpreter = plugins.environment(tmp_path / "venv", packages, tmp_path / "pip.log", python)
    plugins.run([interpreter, "-m", "pytest"], tmp_path / "pytest.log", cwd=repository)


def test_the_demos_programs(wheel: Path, tmp_path: Path) -> None:
    """demo/on_device.py, which checks what it prints, on the newest jax of this Python."""
    packages: list[str | Path] = [wheel, "jax"]
    interpreter = plugins.environment(tmp_path / "venv", packages, tmp_path / "pip.log")
    script = plugins.ROOT / "demo" / "on_device.py"
    plugins.run(
        [interpreter, script, tmp_path / "result.json"], tmp_path / "demo.log", cwd=tmp_path
    )
