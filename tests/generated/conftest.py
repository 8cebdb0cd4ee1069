"""The generated repository that these tests share: rendered with the defaults and built once."""

from __future__ import annotations

import platform
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.rendering import OTHER_NAMES, Renderer
from tools import plugins
from tools.jaxlibs_matrix import TESTED

# The oldest jax of the range that the generated wheel declares is tested beside its own Python.
OLDEST_JAX = (
    f"jax=={TESTED[0].jaxlib}"
    if f"{sys.version_info[0]}.{sys.version_info[1]}" == TESTED[0].python
    else "jax"
)


def make(repository: Path, *arguments: str) -> None:
    """Run make in a repository; on failure show the end of what it printed."""
    log = repository.parent / f"make {arguments[0]}.log"
    plugins.run(["make", f"PYTHON={sys.executable}", *arguments], log, cwd=repository)


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default repository, in a folder whose name has a space, with its wheel in dist/."""
    path = tmp_path_factory.mktemp("generated") / "my chip" / "mychip-pjrt"
    plugins.render(path)
    make(path, "build")
    return path


@pytest.fixture(scope="session")
def wheel(repository: Path) -> Path:
    """The wheel of the default repository."""
    (found,) = (repository / "dist").glob("*.whl")
    return found


STUB = {
    **OTHER_NAMES,
    "backend": "stub",
    "discovery": "entry_point",
    "ci": "gitlab",
    "wheel_platforms": f"[linux_{platform.machine()}]",
}


@pytest.fixture(scope="session")
def stub_repository(render: Renderer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A skeleton that shares no name with the default repository, with its wheel in dist/."""
    path = render.fresh(STUB, tmp_path_factory.mktemp("stub") / "a repository")
    make(path, "build")
    return path


@pytest.fixture(scope="session")
def stub_wheel(stub_repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the skeleton's wheel: the repository is rendered anew by other tests."""
    (found,) = (stub_repository / "dist").glob("*.whl")
    return Path(shutil.copy(found, tmp_path_factory.mktemp("stub wheel")))
