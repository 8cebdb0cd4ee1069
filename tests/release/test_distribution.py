"""What a release of pjrt-scaffold uploads: each file once, the same bytes from all builds."""

from __future__ import annotations

import re
import stat
import tarfile
import time
import tomllib
import zipfile
from collections import Counter
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
import readme_renderer.markdown

import pjrt_scaffold
from tests.support.distribution import EPOCH, Distribution, run_build, sources
from tests.support.rendering import ROOT

pytestmark = pytest.mark.xdist_group("distribution")

BUNDLE = "pjrt_scaffold/_bundle"
REGISTRY = "pjrt_scaffold/registry/"
INFO = f"pjrt_scaffold-{pjrt_scaffold.__version__}.dist-info"
# Compressed bytes; a wheel was 1.0 MB and an sdist 0.7 MB when this was written.
WHEEL_BYTES, SDIST_BYTES = 2_000_000, 1_500_000


def place(source: str) -> str | None:
    """Where a file of the repository lies in the wheel."""
    if source == "copier.yml" or source.startswith("template/"):
        return f"{BUNDLE}/{source}"
    if source.startswith(f"{REGISTRY}schema/"):
        return None
    if source.startswith(REGISTRY) and not source.endswith(".py"):
        return f"{BUNDLE}/{source}"
    return source if source.startswith("pjrt_scaffold/") else None


def members(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        counts = Counter(archive.namelist())
        assert [name for name, count in counts.items() if count > 1] == []
        return {name: archive.read(name) for name in counts}


def metadata(wheel: Path) -> Message:
    return Parser().parsestr(members(wheel)[f"{INFO}/METADATA"].decode())


def test_wheel_has_the_package_the_template_and_the_registry_once(
    distribution: Distribution,
) -> None:
    expected = {
        target: (ROOT / source).read_bytes()
        for source in sources()
        if (target := place(source)) is not None
    }
    found = {n: b for n, b in members(distribution.wheel).items() if not n.startswith(INFO)}
    assert sorted(found) == sorted(expected)
    assert [name for name in expected if found[name] != expected[name]] == []


def test_wheel_keeps_what_may_be_executed(distribution: Distribution) -> None:
    with zipfile.ZipFile(distribution.wheel) as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    for source in sources():
        target = place(source)
        if target is not None:
            is_program = bool((ROOT / source).stat().st_mode & stat.S_IXUSR)
            assert bool(modes[target] & stat.S_IXUSR) == is_program, target


def test_sdist_has_what_the_wheel_is_built_from(distribution: Distribution) -> None:
    top = f"pjrt_scaffold-{pjrt_scaffold.__version__}/"
    with tarfile.open(distribution.sdist) as archive:
        found = {member.name.removeprefix(top) for member in archive if member.isfile()}
    others = {".gitignore", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}
    packaged = {s for s in sources() if s.startswith(("pjrt_scaffold/", "template/"))}
    assert found - {"PKG-INFO"} == packaged | others | {"copier.yml"}


def test_wheel_of_the_tree_is_the_wheel_of_the_sdist(
    distribution: Distribution, tmp_path: Path
) -> None:
    run_build("hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=distribution.tree)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == distribution.wheel.name
    assert wheel.read_bytes() == distribution.wheel.read_bytes()


def test_another_build_gives_the_same_bytes(distribution: Distribution, tmp_path: Path) -> None:
    elsewhere = tmp_path / "another folder"
    distribution.tree.rename(elsewhere)
    try:
        for path in elsewhere.rglob("*"):
            if path.is_file():  # another umask
                path.chmod(path.stat().st_mode & ~0o077)
        run_build("hatchling", "build", "-d", str(tmp_path / "dist"), cwd=elsewhere)
    finally:
        elsewhere.rename(distribution.tree)
    for first in (distribution.sdist, distribution.wheel):
        assert (tmp_path / "dist" / first.name).read_bytes() == first.read_bytes(), first.name
    with zipfile.ZipFile(distribution.wheel) as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {time.gmtime(EPOCH).tm_year}
    with tarfile.open(distribution.sdist) as archive:
        assert {member.mtime for member in archive} == {EPOCH}


def test_metadata(distribution: Distribution) -> None:
    found = metadata(distribution.wheel)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (found["Name"], found["Version"]) == ("pjrt-scaffold", pjrt_scaffold.__version__)
    assert found["Requires-Python"] == ">=3.11"
    assert found["License-Expression"] == "Apache-2.0"
    assert found.get_all("License-File") == ["LICENSE"]
    files = members(distribution.wheel)
    assert files[f"{INFO}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert b"pjrt-scaffold = pjrt_scaffold._cli:main" in files[f"{INFO}/entry_points.txt"]
    assert b"Tag: py3-none-any" in files[f"{INFO}/WHEEL"]
    needed = [line for line in found.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert len(needed) == len(declared["dependencies"])
    assert not any("://" in line for line in found.get_all("Requires-Dist", []))


def test_classifiers_name_the_supported_pythons(distribution: Distribution) -> None:
    classifiers = metadata(distribution.wheel).get_all("Classifier", [])
    minors = re.findall(r"Python :: 3\.(\d+)$", "\n".join(classifiers), re.MULTILINE)
    assert minors == ["11", "12", "13", "14"]


def test_readme_is_rendered(distribution: Distribution) -> None:
    found = metadata(distribution.wheel)
    assert found["Description-Content-Type"] == "text/markdown"
    text = found.get_payload()
    assert isinstance(text, str)
    assert ">pjrt-scaffold<" in (readme_renderer.markdown.render(text) or "")


def test_sizes(distribution: Distribution) -> None:
    assert distribution.wheel.stat().st_size < WHEEL_BYTES
    assert distribution.sdist.stat().st_size < SDIST_BYTES
