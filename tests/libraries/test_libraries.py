"""Programs of public libraries agree on the plugin and on JAX's own CPU: `make test-libraries`."""

from __future__ import annotations

import ast
import shutil
import subprocess
from pathlib import Path

import pytest

from tools import plugins

HOME = plugins.ROOT / "build" / "libraries"
SCRIPT = Path(__file__).with_name("programs.py")
PYTHON = "3.12"
# Releases that were seen to live together.
LIBRARIES = (
    "blackjax==1.7.1",
    "chex==0.1.92",
    "diffrax==0.7.2",
    "distrax==0.1.9",
    "dm-haiku==0.0.17",
    "equinox==0.13.8",
    "flax==0.12.8",
    "jax==0.11.0",
    "jaxopt==0.8.5",
    "lineax==0.1.1",
    "numpyro==0.22.0",
    "optax==0.2.8",
    "optimistix==0.1.0",
)


def _names() -> list[str]:
    """The programs, without importing what they need."""
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [f.name for f in functions if any("program" in ast.unparse(d) for d in f.decorator_list)]


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python beside which the libraries and the default plugin are installed."""
    folder = tmp_path_factory.mktemp("libraries")
    repository = folder / "mychip-pjrt"
    plugins.render(repository, {})
    wheel = plugins.build_wheel(repository, folder / "wheel", HOME / "build.log")
    interpreter = plugins.find_python(PYTHON)
    if interpreter is None:
        pytest.skip(f"no Python {PYTHON}, the oldest that jax 0.11 takes")
    shutil.rmtree(HOME / "venv", ignore_errors=True)
    log = HOME / "venv.log"
    return plugins.environment(HOME / "venv", [*LIBRARIES, wheel], log, interpreter)


@pytest.mark.long
@pytest.mark.parametrize("name", _names())
def test_agrees_with_jax_on_the_cpu(name: str, python: Path) -> None:
    environment = {
        "PLUGIN_PLATFORM": "mychip",
        "JAX_PLATFORMS": "mychip,cpu",
        "MYCHIP_JAX_PATCHES": "1",
    }
    done = subprocess.run(
        [python, SCRIPT, name],
        env={**plugins.clean_environ(), **environment},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-4000:]


def test_programs_of_at_least_eight_libraries() -> None:
    libraries = {name.partition("_")[0] for name in _names()}
    assert len(libraries) >= 8
    pinned = {library.partition("==")[0].removeprefix("dm-") for library in LIBRARIES}
    assert libraries <= pinned
