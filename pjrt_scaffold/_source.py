"""Where the template comes from, and what a rendering records about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import pjrt_scaffold
from pjrt_scaffold import _git, _place
from pjrt_scaffold.errors import UsageError

PUBLIC_ADDRESS = ""
"""The template's public git address; empty until there is one. A wheel renders from it."""


@dataclass(frozen=True)
class Source:
    """A template that can be rendered.

    Attributes:
        location: what copier is given: an absolute folder or a git URL.
        ref: the commit, tag or branch, or None where there is no git history (a bundle).
        updatable: whether `_src_path` and `_commit` in the answers file will lead back here.
        commit: what to record instead of copier's own commit, where that would not exist later.
    """

    location: str
    ref: str | None
    updatable: bool
    commit: str | None = None

    @property
    def folder(self) -> Path | None:
        """The template's root, when it is a folder of this machine."""
        path = Path(self.location)
        return path if path.is_dir() else None


def resolve(source: str | None, ref: str | None, allow_dirty: bool) -> Source:
    """Decide what `new` renders.

    Args:
        source: a git URL or folder given by the user, or None for the package's own template.
        ref: a commit, tag or branch given by the user, or None.
        allow_dirty: whether uncommitted changes of a local checkout may be rendered.

    Raises:
        UsageError: there is no such folder, the checkout has uncommitted changes, or a ref was
            given without a history.
    """
    if source is None and _place.IS_INSTALLED and PUBLIC_ADDRESS:
        source = PUBLIC_ADDRESS
    if source is None:
        folder: Path | None = _place.TEMPLATE
    else:
        given = Path(source).expanduser()
        folder = given.resolve() if given.exists() else None
    if folder is None:
        assert source is not None
        if ":" not in source:
            raise UsageError(
                f"There is no template at {source}.",
                todo="Give --source the git URL, or a checkout's root folder.",
            )
        release = f"v{pjrt_scaffold.__version__}" if _place.IS_INSTALLED else "HEAD"
        return Source(source, ref or release, updatable=True)
    if not (folder / "copier.yml").is_file():
        raise UsageError(
            f"{folder} is not the template: it has no copier.yml.",
            todo="Give --source the git URL, or a checkout's root folder.",
        )
    if not _git.is_checkout(folder):
        if ref is not None:
            raise UsageError(
                f"--vcs-ref {ref} cannot be found: {folder} is not a git checkout.",
                todo="Give --source the template's git URL or a checkout of it.",
            )
        version = f"v{pjrt_scaffold.__version__}" if folder == _place.TEMPLATE else None
        return Source(str(folder), None, updatable=False, commit=version)
    return _checkout(folder, ref or "HEAD", allow_dirty)


def _checkout(folder: Path, ref: str, allow_dirty: bool) -> Source:
    """A checkout at a ref. Only at HEAD does copier take uncommitted changes along."""
    _git.require_git()
    if ref == "HEAD" and not allow_dirty:
        require_committed(folder, "Commit them, or try them out with --allow-dirty.")
    # With changes copier makes a commit in a clone that it throws away; record one that stays.
    dirty = ref == "HEAD" and allow_dirty and bool(_git.uncommitted(folder))
    commit = _git.describe(folder) if dirty else None
    return Source(str(folder), ref, updatable=True, commit=commit)


def locate(text: str, base: Path) -> str:
    """What git is given to clone a template: a URL, or an absolute folder.

    Args:
        text: as users and answers files write it; copier's short forms `gh:` and `gl:` too.
        base: the folder that a relative path starts from.
    """
    for short, host in (("gh:", "https://github.com/"), ("gl:", "https://gitlab.com/")):
        if text.startswith(short):
            return f"{host}{text.removeprefix(short).strip('/').removesuffix('.git')}.git"
    folder = base / Path(text).expanduser()
    return str(folder.resolve()) if folder.exists() else text.removeprefix("git+")


def require_committed(folder: Path, todo: str) -> None:
    """Raise UsageError when a checkout has changes: what is rendered must be in its history.

    Args:
        folder: the checkout's root.
        todo: what the user may do about it.
    """
    if changed := _git.uncommitted(folder):
        raise UsageError(
            f"The template in {folder} has uncommitted changes ({len(changed)}): "
            f"{_git.shown(changed)}",
            "A repository rendered from them could not be updated: no commit holds them.",
            todo,
        )


def question_names(questions: Mapping[str, Any]) -> list[str]:
    """The questions a user can answer, in the order in which they are asked.

    Args:
        questions: the content of copier.yml, or copier's own view of it.
    """
    return [
        name
        for name, question in questions.items()
        if not name.startswith("_")
        and not (isinstance(question, dict) and question.get("when") is False)
    ]


def load_questions(folder: Path) -> dict[str, Any]:
    """Read copier.yml of a template folder."""
    content = yaml.safe_load((folder / "copier.yml").read_text(encoding="utf-8"))
    return {str(name): value for name, value in content.items()}
