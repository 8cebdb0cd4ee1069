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
    assert all(re.fullmatch(r"py3-none-(manylinux|linux|macosx|win).*", tag) for tag in tags), tags
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
    # Beside the metadata there is only what auditwheel grafts.
    assert all(re.match(r"[^/]+\.(dist-info|libs)/", file) for file in outside), outside


def test_list_of_contents(distribution: metadata.Distribution) -> None:
    """The SBOM names all that is of others, and the texts of their licences are there."""
    if is_editable(distribution):
        pytest.skip("installed as editable")
    files = {str(file): file for file in distribution.files or []}
    (path,) = (name for name in files if name.endswith(f"/sboms/{config.DISTRIBUTION}.cdx.json"))
    bill = json.loads(files[path].read_text("utf-8"))
    plugin_itself = bill["metadata"]["component"]
    assert plugin_itself["name"] == config.DISTRIBUTION
    assert plugin_itself["version"] == plugin.__version__

    said = [entry for component in bill["components"] for entry in component["properties"]]
    texts = [entry["value"] for entry in said if entry["name"] == "wheel:license-file"]
    missing = [text for text in texts if path.split("/")[0] + f"/licenses/{text}" not in files]
    assert not missing, f"there are no texts of licences {missing}"
    named = {entry["value"] for entry in said if entry["name"] == "wheel:library"}
    names = {file.rpartition("/")[2] for file in files}
    libraries = {name for name in names if re.search(r"\.(so|dylib|dll)\b", name)}
    # auditwheel gives what it grafts a hash: libfoo.so.1 becomes libfoo-0a1b2c3d.so.1; delvewheel
    # does so with more digits.
    bundled = {re.sub(r"-[0-9a-f]{8,64}(?=\.(so|dll))", "", file) for file in libraries}
    unnamed = sorted(bundled - named - {config.LIBRARY_NAME})
    assert not unnamed, f"csrc/vendor/third_party.toml does not name {unnamed}"


def test_version(distribution: metadata.Distribution) -> None:
    assert distribution.version == plugin.__version__


def test_range_of_jax(distribution: metadata.Distribution) -> None:
    oldest, below = (".".join(map(str, bound)) for bound in config.TESTED_JAX)
    required = [name for name in distribution.requires or [] if re.match(r"jax(?![\w.-])", name)]
    assert len(required) == 1
    assert set(required[0].removeprefix("jax").strip().split(",")) == {f">={oldest}", f"<{below}"}


def test_entry_point(distribution: metadata.Distribution) -> None:
    """The value is the module itself: by another name JAX would load it a second time."""
    values = [entry.value for entry in distribution.entry_points if entry.group == "jax_plugins"]
    assert values == ([] if config.DISCOVERY == "namespace" else [config.MODULE])
    assert config.MODULE.startswith("jax_plugins.") == (config.DISCOVERY != "entry_point")
