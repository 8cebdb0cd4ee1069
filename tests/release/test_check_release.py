"""A release whose tag, version and changelog do not agree is stopped, and says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pjrt_scaffold
from tests.support.rendering import ROOT
from tools.check_release import MODULE, findings, generated

GOOD = """\
# Changelog

## Unreleased

## 1.2.0 - 2026-03-01

- Something new.

## 1.1.0 - 2026-01-31

- Something older.
"""


def said(root: Path, tag: str | None, version: str, changelog: str) -> list[str]:
    (root / "pjrt_scaffold").mkdir()
    (root / MODULE).write_text(f'"""A package."""\n\n__version__ = "{version}"\n')
    (root / "CHANGELOG.md").write_text(changelog)
    return list(findings(tag, root))


@pytest.mark.parametrize(
    ("tag", "version", "changelog"),
    [
        ("v1.2.0", "1.2.0", GOOD),
        (None, "1.2.0", GOOD),
        (None, "1.2.0", GOOD.replace("## Unreleased\n\n", "")),
        ("v1.2.0rc1", "1.2.0rc1", GOOD.replace("1.2.0", "1.2.0rc1")),
    ],
)
def test_what_agrees_may_be_released(
    tag: str | None, version: str, changelog: str, tmp_path: Path
) -> None:
    assert said(tmp_path, tag, version, changelog) == []


@pytest.mark.parametrize(
    ("tag", "version", "changelog", "expected"),
    [
        ("v1.2.1", "1.2.0", GOOD, f"the version in {MODULE} 1.2.0"),
        ("1.2.0", "1.2.0", GOOD, "tag v1.2.0 or change"),
        ("v1.2", "1.2", GOOD, "has no section '## 1.2'"),
        ("vnext", "next", GOOD, "no version as PEP 440 has it"),
        ("v1.2.0-rc1", "1.2.0-rc1", GOOD, "no version as PEP 440 has it"),
        ("v1.2.0+local", "1.2.0+local", GOOD, "no version as PEP 440 has it"),
        (None, "1.3.0", GOOD, f"or set another version in {MODULE}"),
        (None, "1.1.0", GOOD, "does not begin with the section '## 1.1.0 - <date>'"),
        (None, "1.2.0", GOOD.replace(" - 2026-03-01", ""), "has no date"),
        (None, "1.2.0", GOOD.replace("2026-03-01", "2026-02-30"), "has no date"),
        (None, "1.2.0", GOOD.replace("- Something new.\n", ""), "is empty"),
        (None, "1.2.0", GOOD.replace("Unreleased\n", "Unreleased\n\n- Late."), "move them"),
        (None, "1.2.0", GOOD.replace("1.1.0", "1.2.0.post1"), "must be newer"),
        (None, "1.2.0", "# Changelog\n", "has no section"),
    ],
)
def test_what_does_not_agree(
    tag: str | None, version: str, changelog: str, expected: str, tmp_path: Path
) -> None:
    assert expected in "\n".join(said(tmp_path, tag, version, changelog))


def test_the_rules_are_those_of_generated_repositories() -> None:
    assert Path(str(generated.__file__)) == ROOT / "template/tools/check_release.py"


def test_of_this_commit_as_the_workflow_asks() -> None:
    command = [sys.executable, "-m", "tools.check_release", "v0.0.1.dev1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    version = pjrt_scaffold.__version__
    assert f"the tag is v0.0.1.dev1, the version in {MODULE} {version}" in done.stderr
