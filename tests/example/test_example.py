"""The committed example is what the template renders."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from pjrt_scaffold import _answers
from tests.support.rendering import ROOT, contents, git
from tools import example


def committed() -> dict[str, bytes]:
    """The example as git sees it: what was built there is ignored, what was added is not."""
    folder = example.EXAMPLE.relative_to(ROOT).as_posix()
    seen = ("--cached", "--others", "--exclude-standard")
    listed = set(git(ROOT, "ls-files", "-z", *seen, folder).split("\0"))
    found = contents(example.EXAMPLE)
    return {name: data for name, data in found.items() if f"{folder}/{name}" in listed}


def test_example_is_what_the_template_renders(tmp_path: Path) -> None:
    example.render(tmp_path / "fresh")
    fresh, found = contents(tmp_path / "fresh"), committed()
    assert sorted(found) == sorted(fresh), "run: make example"
    differing = [name for name in fresh if found[name] != fresh[name]]
    assert differing == [], "run: make example"


def test_example_names_neither_a_machine_nor_a_commit() -> None:
    recorded = yaml.safe_load((example.EXAMPLE / _answers.FILE).read_text(encoding="utf-8"))
    assert recorded["_src_path"] == "../.."
    assert recorded["_commit"] == "HEAD"
    for name, content in committed().items():
        assert str(ROOT).encode() not in content, name
        assert str(Path(sys.prefix)).encode() not in content, name
