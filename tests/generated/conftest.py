"""The generated repository that these tests share: rendered with the defaults and built once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

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
