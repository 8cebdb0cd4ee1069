"""The generated part of the docs is current, and the docs name what exists."""

from __future__ import annotations

import re

from tests.support.rendering import ROOT
from tools import answers_table


def test_table_of_answers_is_current() -> None:
    old = answers_table.PAGE.read_text(encoding="utf-8")
    assert answers_table.page(old) == old, "run: make docs"


def test_make_targets_in_the_docs_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        named = re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8"))
        assert set(named) <= targets, page.name
