"""Rendering the template in tests, and the answers that tests render."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Any

import copier

from pjrt_scaffold import _source

ROOT = Path(__file__).resolve().parents[2]
Answers = Mapping[str, Any]


@dataclass
class Renderer:
    """Renders a copy of the working tree's template that has no git history: no clone is made.

    Attributes:
        home: a folder for the copy and for the renderings, which are shared and not to be changed.
    """

    home: Path
    _done: dict[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.template = self.home / "template"
        copy_template(self.template)

    def __call__(self, answers: Answers | None = None) -> Path:
        """The repository with these answers, defaults for the rest."""
        answers = answers or {}
        key = hashlib.sha256(repr(sorted(answers.items())).encode()).hexdigest()[:12]
        if key not in self._done:
            self._done[key] = self.fresh(answers, self.home / key)
        return self._done[key]

    def fresh(self, answers: Answers, dest: Path) -> Path:
        """Render once more, whatever was rendered before, also over an older rendering."""
        copier.run_copy(
            str(self.template),
            dest,
            data=dict(answers),
            defaults=True,
            overwrite=True,
            quiet=True,
        )
        return dest


def copy_template(dest: Path) -> None:
    """Copy what a rendering reads of the working tree, committed or not."""
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache", "build")
    dest.mkdir(parents=True)
    shutil.copy(ROOT / "copier.yml", dest)
    shutil.copytree(ROOT / "template", dest / "template", ignore=ignored)
    registry = Path("pjrt_scaffold", "registry")
    shutil.copytree(ROOT / registry, dest / registry, ignore=ignored)


def git(folder: Path, *arguments: str) -> str:
    """Run git with an identity and no user or system settings."""
    environment = os.environ | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        **{f"GIT_{who}_NAME": "Test" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "test@example.com" for who in ("AUTHOR", "COMMITTER")},
    }
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit_all(folder: Path) -> None:
    """Make the folder a git repository with one commit of everything in it."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message=A template")


def files(tree: Path) -> list[Path]:
    """Every file below `tree`, sorted; without git's own."""
    return sorted(
        path
        for path in tree.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(tree).parts
    )


def contents(tree: Path) -> dict[str, bytes]:
    """Every file's bytes and whether it is executable, by relative path."""
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        + (b"x" if os.access(path, os.X_OK) else b"")
        for path in files(tree)
    }


# ---- Answers ----

_questions = _source.load_questions(ROOT)
QUESTIONS = {name: _questions[name] for name in _source.question_names(_questions)}

OTHER_NAMES: Answers = {
    "project_name": "Acme X+1.0 plugin",
    "plugin_name": "acme_x1",
    "platform_name": "acme",
    "distribution_name": "jax-acme",
    "vendor": "Acme & Söhne (R&D), Inc.",
}
"""Names that share nothing with the defaults, with every kind of character that is allowed."""


SHAPING = ("flavour", "backend", "discovery", "layout", "ci", "license")
"""Questions whose every two values meet in some rendering, beside the API versions."""


def choices(question: str) -> list[Any]:
    """The values of a question with choices written in copier.yml; else an empty list."""
    listed = QUESTIONS[question].get("choices")
    if isinstance(listed, dict):
        return list(listed.values())
    return list(listed) if isinstance(listed, list) else []


def one_at_a_time(versions: Sequence[str]) -> list[Answers]:
    """Defaults with one question changed, through every choice of every question.

    Args:
        versions: the values of pjrt_api_version to render.
    """
    found: list[Answers] = [{}, OTHER_NAMES, {"num_devices": 1}, {"num_devices": 64}]
    found += [{"priority": -1000}, {"priority": 1000}]
    found += [{"pjrt_api_version": version} for version in versions]
    for question, details in QUESTIONS.items():
        for value in choices(question):
            chosen = [value] if details.get("multiselect") else value
            if chosen != details["default"]:
                found.append({question: chosen})
    return found


def all_pairs(versions: Sequence[str]) -> list[Answers]:
    """Answers in which every two values of the questions that shape the tree meet.

    Greedy: each row covers as many pairs that are still open as any. Names differ from the
    defaults in every row, so that a name written into the template shows.
    """
    axes = {name: choices(name) for name in SHAPING}
    axes["pjrt_api_version"] = list(versions)
    rows = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    pairs = {id(row): frozenset(combinations(row.items(), 2)) for row in rows}
    open_pairs = frozenset[Any]().union(*pairs.values())
    chosen: list[Answers] = []
    while open_pairs:
        best = max(rows, key=lambda row: len(pairs[id(row)] & open_pairs))
        open_pairs -= pairs[id(best)]
        chosen.append({**OTHER_NAMES, **best})
    return chosen


def label(answers: Answers) -> str:
    """A short test id."""
    values = [
        "+".join(value) if isinstance(value, list) else str(value)
        for name, value in answers.items()
        if name not in OTHER_NAMES or value != OTHER_NAMES[name]
    ]
    if not answers:
        return "defaults"
    return "-".join(values).replace(" ", "_") or "other_names"


def extremes(versions: Iterable[str]) -> list[str]:
    """Oldest, newest and the traps: those that are other numbers as floats (0.100, 0.110)."""
    known = sorted(versions, key=lambda version: int(version.split(".")[1]))
    traps = [version for version in ("0.100", "0.110") if version in known]
    return [known[0], *traps, known[-1]]
