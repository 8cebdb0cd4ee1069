"""Where an update finds the template."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pjrt_scaffold import _answers, _source
from tests.support.rendering import git
from tests.update.conftest import Small
from tests.update.histories import commit, replace, update


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("gh:owner/name", "https://github.com/owner/name.git"),
        ("gh:/owner/name.git", "https://github.com/owner/name.git"),
        ("gl:owner/name", "https://gitlab.com/owner/name.git"),
        ("git+https://example.com/name", "https://example.com/name"),
        ("git@example.com:name.git", "git@example.com:name.git"),
        ("../nowhere", "../nowhere"),
    ],
)
def test_addresses(written: str, address: str, tmp_path: Path) -> None:
    assert _source.locate(written, tmp_path) == address


def test_folders_become_absolute(tmp_path: Path) -> None:
    (tmp_path / "template").mkdir()
    assert _source.locate("template", tmp_path) == str(tmp_path / "template")


def test_long_addresses_stay_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / _answers.FILE
    path.write_text("# Head\n_src_path: /a/b\n  c\nbackend: own\n", encoding="utf-8")
    _answers.rewrite(path, {"_src_path": "/a folder/" * 20})
    text = path.read_text(encoding="utf-8")
    assert text == f"# Head\n_src_path: {'/a folder/' * 20}\nbackend: own\n"


@pytest.mark.parametrize("form", ["relative", "url", "bare"])
def test_recorded_addresses(form: str, small: Small, tmp_path: Path) -> None:
    """A recorded address stays as it is; a relative one begins at the repository."""
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(small.template), str(bare))
    address = {
        "relative": os.path.relpath(small.template, small.repository),
        "url": f"file://{bare}",
        "bare": str(bare),
    }[form]
    replace(small.repository / _answers.FILE, str(small.template), address)
    commit(small.repository, "Another address")
    assert update(small.repository).new.template == "v0.3.0"
    assert _answers.read(small.repository / _answers.FILE)["_src_path"] == address


def test_a_repository_without_an_address_gets_one(small: Small) -> None:
    """As one that was rendered from an installed package."""
    replace(small.repository / _answers.FILE, f"_src_path: {small.template}\n", "")
    commit(small.repository, "No address")
    assert update(small.repository, source=str(small.template)).new.template == "v0.3.0"
    recorded = _answers.read(small.repository / _answers.FILE)
    assert (recorded["_commit"], recorded["_src_path"]) == ("v0.3.0", str(small.template))
