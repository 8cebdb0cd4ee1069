"""A folder that stands for a checkout of JAX: its tests end in every way that tests can end."""

from __future__ import annotations

import importlib.metadata
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

JAX = importlib.metadata.version("jax")

Tree = Callable[..., Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Make a checkout: `tree(ops_test="def test(): ...")`."""

    def make(version: str = JAX, **files: str) -> Path:
        root = tmp_path / "a checkout"
        (root / "tests").mkdir(parents=True)
        (root / "jax").mkdir()
        (root / "jax" / "version.py").write_text(f'_version = "{version}"\n')
        (root / "jax" / "__init__.py").write_text("raise ImportError('not the installed jax')\n")
        for name, text in files.items():
            (root / "tests" / f"{name}.py").write_text(textwrap.dedent(text))
        return root

    return make
