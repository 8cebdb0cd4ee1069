"""The list of the vendor's runtime libraries begins empty, and belongs to the vendor."""

from __future__ import annotations

from pathlib import Path

import pytest

from pjrt_scaffold import _copier
from tests.support.rendering import Renderer


@pytest.mark.parametrize("discovery", ["both", "entry_point"])
def test_empty_and_the_owners(render: Renderer, discovery: str, tmp_path: Path) -> None:
    answers = {"discovery": discovery, "plugin_name": "acme"}
    copied = _copier.copy(str(render.template), tmp_path / "out", answers)
    folder = "src/acme" if discovery == "entry_point" else "src/jax_plugins/acme"
    path = f"{folder}/vendor_libraries.py"
    text = (tmp_path / "out" / path).read_text(encoding="utf-8")
    assert "VENDOR_LIBRARIES: Final[tuple[VendorLibrary, ...]] = ()" in text
    assert copied.is_owners(path)
    assert not copied.is_owners(f"{folder}/_preload.py")
