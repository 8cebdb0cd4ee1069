"""The generated part of the docs is current, and the docs name what exists."""

from __future__ import annotations

import json
import re

from tests.support.rendering import ROOT
from tools import answers_table, check_rules

ABI = json.loads((ROOT / "pjrt_scaffold" / "registry" / "abi.json").read_text(encoding="utf-8"))


def test_table_of_answers_is_current() -> None:
    old = answers_table.PAGE.read_text(encoding="utf-8")
    assert answers_table.page(old) == old, "run: make docs"


def test_rules_of_check_are_current() -> None:
    old = check_rules.PAGE.read_text(encoding="utf-8")
    assert check_rules.page(old) == old, "run: make docs"


def test_make_targets_in_the_docs_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        named = re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8"))
        assert set(named) <= targets, page.name


def _extension_types() -> list[tuple[str, int, int]]:
    """Name without prefix, number and `since` of every PJRT_Extension_Type, from the registry."""
    types = next(e for e in ABI["enums"] if e["name"] == "PJRT_Extension_Type")
    prefix = "PJRT_Extension_Type_"
    return [(v["name"].removeprefix(prefix), v["value"], v["since"]) for v in types["values"]]


def test_every_extension_is_accounted_for() -> None:
    page = (ROOT / "docs" / "extensions.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\w+) \| (\d+) \| 0\.(\d+) \| (\S.*?) \| (\S.*) \|$", page, re.MULTILINE
    )
    assert [(name, int(number), int(since)) for name, number, since, *_ in rows] == (
        _extension_types()
    )
    plugin = ROOT / "template" / "csrc" / "plugin"
    said = {name: where for name, _, _, where, _ in rows if where != "left out"}
    linked = {
        name: f"`{path.name}`"
        for path in plugin.glob("*_extension.cc")
        for name in re.findall(r"LinkExtension\(.*PJRT_Extension_Type_(\w+)", path.read_text())
    }
    assert said == linked


def test_the_generated_docs_name_every_extension() -> None:
    page = (ROOT / "template" / "docs" / "development.md.jinja").read_text(encoding="utf-8")
    section = page.split("\n## Extensions\n")[1].split("\n## ")[0]
    named = re.findall(r"^\| ([A-Z][\w, ]+?) \|", section, re.MULTILINE)
    names = [name for cell in named for name in cell.split(", ")]
    assert sorted(set(names) - {"Here", "Left out"}) == sorted(n for n, _, _ in _extension_types())
