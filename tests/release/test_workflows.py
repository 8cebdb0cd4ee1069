"""This project's own workflows: pinned, with few rights, and commands that also run here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.rendering import ROOT
from tests.support.workflow_linters import LINTERS, findings

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
USES = re.compile(r"uses: (\S+)@(\S+)(?: # (v\S+))?$", re.MULTILINE)

each = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def steps(path: Path) -> list[dict[str, Any]]:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def make_commands(path: Path) -> list[str]:
    runs = "\n".join(step.get("run", "") for step in steps(path))
    return re.findall(r"^make (.+)$", runs, re.MULTILINE)


def test_there_are_workflows() -> None:
    assert [path.stem for path in WORKFLOWS] == ["ci", "long", "release"]


@pytest.mark.parametrize("linter", LINTERS, ids=lambda linter: linter[0])
def test_linters_are_silent(linter: Sequence[str]) -> None:
    assert findings(linter, WORKFLOWS) == ""


@each
def test_actions_are_the_commits_that_generated_workflows_pin(path: Path) -> None:
    theirs = {
        match[1]: match[2]
        for file in (ROOT / "template/.github/workflows").iterdir()
        for match in USES.finditer(file.read_text(encoding="utf-8"))
    }
    found = USES.findall(path.read_text(encoding="utf-8"))
    assert found
    for action, commit, version in found:
        assert re.fullmatch("[0-9a-f]{40}", commit), action
        assert version, f"{action}: the version is missing as a comment"
        assert theirs.get(action, commit) == commit, action


@each
def test_rights_are_few(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    rights = {name: job.get("permissions") for name, job in workflow["jobs"].items()}
    publishing = {"attestations": "write", "id-token": "write"}
    allowed = {"publish": publishing} if path.stem == "release" else {}
    assert {name: right for name, right in rights.items() if right} == allowed
    for job in workflow["jobs"].values():
        assert "timeout-minutes" in job
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@each
def test_commands_are_targets_and_the_environment_is_pinned(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {
        word
        for command in make_commands(path)
        for word in command.split()
        if "=" not in word and "$" not in word
    }
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    for job in workflow["jobs"].values():
        for row in job.get("strategy", {}).get("matrix", {}).get("include", ()):
            named.add(row["target"])
    assert named
    assert named <= targets
    assert "LOCK: requirements-dev.txt" in path.read_text(encoding="utf-8")
    assert (ROOT / "requirements-dev.txt").is_file()


def test_ci_runs_what_the_makefile_calls_all_tests() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    match = re.search(r"^test: ([a-z -]+) ##", makefile, re.MULTILINE)
    assert match
    ran = {word for command in make_commands(FOLDER / "ci.yml") for word in command.split()}
    assert ran == set(match[1].split())


def test_only_a_pushed_tag_is_published() -> None:
    workflow = yaml.safe_load((FOLDER / "release.yml").read_text(encoding="utf-8"))
    publish = workflow["jobs"]["publish"]
    assert publish["if"] == "github.event_name == 'push'"
    assert workflow[True]["push"] == {"tags": ["v*"]}  # YAML 1.1 reads the key "on" as true
    assert publish["environment"] == "pypi"
    assert publish["needs"] == "build"
    assert not any("run" in step for step in publish["steps"])
    assert make_commands(FOLDER / "release.yml") == [
        'check-release TAG="$TAG"',
        "dist",
        "check-dist",
    ]
