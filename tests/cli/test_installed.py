"""The package as pip installs it: the template comes along, its history does not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import pjrt_scaffold
from pjrt_scaffold import _answers
from tests.support.distribution import Distribution
from tests.support.rendering import ROOT, Renderer, commit_all, contents, copy_template, git

pytestmark = pytest.mark.xdist_group("distribution")

RELEASE = f"v{pjrt_scaffold.__version__}"
Done = subprocess.CompletedProcess[str]
Installed = Callable[..., Done]

# Runs the command line of the folder argv[1]; whoever opens a connection meanwhile is told off.
PROGRAM = """\
import socket, sys

def connect(*_):
    raise AssertionError("a connection was opened")

sys.path.insert(0, sys.argv.pop(1))
socket.socket.connect = socket.getaddrinfo = connect
from pjrt_scaffold import _cli
sys.argv[0] = "pjrt-scaffold"
_cli.main()
"""


def run_in(package: Path, cwd: Path, *arguments: str, path: str | None = None) -> Done:
    environment = {**os.environ, "PATH": os.environ["PATH"] if path is None else path}
    command = [sys.executable, "-c", PROGRAM, str(package), *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(distribution: Distribution, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel installs."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(folder), str(distribution.wheel)], check=True)
    return folder


@pytest.fixture
def installed(site: Path, tmp_path: Path) -> Installed:
    """Run the installed command line: `installed("new", "out", path="")`."""
    return lambda *arguments, cwd=tmp_path, path=None: run_in(site, cwd, *arguments, path=path)


def test_new_needs_neither_network_nor_git(
    installed: Installed, tmp_path: Path, render: Renderer
) -> None:
    git(tmp_path, "init", "--quiet")  # of somebody else: not to be taken for the template's
    done = installed("new", "out", "--defaults", path="")
    assert done.returncode == 0, done.stderr
    made, expected = contents(tmp_path / "out"), contents(render())
    recorded = yaml.safe_load(made.pop(_answers.FILE))
    expected.pop(_answers.FILE)
    assert made == expected
    assert "_src_path" not in recorded
    assert recorded["_commit"] == RELEASE


def test_says_how_the_result_becomes_updatable_and_it_does(
    installed: Installed, tmp_path: Path
) -> None:
    template = tmp_path / "template"
    copy_template(template)
    commit_all(template)
    git(template, "tag", RELEASE)
    with (template / "template/Makefile.jinja").open("a", encoding="utf-8") as makefile:
        makefile.write("# A newer release.\n")
    git(template, "commit", "--quiet", "--all", "--message=A newer release")
    git(template, "tag", f"{RELEASE}.post1")

    told = installed("new", "out", "--defaults", "-d", "backend=stub").stderr
    assert "cannot be updated until a source is given" in told
    assert "pjrt-scaffold update --source URL" in told
    repository = tmp_path / "out"
    commit_all(repository)
    refused = installed("update", cwd=repository)
    assert refused.returncode == 2
    assert "pjrt-scaffold update --source <git url>" in refused.stderr
    url = f"file://{template}"
    done = installed("update", "--source", url, cwd=repository)
    assert done.returncode == 0, done.stderr
    assert git(repository, "status", "--porcelain").split() == ["M", _answers.FILE, "M", "Makefile"]
    recorded = yaml.safe_load((repository / _answers.FILE).read_text(encoding="utf-8"))
    assert (recorded["_commit"], recorded["_src_path"]) == (f"{RELEASE}.post1", url)
    commit_all(repository)
    assert installed("update", cwd=repository).returncode == 0
    assert installed("sync", cwd=repository).returncode == 0


def test_a_source_is_rendered_at_the_packages_version(installed: Installed, tmp_path: Path) -> None:
    source = f"file://{tmp_path}/nowhere.git"
    done = installed("new", "out", "--defaults", "--source", source)
    assert done.returncode == 2
    assert f"{source} at {RELEASE}.\n" in done.stderr


def test_sync_check_needs_no_template(installed: Installed, tmp_path: Path) -> None:
    installed("new", "out", "--defaults", "-d", "backend=stub")
    repository = tmp_path / "out"
    commit_all(repository)
    good = installed("sync", "--check", cwd=repository)
    assert (good.stdout, good.stderr, good.returncode) == ("", "", 0)
    (repository / "csrc/generated/guard.h").unlink()
    bad = installed("sync", "--check", cwd=repository)
    assert bad.returncode == 1
    assert "csrc/generated/guard.h" in bad.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("doctor",),
        ("registry", "list"),
        ("registry", "show", "PJRT_Client_Create"),
        ("diff", "0.112", "0.117"),
        ("compat", "--json"),
    ],
    ids=" ".join,
)
def test_commands_say_what_they_say_in_a_checkout(
    arguments: tuple[str, ...], installed: Installed, tmp_path: Path
) -> None:
    done, expected = installed(*arguments), run_in(ROOT, tmp_path, *arguments)
    assert done.stdout == expected.stdout != ""
    assert (done.stderr, done.returncode) == (expected.stderr, expected.returncode)


@pytest.mark.parametrize("arguments", [("import", "."), ("rebuild", ".")], ids=" ".join)
def test_the_registry_is_not_written(
    arguments: tuple[str, ...], installed: Installed, site: Path
) -> None:
    before = contents(site / "pjrt_scaffold/_bundle/pjrt_scaffold")
    done = installed("registry", *arguments)
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr.startswith(
        "pjrt-scaffold: The registry of an installed package is not written"
    )
    assert "Clone the template's repository" in done.stderr
    assert contents(site / "pjrt_scaffold/_bundle/pjrt_scaffold") == before


def test_a_broken_registry_says_how_it_is_mended(site: Path) -> None:
    data = site / "pjrt_scaffold/_bundle/pjrt_scaffold/registry/abi.json"
    whole = data.read_bytes()
    data.write_bytes(whole[:1000])
    try:
        done = run_in(site, site, "registry", "list")
    finally:
        data.write_bytes(whole)
    assert done.returncode == 2
    assert "pip install --force-reinstall pjrt-scaffold" in done.stderr
