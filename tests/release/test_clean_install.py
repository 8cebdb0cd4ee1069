"""The wheel in an environment of its own: the dependencies that it names are all that it needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.distribution import EPOCH, Distribution
from tests.support.offline import offline


@pytest.mark.slow
@pytest.mark.xdist_group("distribution")
def test_new_in_a_clean_environment(distribution: Distribution, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = [str(home / "bin/python"), "-m"]
    install = ["pip", "install", "--quiet", "--disable-pip-version-check", str(distribution.wheel)]
    subprocess.run([*python, *install], check=True)
    subprocess.run([*python, "pip", "check"], check=True)
    command = [str(home / "bin/pjrt-scaffold"), "new", "out", "--defaults", "-d", "backend=stub"]
    # Neither programs nor a network.
    done = subprocess.run(
        offline(command), cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True
    )
    assert (done.stdout, done.returncode) == (f"{tmp_path / 'out'}\n", 0), done.stderr
    assert (tmp_path / "out/csrc/vendor/overrides.h").is_file()


@pytest.mark.slow
@pytest.mark.xdist_group("distribution")
def test_built_without_a_network(distribution: Distribution, tmp_path: Path) -> None:
    """From what pip fetched of an index before; and the same bytes."""
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)}
    subprocess.run(offline([*build, distribution.tree]), env=environment, check=True)
    for archive in (distribution.sdist, distribution.wheel):
        assert (tmp_path / archive.name).read_bytes() == archive.read_bytes()
