"""What a generated repository brings for JAX's own tests: a ledger, a target, a workflow."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from pjrt_scaffold.jax_tests import ledger as ledgers
from tests.support.gitlab import Pipelines
from tests.support.rendering import OTHER_NAMES, Answers, Renderer, label

SOME = [{}, {**OTHER_NAMES, "backend": "stub"}, {"layout": "split"}]


@pytest.mark.parametrize("answers", SOME, ids=label)
def test_the_ledger_is_one(answers: Answers, render: Renderer) -> None:
    ledger = ledgers.read(render(answers) / "tests/jax_ledger.yaml")
    assert ledger.jax is not None
    assert not ledger.runs("pjit_test.py")
    assert ledger.runs("lax_test.py")
    if answers.get("backend") == "stub":
        assert ledger.failures == {}
    reasons = {why for tests in ledger.failures.values() for why in tests.values()}
    assert ledgers.NOT_LOOKED_AT not in reasons


@pytest.mark.parametrize("answers", SOME, ids=label)
def test_the_target_runs_the_files_that_are_asked_for(answers: Answers, render: Renderer) -> None:
    """Patterns must reach the command as they are: the shell would make file names of them."""
    command = ["make", "-n", "jax-tests", "JAX_TESTS=[m-r]* lax_*", "JAX_TREE=/a b/jax"]
    done = subprocess.run(
        command, cwd=render(answers), check=True, capture_output=True, text=True
    ).stdout.replace("\\\n", "")
    (line,) = (
        line for line in done.splitlines() if '"pjrt-scaffold"' in line and "--ledger" in line
    )
    platform = answers.get("platform_name", "mychip")
    assert line.startswith("set -f; ")
    assert f"jax-tests {platform} [m-r]* lax_* " in " ".join(line.split())
    assert '--jax-tree "/a b/jax"' in line


def steps(tree: Path) -> list[dict[str, Any]]:
    workflow = (tree / ".github/workflows/jax-tests.yml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = yaml.safe_load(workflow)["jobs"]["jax-tests"]["steps"]
    return found


def shell(step: dict[str, Any], tree: Path, **environment: str) -> None:
    subprocess.run(
        ["bash", "-e", "-c", step["run"]], cwd=tree, check=True, env={**os.environ, **environment}
    )


def test_the_workflow_takes_the_tests_of_the_ledgers_jax(render: Renderer, tmp_path: Path) -> None:
    tree = render({})
    (step,) = (step for step in steps(tree) if step.get("id") == "ledger")
    shell(step, tree, GITHUB_OUTPUT=str(tmp_path / "output"))
    jax = ledgers.read(tree / "tests/jax_ledger.yaml").jax
    assert (tmp_path / "output").read_text() == f"jax={jax}\n"


@pytest.mark.parametrize("ci", ["github", "gitlab"])
@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("gh:acme/pjrt-scaffold", "git+https://github.com/acme/pjrt-scaffold"),
        ("gl:acme/pjrt-scaffold", "git+https://gitlab.com/acme/pjrt-scaffold"),
        ("git+https://example.com/p.git", "git+https://example.com/p.git"),
        ("'https://example.com/p'", "git+https://example.com/p"),
    ],
)
def test_ci_installs_the_templates_own_tool(
    source: str, address: str, ci: str, render: Renderer, tmp_path: Path
) -> None:
    (tmp_path / ".copier-answers.yml").write_text(f"_commit: abc\n_src_path: {source}\n")
    (tmp_path / "python").write_text('#!/bin/sh\necho "$@" > called\n')
    (tmp_path / "python").chmod(0o755)
    script = render({"ci": ci}) / "tools/install_pjrt_scaffold.sh"
    # Without the folder of this test's own pjrt-scaffold, with which nothing would be installed.
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    subprocess.run(["sh", str(script)], cwd=tmp_path, check=True, env=environment)
    called = (tmp_path / "called").read_text()
    assert called == f"-m pip install --quiet {address}\n"


def test_ci_cannot_install_from_somebodys_machine(render: Renderer, tmp_path: Path) -> None:
    (tmp_path / ".copier-answers.yml").write_text("_src_path: ../pjrt-scaffold\n")
    script = render({}) / "tools/install_pjrt_scaffold.sh"
    done = subprocess.run(["sh", str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 3
    assert "pjrt-scaffold update --source URL" in done.stdout


def test_both_install_it_before_the_tests_run(render: Renderer) -> None:
    github = [step["run"] for step in steps(render({})) if "run" in step]
    gitlab = Pipelines.of(render({"ci": "gitlab"})).jobs()["jax-tests"]["script"]
    for commands in (github, gitlab):
        assert commands[-2] == "sh tools/install_pjrt_scaffold.sh"
        assert commands[-1].startswith("make jax-tests PYTHON=python ")
