"""Repositories without the reference backend build, and say what they cannot do yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generated.conftest import make
from tests.support.rendering import OTHER_NAMES, Renderer

pytestmark = pytest.mark.slow

ANSWERS = {**OTHER_NAMES, "discovery": "entry_point", "ci": "none"}


def test_stub_then_own(render: Renderer, tmp_path: Path) -> None:
    """The skeleton's tests, then those of a vendor's own backend, which begins as the skeleton."""
    repository = render.fresh({**ANSWERS, "backend": "stub"}, tmp_path / "a repository")
    make(repository, "test")
    # Over the skeleton: files that stay the same are left alone, so little is compiled again.
    render.fresh({**ANSWERS, "backend": "own"}, repository)
    make(repository, "test")
