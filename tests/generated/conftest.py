"""The generated repository that these tests share: rendered with the defaults and built once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import plugins

# The oldest jax of the range that the generated wheel declares runs on Python 3.11 only.
OLDEST_JAX = "jax==0.10.2" if sys.version_info < (3, 12) else "jax"


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
