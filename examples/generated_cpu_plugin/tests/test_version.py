"""The plugin's version: one line, which the wheel, Python and the library take it from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.version import InvalidVersion, Version
from plugin_under_test import BACKEND, config, plugin

pytestmark = pytest.mark.ecosystem


def complaint(text: str) -> str:
    """What is wrong with a version, and how to write it; empty when nothing is."""
    where = f'src/{config.MODULE.replace(".", "/")}/_version.py: __version__ = "{text}"'
    try:
        version = Version(text)
    except InvalidVersion:
        return (
            f"{where} is no version as Python packages have them (PEP 440): write 1.2.3, "
            "1.2.3rc1 before a release, 1.2.3.post1 after it, 1.2.3.dev4 on the way"
        )
    if str(version) != text:
        return f'{where} is written "{version}" in wheels (PEP 440): write it so, as in the tag'
    if version.local:
        return f"{where} has the local part +{version.local}, which no package index takes"
    return ""


def test_version_can_be_released() -> None:
    assert not complaint(plugin.__version__), complaint(plugin.__version__)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1.2-final", "no version"),
        ("v1.2.3.x", "no version"),
        ("", "no version"),
        ("1.2.3-rc1", 'written "1.2.3rc1"'),
        ("v1.2.3", 'written "1.2.3"'),
        ("01.2", 'written "1.2"'),
        ("1.2.3+local", "local part +local"),
    ],
)
def test_bad_versions_are_refused(text: str, says: str) -> None:
    assert says in complaint(text)
    assert "_version.py" in complaint(text)


@pytest.mark.parametrize("text", ["0.1.0", "1.2.3rc1", "1.2.3.post1", "1.2.3.dev4", "2026.11"])
def test_good_versions(text: str) -> None:
    assert complaint(text) == ""


@pytest.mark.skipif(BACKEND != "reference_cpu", reason="what a driver says is its vendor's")
def test_library_has_it() -> None:
    import jax

    described = jax.devices(config.PLATFORM)[0].client.platform_version
    assert plugin.__version__ in described


def test_it_stands_in_one_place() -> None:
    """The line is simple enough for CMake and for scripts: text in double quotes, no expression."""
    package = Path(plugin.__file__).parent
    line = re.compile(r'^__version__ = "([^"]*)"$', re.M)
    assert line.findall((package / "_version.py").read_text("utf-8")) == [plugin.__version__]
