"""A release whose tag, version and changelog do not agree is stopped, and says why."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pjrt_scaffold
from tests.support.rendering import ROOT
from tools.check_release import findings

GOOD = """\
# Changelog

## Unreleased

## 1.2.0 - 2026-03-01

- Something new.

## 1.1.0 - 2026-01-31

- Something older.
"""


def test_what_agrees_may_be_released() -> None:
    assert list(findings("v1.2.0", "1.2.0", GOOD)) == []
    assert list(findings(None, "1.2.0", GOOD)) == []
    assert list(findings(None, "1.2.0", GOOD.replace("## Unreleased\n\n", ""))) == []
    assert list(findings("v1.2.0rc1", "1.2.0rc1", GOOD.replace("1.2.0", "1.2.0rc1"))) == []


@pytest.mark.parametrize(
    ("tag", "version", "changelog", "said"),
    [
        ("v1.2.1", "1.2.0", GOOD, "tag the commit v1.2.0"),
        ("1.2.0", "1.2.0", GOOD, "tag the commit v1.2.0"),
        ("v1.2", "1.2", GOOD, "does not begin with a section '## 1.2 - <date>'"),
        ("vnext", "next", GOOD, "none of PEP 440"),
        ("v1.2.0-rc1", "1.2.0-rc1", GOOD, "write '1.2.0rc1'"),
        ("v1.2.0+local", "1.2.0+local", GOOD, "write '1.2.0'"),
        (None, "1.3.0", GOOD, "does not begin with a section '## 1.3.0 - <date>'"),
        (None, "1.1.0", GOOD, "does not begin with a section '## 1.1.0 - <date>'"),
        (None, "1.2.0", GOOD.replace(" - 2026-03-01", ""), "has no date"),
        (None, "1.2.0", GOOD.replace("2026-03-01", "2026-02-30"), "has no date"),
        (None, "1.2.0", GOOD.replace("- Something new.\n", ""), "is empty"),
        (None, "1.2.0", GOOD.replace("Unreleased\n", "Unreleased\n\n- Late."), "move them"),
        (None, "1.2.0", GOOD.replace("1.1.0", "1.2.0.post1"), "must be newer"),
        (None, "1.2.0", "# Changelog\n", "does not begin with a section"),
    ],
)
def test_what_does_not_agree(tag: str | None, version: str, changelog: str, said: str) -> None:
    assert said in "\n".join(findings(tag, version, changelog))


def test_of_this_commit_as_the_workflow_asks() -> None:
    command = [sys.executable, "-m", "tools.check_release", "v0.0.1.dev1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"the version {pjrt_scaffold.__version__!r}: tag the commit" in done.stderr
