"""Repositories without the reference backend build, and say what they cannot do yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generated.conftest import make
from tests.support.rendering import OTHER_NAMES
from tools import plugins

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("backend", ["stub", "own"])
def test_make_test(backend: str, tmp_path: Path) -> None:
    repository = tmp_path / "a repository"
    answers = {**OTHER_NAMES, "backend": backend, "discovery": "entry_point", "ci": "none"}
    plugins.render(repository, answers)
    make(repository, "test")
