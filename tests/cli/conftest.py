"""Running the command as a user does, and comparing all that it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.rendering import commit_all, copy_template


@dataclass(frozen=True)
class Run:
    """What a command printed, and its exit status."""

    out: str
    err: str
    status: int


Command = Callable[..., Run]


@pytest.fixture
def run(tmp_path: Path) -> Command:
    """Run `pjrt-scaffold` in an empty folder; the folder's own path is printed as DIR."""
    cwd = tmp_path / "a folder"
    cwd.mkdir()

    def call(*arguments: str | Path, env: Mapping[str, str] | None = None) -> Run:
        done = subprocess.run(
            [sys.executable, "-m", "pjrt_scaffold", *arguments],
            cwd=cwd,
            env={**os.environ, "COLUMNS": "100", **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        return Run(
            done.stdout.replace(str(tmp_path), "DIR"),
            done.stderr.replace(str(tmp_path), "DIR"),
            done.returncode,
        )

    return call


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean git checkout of the working tree's template; not to be changed."""
    folder = tmp_path_factory.mktemp("checkouts") / "the template"
    copy_template(folder)
    commit_all(folder)
    return folder
