"""A generated repository on this machine: where it is, and what its answers file says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pjrt_scaffold import _answers, _git, _source
from pjrt_scaffold.errors import UsageError


@dataclass(frozen=True)
class Project:
    """A generated repository.

    Attributes:
        root: the folder that holds the answers file; may be a subfolder of a git repository.
        recorded: the content of the answers file.
    """

    root: Path
    recorded: Mapping[str, Any]

    @property
    def answers(self) -> dict[str, Any]:
        """The answers by question, without copier's own keys."""
        return {name: v for name, v in self.recorded.items() if not name.startswith("_")}

    @property
    def commit(self) -> str:
        """The template's commit from which it was rendered, as copier names it.

        Raises:
            UsageError: the answers file does not say.
        """
        commit = self.recorded.get("_commit")
        if not commit:
            raise UsageError(
                f"{self.root / _answers.FILE} does not say which template commit it is from.",
                "The key _commit is missing: it was rendered from a folder without git history, "
                "or somebody took it out.",
                "Write the template's commit or tag there: _commit: v1.2.3",
            )
        return str(commit)

    def location(self, given: str | None) -> str:
        """The address of the template: a git URL, or an absolute folder.

        Args:
            given: what the user said, else the answers file is asked, then the package.

        Raises:
            UsageError: nobody knows.
        """
        if given is not None:
            return _source.locate(given, Path.cwd())
        if recorded := self.recorded.get("_src_path"):
            return _source.locate(str(recorded), self.root)
        if _source.PUBLIC_ADDRESS:
            return _source.PUBLIC_ADDRESS
        raise UsageError(
            "This repository does not say where its template is.",
            f"{_answers.FILE} has no _src_path: it was rendered from an installed package.",
            "Say it once, it is recorded then: pjrt-scaffold update --source <git url>",
        )


def find(start: Path) -> Project:
    """The generated repository that a folder is in.

    Raises:
        UsageError: there is none, or no git repository around it.
    """
    _git.require_git()
    start = start.absolute()
    top = _git.run(start, "rev-parse", "--show-toplevel", accept=(0, 128))
    for folder in (start, *start.parents):
        if (folder / _answers.FILE).is_file():
            if top.returncode != 0 and os.path.lexists(folder / ".git"):
                # Somebody else's, most often: git says how to allow it.
                said = top.stderr.decode(errors="replace").strip()
                raise UsageError(f"git refuses to work in {folder}.", said)
            if top.returncode != 0:
                raise UsageError(
                    f"{folder} is not in a git repository.",
                    "An update is a merge: git must know what you have changed.",
                    "git init && git add . && git commit -m 'The rendered plugin'",
                )
            return Project(folder, _answers.read(folder / _answers.FILE))
        if (folder / ".git").exists():
            break
    raise UsageError(
        f"{start} is no generated repository: there is no {_answers.FILE}.",
        "That file holds the answers and the template's commit; without it nothing can be updated.",
        f"If it was deleted, bring it back: git log --diff-filter=D -- {_answers.FILE} names the "
        "commit.",
    )


def require_clean(project: Project) -> str:
    """The full id of the repository's commit.

    Raises:
        UsageError: it has changes that no commit holds, no commit, or an unfinished merge.
    """
    head = _git.ask(project.root, "rev-parse", "--verify", "--quiet", "HEAD", accept=(0, 1, 128))
    if not head:
        raise UsageError(
            f"{project.root} has no commit yet.",
            todo="git add . && git commit -m 'The rendered plugin'",
        )
    if changed := _git.uncommitted(project.root):
        raise UsageError(
            f"There are changes that no commit holds ({len(changed)}): {_git.shown(changed)}",
            "An update merges into files; what was there before must be safe.",
            "Commit them, or put them away with git stash --include-untracked.",
        )
    merging = _git.ask(project.root, "rev-parse", "--git-path", "MERGE_HEAD")
    if (project.root / merging).exists():
        raise UsageError(
            f"A merge is not finished in {project.root}.",
            "Undoing the update would undo the merge too.",
            "git commit, or git merge --abort",
        )
    return head
