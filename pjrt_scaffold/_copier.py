"""Copier, the one renderer: called quietly, its errors told in terms of what the user did."""

from __future__ import annotations

import re
import subprocess
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pjrt_scaffold import _git, _shortcuts, _source
from pjrt_scaffold.errors import MissingError, ScaffoldError, UsageError


@dataclass(frozen=True)
class Copied:
    """What copier did.

    Attributes:
        answers: every answer by question, in the order of the questions, as copier parsed it.
        questions: the names of the template's questions.
        is_owners: whether a path, relative to the rendering, belongs to the repository's owner
            from the first rendering on (`_skip_if_exists` of copier.yml).
    """

    answers: Mapping[str, Any]
    questions: Sequence[str]
    is_owners: Callable[[str], bool]


def copy(
    location: str,
    tree: Path,
    data: Mapping[str, Any],
    *,
    ref: str | None = None,
    defaults: bool = True,
) -> Copied:
    """Render a template.

    Args:
        location: a git URL or a folder.
        tree: where to; missing or empty.
        data: answers by question name; text is parsed as the question's type.
        ref: the commit, tag or branch; None for a folder without a git history.
        defaults: take the default for every question not in `data` instead of asking.

    Raises:
        ScaffoldError: an answer is not valid, or git failed. Part of the tree may be there.
    """
    import copier
    from copier.errors import CopierAnswersInterrupt, CopierError
    from jinja2 import TemplateError
    from plumbum import ProcessExecutionError, local

    # Copier commits uncommitted changes in a clone of its own. Where there is no history, it must
    # not find git: it would ask for the mode of each file, which takes a third of the time.
    environment = _git.SOMEBODY if ref is not None else {"PATH": ""}
    try:
        with (
            local.env(**environment),
            warnings.catch_warnings(),
            _shortcuts.taken(),
        ):
            warnings.simplefilter("ignore")  # uncommitted changes were spoken of already
            worker = copier.run_copy(
                location, tree, data=dict(data), vcs_ref=ref, defaults=defaults, quiet=True
            )
    except CopierAnswersInterrupt as error:
        raise UsageError("Stopped by the keyboard; nothing was written.") from error
    except (ProcessExecutionError, subprocess.CalledProcessError) as error:
        raise fetch_error(location, ref, str(error.stderr or error)) from error
    except (CopierError, ValueError, TemplateError) as error:
        raise _explain(error, data) from error
    questions = _source.question_names(worker.template.questions_data)
    answers = worker.answers.combined
    match_skip = worker.match_skip
    return Copied(
        {name: answers[name] for name in questions if name in answers},
        questions,
        lambda path: match_skip(Path(path)),
    )


def require_known(data: Mapping[str, Any], questions: Sequence[str]) -> None:
    """Raise UsageError when `data` answers something that is no question."""
    for name in data:
        if name in questions:
            continue
        close = get_close_matches(name, questions, n=1)
        raise UsageError(
            f"There is no question '{name}'." + (f" Did you mean {close[0]}?" if close else ""),
            f"The questions are: {', '.join(questions)}.",
            "`pjrt-scaffold new --help` shows how answers are given.",
        )


def fetch_error(location: str, ref: str | None, stderr: str) -> ScaffoldError:
    """The error for a template that git could not get."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    at = f" at {ref}" if ref else ""
    return MissingError(
        f"git could not fetch the template {location}{at}.",
        "\n".join(lines[-3:]),
        f"Check the address, the network{' and --vcs-ref' if ref else ''}.",
    )


def _explain(error: Exception, data: Mapping[str, Any]) -> ScaffoldError:
    """Turn what copier raises into what the user did and what would be accepted."""
    text = str(error)
    if match := re.match(r"Validation error for question '(\w+)': (.*)", text, re.DOTALL):
        name, reason = match.groups()
        return _bad_answer(name, data, " ".join(reason.split()))
    if match := re.match(r"Invalid choice for '(\w+)': .* is not in \[(.*)\]", text, re.DOTALL):
        name, valid = match.groups()
        return _bad_answer(name, data, f"Valid values: {valid.replace(chr(39), '')}")
    # An answer of the wrong type: copier does not say which, but the message quotes its value.
    cause = f"{text} {error.__cause__ or ''}"
    for name, value in data.items():
        if isinstance(value, str) and repr(value) in cause:
            return _bad_answer(name, data, "Give a whole number")
    return UsageError("The template could not be rendered.", text or repr(error))


def _bad_answer(name: str, data: Mapping[str, Any], reason: str) -> UsageError:
    given = f"{name}={data[name]}" if name in data else f"the default of {name}"
    return UsageError(f"{given} is not valid.", reason)
