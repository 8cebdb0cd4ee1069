"""The template with a history that the tests of updates share."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.update.histories import generate, make_template


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
    made = tmp_path / "a folder" / "repository"
    shutil.copytree(rendered(pjrt_api_version="0.90"), made, symlinks=True)
    return made
