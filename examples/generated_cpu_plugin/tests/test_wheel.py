"""What the installed distribution says of itself and contains."""

from __future__ import annotations

import json
import re
from importlib import metadata

import pytest
from plugin_under_test import config, plugin

pytestmark = pytest.mark.ecosystem


@pytest.fixture
def distribution() -> metadata.Distribution:
    return metadata.distribution(config.DISTRIBUTION)


def is_editable(distribution: metadata.Distribution) -> bool:
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    return bool(origin.get("dir_info", {}).get("editable"))


def test_one_wheel_for_every_python(distribution: metadata.Distribution) -> None:
    if is_editable(distribution):
        pytest.skip("installed as editable")
    text = distribution.read_text("WHEEL") or ""
    tags = re.findall(r"^Tag: (.*)$", text, re.M)
    assert tags
    assert all(re.fullmatch(r"py3-none-(manylinux|linux|macosx).*", tag) for tag in tags), tags
    assert "Root-Is-Purelib: false" in text


def test_contents(distribution: metadata.Distribution) -> None:
    if is_editable(distribution):
        pytest.skip("installed as editable")
    files = {str(file) for file in distribution.files or []}
    folder = config.MODULE.replace(".", "/")
    assert f"{folder}/{config.LIBRARY_NAME}" in files
    assert f"{folder}/py.typed" in files
    assert any(file.endswith("licenses/LICENSE") for file in files)
    assert "jax_plugins/__init__.py" not in files, "it would hide the plugins of others"
    outside = [file for file in files if not file.startswith((f"{folder}/", "../"))]
    assert all(".dist-info/" in file for file in outside), outside


def test_version(distribution: metadata.Distribution) -> None:
    assert distribution.version == plugin.__version__


def test_range_of_jax(distribution: metadata.Distribution) -> None:
    oldest, below = (".".join(map(str, bound)) for bound in config.TESTED_JAX)
    required = [name for name in distribution.requires or [] if re.match(r"jax\b", name)]
    assert len(required) == 1
    assert set(required[0].removeprefix("jax").strip().split(",")) == {f">={oldest}", f"<{below}"}


def test_entry_point(distribution: metadata.Distribution) -> None:
    """The value is the module itself: by another name JAX would load it a second time."""
    values = [entry.value for entry in distribution.entry_points if entry.group == "jax_plugins"]
    assert values == ([] if config.DISCOVERY == "namespace" else [config.MODULE])
    assert config.MODULE.startswith("jax_plugins.") == (config.DISCOVERY != "entry_point")
