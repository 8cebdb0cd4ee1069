"""Rendering a new repository: into a folder beside the target first, then moved in one go."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pjrt_scaffold import _answers, _copier, _git, _history, _source
from pjrt_scaffold.errors import MissingError, UsageError


@dataclass(frozen=True)
class Rendering:
    """What `new` made.

    Attributes:
        path: the repository, absolute.
        files: its files, relative to path and sorted.
        source: what was rendered, and whether it can be found again.
        answers: every stored answer by question, as copier parsed it.
    """

    path: Path
    files: tuple[Path, ...]
    source: _source.Source
    answers: Mapping[str, Any]


def render(
    dest: Path, source: _source.Source, data: Mapping[str, str], *, defaults: bool
) -> Rendering:
    """Render the template into `dest`, which must be missing or empty.

    Args:
        dest: where the repository goes; its missing parents are made.
        source: the template, from `_source.resolve`.
        data: answers by question name, as text.
        defaults: take the default for every question not in `data` instead of asking.

    Raises:
        ScaffoldError: an answer is not valid, the folder is taken or git failed. Nothing was
            written then.
    """
    if source.ref is not None:
        _git.require_git()
    dest = dest.expanduser().absolute()
    _require_free(dest)
    if source.folder is not None:
        questions = _source.question_names(_source.load_questions(source.folder))
        _copier.require_known(data, questions)
    try:
        with _beside(dest) as tree:
            copied = _copy(source, tree, data, defaults=defaults)
            _copier.require_known(data, copied.questions)
            _record(tree / _answers.FILE, source)
            files = tuple(sorted(p.relative_to(tree) for p in tree.rglob("*") if p.is_file()))
            _move(tree, dest)
    except OSError as error:
        raise MissingError(
            f"{dest} could not be written: {error.strerror or error}.",
            todo="Choose a folder that you may write to, on a disk with room.",
        ) from error
    return Rendering(dest, files, source, copied.answers)


def _copy(
    source: _source.Source, tree: Path, data: Mapping[str, str], *, defaults: bool
) -> _copier.Copied:
    """Render the files of the commit alone: where copier finds git, it asks it of each file.

    What no commit holds is left to copier, which commits it in a clone of its own.
    """
    if source.ref is None or source.commit is not None:
        return _copier.copy(source.location, tree, data, ref=source.ref, defaults=defaults)
    with _committed(source, source.ref) as (folder, commit):
        copied = _copier.copy(str(folder), tree, data, defaults=defaults)
    values = {"_commit": commit, "_src_path": source.location}
    _answers.rewrite(tree / _answers.FILE, values)
    return copied


@contextmanager
def _committed(source: _source.Source, ref: str) -> Iterator[tuple[Path, str]]:
    """The template's files as committed, and the commit's name: in the checkout or extracted.

    Writing hundreds of files to read them once takes a third of the time of a rendering.
    """
    checkout = source.folder
    if checkout is not None and ref == "HEAD" and _git.is_as_committed(checkout, "template"):
        yield checkout, _git.describe(checkout)
        return
    location = _source.locate(source.location, Path.cwd())
    with (
        _history.opened(location, ref) as history,
        tempfile.TemporaryDirectory(prefix="pjrt-scaffold-") as home,
    ):
        commit = history.commit(ref, "--vcs-ref")
        template = history.extract(commit, Path(home, "template"))
        yield template.folder, template.name


def _require_free(dest: Path) -> None:
    if dest.is_dir() and any(dest.iterdir()):
        raise UsageError(
            f"{dest} is not empty.",
            "A new repository is only rendered into a new or an empty folder.",
            "Choose another folder, or empty this one.",
        )
    if (dest.exists() or dest.is_symlink()) and not dest.is_dir():
        raise UsageError(f"{dest} is a file.", todo="Choose a new or an empty folder.")
    for parent in dest.parents:
        if parent.is_dir():
            break
        if parent.exists():
            raise UsageError(
                f"{dest} cannot be made: {parent} is a file.", todo="Choose another folder."
            )


@contextmanager
def _beside(dest: Path) -> Iterator[Path]:
    """A scratch folder on the same file system as `dest`, removed whatever happens."""
    home = next(parent for parent in dest.parents if parent.is_dir())
    scratch = Path(tempfile.mkdtemp(prefix=f".{dest.name or 'new'}-", dir=home))
    try:
        yield scratch / "tree"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _move(tree: Path, dest: Path) -> None:
    """Put the finished tree in place. An empty folder is filled, so that a shell in it stays."""
    if not dest.exists():
        dest.parent.mkdir(parents=True, exist_ok=True)
        tree.rename(dest)
        return
    for entry in tree.iterdir():
        entry.rename(dest / entry.name)


def _record(answers_file: Path, source: _source.Source) -> None:
    """Correct what copier recorded where it would lead nowhere."""
    if not source.updatable:
        _answers.rewrite(answers_file, {"_commit": source.commit, "_src_path": None})
    elif source.commit is not None:
        _answers.rewrite(answers_file, {"_commit": source.commit})
