"""The few questions that are put to git, as functions of a folder."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from pjrt_scaffold.errors import MissingError


def require_git() -> None:
    """Raise MissingError when there is no git: copier fetches templates with it."""
    if shutil.which("git") is None:
        raise MissingError(
            "git is not installed, or not on PATH.",
            "The template is fetched with git, and `update` needs it later.",
            "Install it (Debian: apt install git; macOS: xcode-select --install).",
        )


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise MissingError(f"git {' '.join(arguments)} failed in {folder}.", done.stderr.strip())
    return done.stdout.strip()


def is_checkout(folder: Path) -> bool:
    """Whether the folder is the root of a git checkout (a worktree's .git is a file)."""
    return (folder / ".git").exists()


def uncommitted(folder: Path) -> list[str]:
    """Paths with changes that no commit holds, untracked ones included."""
    status = _git(folder, "status", "--porcelain", "-z")
    return [entry[3:] for entry in status.split("\0") if len(entry) > 3]


def describe(folder: Path, ref: str = "HEAD") -> str:
    """Name the commit as copier records it: its tag, else distance from one, else a short hash."""
    return _git(folder, "describe", "--tags", "--always", ref)
