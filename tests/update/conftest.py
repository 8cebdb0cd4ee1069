"""The templates with a history that the tests of updates share, and the command on them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pjrt_scaffold import _answers
from tests.cli.conftest import Command, Run
from tests.support.rendering import git
from tests.update.histories import commit, generate, make_template, replace
from tests.update.small import make_small_template

__all__ = ["Command", "Rendered", "Run", "Small"]


@dataclass(frozen=True)
class Small:
    """The small template and a repository rendered from its v0.1.0, both to be changed."""

    template: Path
    repository: Path

    def release(self, tag: str) -> None:
        """Commit what was changed in the template, and tag it."""
        commit(self.template, tag)
        git(self.template, "tag", tag)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A template with the tags v0.1.0, v0.2.0 and v0.3.0; not to be changed."""
    return make_template(tmp_path_factory.mktemp("templates") / "the template")


Rendered = Callable[..., Path]


@pytest.fixture(scope="session")
def rendered(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    """A rendering at a tag with answers, as `generate` takes them; shared, not to be changed."""
    home = tmp_path_factory.mktemp("rendered")
    done: dict[str, Path] = {}

    def render(ref: str = "v0.1.0", **answers: str) -> Path:
        key = repr((ref, sorted(answers.items())))
        if key not in done:
            done[key] = generate(template, home / str(len(done)), ref, **answers)
        return done[key]

    return render


@pytest.fixture
def repository(rendered: Rendered, tmp_path: Path) -> Path:
    """A repository of one's own, at v0.1.0 and API version 0.90."""
    return copy(rendered(pjrt_api_version="0.90"), tmp_path / "a folder" / "repository")


@pytest.fixture(scope="session")
def _small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    home = tmp_path_factory.mktemp("small")
    template = make_small_template(home / "the template")
    return template, generate(template, home / "rendered")


@pytest.fixture
def small(_small: tuple[Path, Path], tmp_path: Path) -> Small:
    """A small template of one's own, and a repository rendered from it at v0.1.0."""
    template, repository = _small
    mine = Small(copy(template, tmp_path / "the template"), copy(repository, tmp_path / "mychip"))
    replace(mine.repository / _answers.FILE, str(template), str(mine.template))
    commit(mine.repository, "The template's place")
    return mine


@pytest.fixture
def run(small: Small, tmp_path: Path) -> Command:
    """Run `pjrt-scaffold` in the small repository; the folder around it is printed as DIR."""

    def call(*arguments: str) -> Run:
        done = subprocess.run(
            [sys.executable, "-m", "pjrt_scaffold", *arguments],
            cwd=small.repository,
            env={**os.environ, "COLUMNS": "100"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        out, err = (text.replace(str(tmp_path), "DIR") for text in (done.stdout, done.stderr))
        return Run(out, err, done.returncode)

    return call


def copy(folder: Path, dest: Path) -> Path:
    """Copy a git repository."""
    shutil.copytree(folder, dest, symlinks=True)
    return dest
