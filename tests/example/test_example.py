"""The committed example is what the template renders."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from pjrt_scaffold import _answers
from tests.support.rendering import ROOT, contents
from tools import example


def test_example_is_what_the_template_renders(tmp_path: Path) -> None:
    example.render(tmp_path / "fresh")
    fresh, committed = contents(tmp_path / "fresh"), contents(example.EXAMPLE)
    assert sorted(committed) == sorted(fresh), "run: make example"
    differing = [name for name in fresh if committed[name] != fresh[name]]
    assert differing == [], "run: make example"


def test_example_names_neither_a_machine_nor_a_commit() -> None:
    recorded = yaml.safe_load((example.EXAMPLE / _answers.FILE).read_text(encoding="utf-8"))
    assert recorded["_src_path"] == "../.."
    assert recorded["_commit"] == "HEAD"
    for name, content in contents(example.EXAMPLE).items():
        assert str(ROOT).encode() not in content, name
        assert str(Path(sys.prefix)).encode() not in content, name
