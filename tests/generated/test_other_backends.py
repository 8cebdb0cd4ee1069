"""Repositories without the reference backend build, and say what they cannot do yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generated.conftest import STUB, make
from tests.support.rendering import Renderer

pytestmark = pytest.mark.slow


def test_stub_then_own(render: Renderer, stub_repository: Path, stub_wheel: Path) -> None:
    """The skeleton's tests, then those of a vendor's own backend, which begins as the skeleton."""
    assert stub_wheel.is_file()  # kept before its repository becomes another one
    make(stub_repository, "test")
    # Over the skeleton: files that stay the same are left alone, so little is compiled again.
    render.fresh({**STUB, "backend": "own"}, stub_repository)
    make(stub_repository, "test")
