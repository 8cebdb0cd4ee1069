"""The default repository under the sanitizers: its C++ tests, and its Python tests where they can.

Each sanitizer ends the program that it finds something in.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generated.conftest import OLDEST_JAX, make
from tools import plugins

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default repository, of which nothing is built yet."""
    path = tmp_path_factory.mktemp("sanitizers") / "mychip-pjrt"
    plugins.render(path)
    return path


@pytest.mark.parametrize("target", ["sanitize-asan", "sanitize-python", "sanitize-tsan"])
def test_no_findings(target: str, rendered: Path) -> None:
    make(rendered, target, f"JAX={OLDEST_JAX}")
