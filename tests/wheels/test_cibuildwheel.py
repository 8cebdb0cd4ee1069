"""The wheels that vendors ship: built, repaired and tested by `make wheels`, and looked at.

Needs podman and runc, as root. Each build takes some minutes and says when it begins and ends.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import sys
import tarfile
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools import local_cibuildwheel, plugins
from tools.jaxlibs_matrix import REQUIREMENT, TESTED
from tools.wheel_checks import Expected, check, differences, read

pytestmark = pytest.mark.long

Say = Callable[[str], None]
BUILDER = tuple(release.python for release in TESTED)


@dataclass(frozen=True)
class Kind:
    """A repository to make wheels of.

    Attributes:
        answers: what is not the default.
        package: the package's folder below src.
        entry_point: the module that the wheel's entry point names; "": there is none.
        project: the folder of the project that is built.
    """

    answers: dict[str, str]
    package: str
    entry_point: str
    project: str = "."


KINDS = {
    "stub": Kind({"backend": "stub", "discovery": "entry_point"}, "mychip", "mychip"),
    "default": Kind({}, "jax_plugins/mychip", "jax_plugins.mychip"),
    "core": Kind({"backend": "stub", "layout": "split"}, "mychip_core", "", "core"),
}


@pytest.fixture(scope="module")
def say(request: pytest.FixtureRequest) -> Say:
    """Prints a line although pytest captures what tests print."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    began = time.monotonic()

    def printed(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n[{time.monotonic() - began:4.0f} s] {text}", file=sys.stderr, flush=True)

    return printed


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture(scope="module")
def repository(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("repository") / "mychip-pjrt"
    plugins.render(path, kind.answers)
    return path


@pytest.fixture(scope="module")
def shipped(repository: Path, say: Say, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that cibuildwheel made, which passed the repository's tests on every Python."""
    if lacking := local_cibuildwheel.missing():
        pytest.fail(f"cibuildwheel cannot run here: {lacking}", pytrace=False)
    out = tmp_path_factory.mktemp("shipped")
    say(f"make wheels builds and tests with Python {', '.join(BUILDER)}; log: {out}/log")
    wheel = local_cibuildwheel.run(repository, out, BUILDER, out / "log")
    say(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")
    return wheel


def expected(kind: Kind, repository: Path, *build_paths: Path) -> Expected:
    folder = repository / kind.project / "src" / kind.package
    files = (path for path in folder.rglob("*") if path.is_file())
    modules = {path.relative_to(folder).as_posix() for path in files if path.suffix != ".so"}
    return Expected(
        kind.package,
        "pjrt_plugin_mychip.so",
        frozenset(name for name in modules if "__pycache__" not in name),
        REQUIREMENT if kind.entry_point else "",  # a core knows nothing of jax
        kind.entry_point,
        tuple(map(str, build_paths)),
    )


def build(repository: Path, project: str, out: Path, form: str) -> Path:
    """Build as a vendor does by hand, with nothing left from before. Returns the file."""
    shutil.rmtree(repository / "build", ignore_errors=True)
    command = [sys.executable, "-m", "build", f"--{form}"]
    plugins.run([*command, "--outdir", out, repository / project], out.parent / f"{out.name}.log")
    (made,) = out.iterdir()
    return made


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_shipped_wheel(kind: Kind, repository: Path, shipped: Path) -> None:
    assert check(read(shipped), expected(kind, repository, Path("/project"), repository)) == []


def test_settings(kind: Kind, repository: Path) -> None:
    """What the machine of this test cannot show, for its glibc decides the tag here."""
    text = (repository / kind.project / "pyproject.toml").read_text(encoding="utf-8")
    settings = tomllib.loads(text)["tool"]["cibuildwheel"]
    assert settings["manylinux-x86_64-image"] == "manylinux_2_28"
    assert settings["manylinux-aarch64-image"] == "manylinux_2_28"
    assert len(re.findall("MACOSX_DEPLOYMENT_TARGET", text)) == 1
    tests = [override["before-test"] for override in settings["overrides"]]
    assert tests == [f"pip install jax=={TESTED[end].jaxlib}" for end in (0, -1)]


def test_twice_the_same(
    kind: Kind, repository: Path, shipped: Path, say: Say, tmp_path: Path
) -> None:
    """From two folders, from the source distribution, and by cibuildwheel: the same bytes."""
    say("building from two folders and from the source distribution")
    other = tmp_path / "another place" / "of another name"
    shutil.copytree(repository, other, ignore=shutil.ignore_patterns("build", "dist"))
    here = build(repository, kind.project, tmp_path / "here", "wheel")
    there = build(other, kind.project, tmp_path / "there", "wheel")
    assert differences(read(here), read(there)) == []
    assert digest(here) == digest(there)

    sources = build(repository, kind.project, tmp_path / "sdist", "sdist")
    assert digest(sources) == digest(build(other, kind.project, tmp_path / "other sdist", "sdist"))
    with tarfile.open(sources) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert digest(build(unpacked, ".", tmp_path / "from sdist", "wheel")) == digest(here)

    # The repair writes the tag; there is nothing to graft, so the library stays as it is.
    repaired = (f"{read(here).info}/WHEEL", f"{read(here).info}/RECORD")
    changed = differences(read(here), read(shipped), but=repaired)
    assert [name for name in changed if "/sboms/" not in name] == []


def test_shipped_twice_the_same(repository: Path, shipped: Path, say: Say, tmp_path: Path) -> None:
    """A second run of cibuildwheel, which need not test again."""
    if platform.machine() not in {"x86_64", "aarch64"}:
        pytest.skip("manylinux is of x86-64 and aarch64")
    say("cibuildwheel builds again")
    os.environ["CIBW_TEST_SKIP"] = "*"
    try:
        again = local_cibuildwheel.run(repository, tmp_path, BUILDER, tmp_path / "log")
    finally:
        del os.environ["CIBW_TEST_SKIP"]
    assert digest(again) == digest(shipped)
