"""The few questions that are put to git, as functions of a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from pjrt_scaffold.errors import MissingError

SOMEBODY = {
    f"GIT_{who}_{what}": "pjrt-scaffold"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}
"""A name for commits in repositories that are thrown away; git insists on one."""

# Set inside hooks, where they would send us to another repository than the folder's.
_STEERING = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
)

# Users' settings that would change what is read here, or run something.
_PLAIN = tuple(
    word
    for setting in (
        "color.ui=false",
        "color.grep=false",
        "column.ui=never",
        "grep.patternType=default",
        f"core.hooksPath={os.devnull}",
        "safe.bareRepository=all",
    )
    for word in ("-c", setting)
)
BYTE_FOR_BYTE = (
    *("-c", "core.autocrlf=false"),
    *("-c", "core.eol=lf"),
    *("-c", "core.safecrlf=false"),
    *("-c", f"core.attributesFile={os.devnull}"),
)
"""Options for commands that must not convert what they read or write as the user's settings say."""

_STATUS = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal")


class GitError(MissingError):
    """A git command failed; `why` is what it printed."""


def require_git() -> None:
    """Raise MissingError when there is no git: copier fetches templates with it."""
    if shutil.which("git") is None:
        raise MissingError(
            "git is not installed, or not on PATH.",
            "The template is fetched with git, and `update` needs it later.",
            "Install it (Debian: apt install git; macOS: xcode-select --install).",
        )


def run(
    folder: Path,
    *arguments: str,
    stdin: bytes | None = None,
    env: Mapping[str, str] | None = None,
    accept: tuple[int, ...] = (0,),
) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder, whatever repository the environment points to, and without hooks.

    Raises:
        GitError: its exit status is none of `accept`.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in _STEERING}
    done = subprocess.run(
        ["git", *_PLAIN, *arguments],
        cwd=folder,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        env={**inherited, **(env or {})},
        capture_output=True,
        check=False,
    )
    if done.returncode not in accept:
        stderr = done.stderr.decode(errors="replace").strip()
        raise GitError(f"git {' '.join(arguments)} failed in {folder}.", stderr)
    return done


def ask(
    folder: Path,
    *arguments: str,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    accept: tuple[int, ...] = (0,),
) -> str:
    """What git prints, without the white space at its ends. Raises GitError."""
    data = None if stdin is None else os.fsencode(stdin)
    return os.fsdecode(run(folder, *arguments, stdin=data, env=env, accept=accept).stdout).strip()


def is_checkout(folder: Path) -> bool:
    """Whether the folder is the root of a git checkout (a worktree's .git is a file)."""
    return (folder / ".git").exists()


def uncommitted(folder: Path) -> list[str]:
    """Paths below the folder with changes that no commit holds, untracked ones included."""
    status = run(folder, *_STATUS, "--", ".").stdout
    return [entry[3:] for entry in os.fsdecode(status).split("\0") if len(entry) > 3]


def is_as_committed(folder: Path, path: str) -> bool:
    """Whether a path of a checkout without changes holds the commit's files, and no others.

    Ignored files would be others: they have no line ends in the index. Line ends that settings
    converted are no changes for git.
    """
    listed = ask(folder, "ls-files", "--eol", "--cached", "--others", "--", path)
    ends = [line.split()[:2] for line in listed.splitlines()]
    return all(index[2:] == worktree[2:] for index, worktree in ends)


def shown(paths: list[str]) -> str:
    """The first few of many paths, for a message."""
    return ", ".join(paths[:5]) + (" ..." if len(paths) > 5 else "")


def describe(folder: Path, ref: str = "HEAD") -> str:
    """Name the commit as copier records it: its tag, else distance from one, else a short hash."""
    return ask(folder, "describe", "--tags", "--always", ref)
