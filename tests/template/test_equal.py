"""Plain copier and `pjrt-scaffold new` give the same tree, twice the same one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pjrt_scaffold import _answers
from tests.support.rendering import (
    OTHER_NAMES,
    Answers,
    Renderer,
    commit_all,
    contents,
    copy_template,
    git,
    label,
)

SOME = [{}, {**OTHER_NAMES, "backend": "stub", "ci": "none", "wheel_platforms": "[macos_arm64]"}]


@pytest.mark.parametrize("answers", SOME, ids=label)
def test_rendered_twice_is_identical(answers: Answers, render: Renderer, tmp_path: Path) -> None:
    first, second = (contents(render.fresh(answers, tmp_path / name)) for name in "ab")
    assert first == second


@pytest.mark.parametrize("answers", SOME, ids=label)
def test_copier_and_the_command_line_agree(answers: Answers, tmp_path: Path) -> None:
    template = tmp_path / "the template"
    copy_template(template)
    commit_all(template)
    data = [argument for key, value in answers.items() for argument in ("-d", f"{key}={value}")]
    copier = ["copier", "copy", "--quiet", "--vcs-ref", "HEAD", "--defaults", *data]
    ours = ["pjrt_scaffold", "new", "--defaults", "--source", str(template), *data]
    for command in ([*copier, str(template), "by copier"], [*ours, "by us"]):
        subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, check=True)
    by_copier, by_us = (contents(tmp_path / name) for name in ("by copier", "by us"))
    assert by_us == by_copier
    recorded = yaml.safe_load(by_us[_answers.FILE])
    assert recorded["_src_path"] == str(template)
    assert recorded["_commit"] == git(template, "rev-parse", "--short", "HEAD")
