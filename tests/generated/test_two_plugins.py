"""Two generated plugins, one on the reference backend and one a skeleton, live in one process."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tools import plugins

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("two_plugins.py")
DEVICES = {"MYCHIP_NUM_DEVICES": "2", "ACME_X1_NUM_DEVICES": "3"}
ORDERS = [("mychip", "acme"), ("acme", "mychip")]

TWICE = """
import jax, numpy as np

for platform in ("mychip", "copied"):
    devices = jax.devices(platform)
    x = jax.device_put(np.arange(4.0, dtype=np.float32).reshape(2, 2), devices[1])
    total = jax.jit(lambda x: (x @ x.T).sum())(x)
    assert len(devices) == 2 and total.devices() == {devices[1]}
    print(total)
assert jax.devices("mychip")[0].client is not jax.devices("copied")[0].client
"""


@pytest.fixture(scope="module")
def python(wheel: Path, stub_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds both wheels and the newest jax for it."""
    home = tmp_path_factory.mktemp("two plugins")
    return plugins.environment(home / "venv", [wheel, stub_wheel, "jax"], home / "pip.log")


def run(
    python: Path, arguments: Sequence[str | Path], environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python outside of every checkout; what steers JAX is what is given and nothing else."""
    return subprocess.run(
        [python, *arguments],
        cwd=python.parent,
        env={**plugins.clean_environ(), **(environ or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_nothing_clashes_in_the_environment(python: Path) -> None:
    done = run(python, ["-m", "pip", "check"])
    assert done.returncode == 0, done.stdout


# pitfall 42: symbols of the plugin and of another library in the process take each other's place
@pytest.mark.parametrize("names", ["names_apart", "names_taken"])
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_one_process(order: tuple[str, str], names: str, python: Path) -> None:
    options = ["--names-taken"] if names == "names_taken" else []
    done = run(python, [PROGRAM, *order, *options], DEVICES)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.stdout.split() == ["both", "work"]
    said = [line for line in done.stderr.splitlines() if "is experimental" not in line]
    assert said == []


# pitfall 42: symbols of the plugin and of another library in the process take each other's place
def test_one_library_twice(python: Path, tmp_path: Path) -> None:
    """Two copies of one file have every symbol in common, and each runs its own programs."""
    (library,) = python.parent.parent.glob("lib/*/site-packages/jax_plugins/mychip/*.so")
    copy = shutil.copy(library, tmp_path / "copy.so")
    environ = {
        **DEVICES,
        "PJRT_NAMES_AND_LIBRARY_PATHS": f"copied:{copy}",
        "JAX_PLATFORMS": "mychip,copied,cpu",
    }
    done = run(python, ["-c", TWICE], environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["20.0", "20.0"]
