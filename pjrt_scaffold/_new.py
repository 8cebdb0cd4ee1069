"""Rendering a new repository: into a folder beside the target first, then moved in one go."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pjrt_scaffold import _answers, _git, _source
from pjrt_scaffold.errors import MissingError, ScaffoldError, UsageError


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
    _git.require_git()
    dest = dest.expanduser().absolute()
    _require_free(dest)
    if source.folder is not None:
        _require_known(data, _source.question_names(_source.load_questions(source.folder)))
    try:
        with _beside(dest) as tree:
            answers, questions = _copy(tree, source, data, defaults)
            _require_known(data, questions)
            _record(tree / _answers.FILE, source)
            files = tuple(sorted(p.relative_to(tree) for p in tree.rglob("*") if p.is_file()))
            _move(tree, dest)
    except OSError as error:
        raise MissingError(
            f"{dest} could not be written: {error.strerror or error}.",
            todo="Choose a folder that you may write to, on a disk with room.",
        ) from error
    return Rendering(dest, files, source, {n: answers[n] for n in questions if n in answers})


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


def _require_known(data: Mapping[str, str], questions: Sequence[str]) -> None:
    for name in data:
        if name in questions:
            continue
        close = get_close_matches(name, questions, n=1)
        raise UsageError(
            f"There is no question '{name}'." + (f" Did you mean {close[0]}?" if close else ""),
            f"The questions are: {', '.join(questions)}.",
            "`pjrt-scaffold new --help` shows how answers are given.",
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


def _copy(
    tree: Path, source: _source.Source, data: Mapping[str, str], defaults: bool
) -> tuple[dict[str, Any], list[str]]:
    """Run copier. Returns the answers and the names of the template's questions."""
    import copier
    from copier.errors import CopierAnswersInterrupt, CopierError
    from plumbum import ProcessExecutionError, local

    # Copier commits uncommitted changes in a clone of its own; git wants a name for that.
    somebody = {
        f"GIT_{who}_{what}": "pjrt-scaffold"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    try:
        with local.env(**somebody), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # uncommitted changes were spoken of already
            worker = copier.run_copy(
                source.location,
                tree,
                data=dict(data),
                vcs_ref=source.ref,
                defaults=defaults,
                quiet=True,
            )
    except CopierAnswersInterrupt as error:
        raise UsageError("Stopped by the keyboard; nothing was written.") from error
    except (ProcessExecutionError, subprocess.CalledProcessError) as error:
        raise _git_failure(source, str(error.stderr or error)) from error
    except (CopierError, ValueError) as error:
        raise _explain(error, source, data) from error
    return dict(worker.answers.combined), _source.question_names(worker.template.questions_data)


def _git_failure(source: _source.Source, stderr: str) -> ScaffoldError:
    lines = [line for line in stderr.splitlines() if line.strip()]
    return MissingError(
        f"git could not fetch the template {source.location} at {source.ref}.",
        "\n".join(lines[-3:]),
        "Check the address, the network and --vcs-ref.",
    )


def _explain(error: Exception, source: _source.Source, data: Mapping[str, str]) -> ScaffoldError:
    """Turn what copier raises into what the user did and what would be accepted."""
    text = str(error)
    if match := re.match(r"Validation error for question '(\w+)': (.*)", text, re.DOTALL):
        name, reason = match.groups()
        return _bad_answer(name, data, " ".join(reason.split()))
    if match := re.match(r"Invalid choice for '(\w+)': .* is not in \[(.*)\]", text, re.DOTALL):
        name, valid = match.groups()
        return _bad_answer(name, data, f"Valid values: {valid.replace(chr(39), '')}")
    if match := re.match(r"Unknown revision: (.*)", text):
        return UsageError(
            f"The template {source.location} has no commit, tag or branch {source.ref}.",
            todo="Choose another --vcs-ref, for example HEAD.",
        )
    if "must be a directory" in text:
        return UsageError(
            f"There is no template at {source.location}.",
            todo="Give --source the git URL, or a checkout's root folder.",
        )
    # An answer of the wrong type: copier does not say which, but the message quotes its value.
    cause = f"{text} {error.__cause__ or ''}"
    for name, value in data.items():
        if repr(value) in cause:
            return _bad_answer(name, data, "Give a whole number")
    return UsageError("The template could not be rendered.", text or repr(error))


def _bad_answer(name: str, data: Mapping[str, str], reason: str) -> UsageError:
    given = f"{name}={data[name]}" if name in data else f"the default of {name}"
    return UsageError(f"{given} is not valid.", reason)


def _record(answers_file: Path, source: _source.Source) -> None:
    """Correct what copier recorded where it would lead nowhere."""
    if not source.updatable:
        _answers.rewrite(answers_file, {"_commit": source.commit, "_src_path": None})
    elif source.commit is not None:
        _answers.rewrite(answers_file, {"_commit": source.commit})
