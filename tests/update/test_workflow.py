"""The scheduled workflow of generated repositories: its shell steps run as GitHub runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from pjrt_scaffold import _answers
from tests.support.rendering import ROOT, git
from tests.update.conftest import Small
from tests.update.histories import commit, replace

WORKFLOW = ROOT / "template/.github/workflows/update.yml"


@dataclass(frozen=True)
class Runner:
    """A machine of GitHub's with the small repository; `gh` writes down its arguments."""

    checkout: Path
    home: Path

    def run(self, name: str, **env: str) -> str:
        """Run the step of this name. Returns what it prints."""
        steps = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["update"]["steps"]
        (script,) = [step["run"] for step in steps if step.get("name") == name]
        environment = {
            **os.environ,
            **env,
            "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.home),
            "GITHUB_OUTPUT": str(self.home / "output"),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=self.checkout,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def outputs(self) -> dict[str, str]:
        path = self.home / "output"
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return dict(line.split("=", 1) for line in lines)


@pytest.fixture
def runner(small: Small, tmp_path: Path) -> Runner:
    home = tmp_path / "runner"
    (home / "bin").mkdir(parents=True)
    for name, text in (
        ("pjrt-scaffold", f'exec "{sys.executable}" -m pjrt_scaffold "$@"'),
        ("gh", f"printf '%s\\n' \"$@\" > '{home}/gh'"),
    ):
        (home / "bin" / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (home / "bin" / name).chmod(0o755)
    address = f"_src_path: file://{small.template}"
    replace(small.repository / _answers.FILE, f"_src_path: {small.template}", address)
    commit(small.repository, "A template that can be reached")
    git(home, "clone", "--quiet", "--bare", str(small.repository), "origin.git")
    git(home, "clone", "--quiet", "origin.git", "checkout")
    return Runner(home / "checkout", home)


def test_a_pull_request_is_opened_once(runner: Runner) -> None:
    (runner.checkout / "csrc/plugin/layer.h").unlink()  # with it the list of gaps would be wrong
    commit(runner.checkout, "Without a layer")
    report = runner.run("Update", API="0.98")
    assert report.startswith("template v0.1.0 to v0.3.0, PJRT C API 0.90 to 0.98: ")
    outputs = runner.outputs()
    assert outputs == {
        "branch": "pjrt-scaffold/v0.3.0-api-0.98",
        "title": "Update to template v0.3.0, PJRT C API 0.98",
        "status": "0",
    }
    runner.run("Open a pull request", **{name.upper(): text for name, text in outputs.items()})
    arguments = (runner.home / "gh").read_text(encoding="utf-8").splitlines()
    assert arguments[:2] == ["pr", "create"]
    assert outputs["title"] in arguments
    assert "--draft" not in arguments
    body = (runner.home / "body.md").read_text(encoding="utf-8")
    assert body == f"```\n{report}```\n"
    origin = runner.home / "origin.git"
    changed = git(origin, "diff", "--name-only", f"main..{outputs['branch']}").splitlines()
    assert ".copier-answers.yml" in changed
    # Next week nobody has merged it yet.
    git(runner.checkout, "switch", "--quiet", "main")
    (runner.home / "output").unlink()
    assert "is there already" in runner.run("Update", API="0.98")
    assert runner.outputs() == {}


def test_what_is_left_to_do_makes_a_draft(runner: Runner) -> None:
    runner.run("Update", API="0.98")
    outputs = runner.outputs()
    assert outputs["status"] == "1"
    runner.run("Open a pull request", **{name.upper(): text for name, text in outputs.items()})
    assert "--draft" in (runner.home / "gh").read_text(encoding="utf-8").splitlines()
    assert (runner.home / "body.md").read_text(encoding="utf-8").startswith("Something is left")


def test_nothing_newer(runner: Runner, small: Small) -> None:
    git(small.template, "tag", "--delete", "v0.2.0", "v0.3.0")
    git(small.template, "reset", "--quiet", "--hard", "v0.1.0")
    assert runner.run("Update", API="0.90").endswith("Nothing is newer than what is here.\n")
    assert runner.outputs() == {}


def test_template_on_somebodys_machine(runner: Runner) -> None:
    replace(runner.checkout / _answers.FILE, "file://", "")
    assert "::notice::" in runner.run("Update", API="0.98")
    assert runner.outputs() == {}
