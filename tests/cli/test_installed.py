"""The package as pip installs it: the template comes along, its history does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import pjrt_scaffold
from pjrt_scaffold import _answers
from tests.support.rendering import ROOT, Renderer, contents


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel installs."""
    home = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(home)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = home.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(home / "site"), str(wheel)], check=True)
    return home / "site"


def new(installed: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.path.insert(0, {str(installed)!r}); sys.argv[0] = 'pjrt-scaffold'\n"
    program += "from pjrt_scaffold import _cli; _cli.main()"
    command = [sys.executable, "-c", program, "new", "out", "--defaults", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_renders_the_same_tree(installed: Path, tmp_path: Path, render: Renderer) -> None:
    done = new(installed, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "cannot be updated until a source is given" in done.stderr
    made, expected = contents(tmp_path / "out"), contents(render())
    recorded = yaml.safe_load(made.pop(_answers.FILE))
    expected.pop(_answers.FILE)
    assert made == expected
    assert "_src_path" not in recorded
    assert recorded["_commit"] == f"v{pjrt_scaffold.__version__}"


def test_a_source_is_rendered_at_the_packages_version(installed: Path, tmp_path: Path) -> None:
    source = f"file://{tmp_path}/nowhere.git"
    done = new(installed, tmp_path, "--source", source)
    assert done.returncode == 2
    assert f"{source} at v{pjrt_scaffold.__version__}.\n" in done.stderr
