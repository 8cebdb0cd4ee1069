"""Bringing a generated repository to another template, API version or answer.

The template is rendered twice, as it was and as it is to be, and git merges the difference into the
repository, with regard to whose each file is (see _ownership).
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.version import Version

import pjrt_scaffold
from pjrt_scaffold import (
    _answers,
    _copier,
    _gaps,
    _git,
    _history,
    _merge,
    _ownership,
    _project,
    _source,
)
from pjrt_scaffold._project import Project
from pjrt_scaffold.errors import UsageError
from pjrt_scaffold.registry.compare import Comparison, compare
from pjrt_scaffold.registry.load import load, read
from pjrt_scaffold.registry.model import VersionNote
from pjrt_scaffold.registry.versions import releases, resolve

if sys.platform != "win32":
    import fcntl

LATEST = "latest"
"""As an API version: the one that new repositories get, which a released jaxlib speaks."""

_API, _BACKEND = "pjrt_api_version", "backend"


@dataclass(frozen=True)
class Wish:
    """What the user wants to have changed; None leaves it as it is.

    Attributes:
        source: a git URL or folder of the template instead of the recorded one.
        template: a commit, tag or branch; None goes to the newest release, see `History.newest`.
        api: an API version 0.NN, or LATEST, which never goes back.
        jaxlib: a jaxlib release, for the API version that it speaks.
        data: answers by question name, as text.
    """

    source: str | None = None
    template: str | None = None
    api: str | None = None
    jaxlib: str | None = None
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class State:
    """What a repository is rendered from."""

    template: str  # as answers files name commits: "v1.2.3"
    api: str  # "0.112"


@dataclass(frozen=True)
class Update:
    """What an update did, and what it leaves to the owner.

    Attributes:
        old: before.
        new: now.
        merge: the files.
        healed: generated files that had been edited or deleted.
        new_answers: the defaults taken for questions that the repository had no answer to.
        comparison: what the new API version brought; None when it is not newer.
        taken_off: functions that went off the owner's list of gaps, see `_ownership.Sides`.
        gaps: what the C++ does not implement; None for a repository without our plugin layer.
        notes: the changes of meaning that concern functions which the owner implements.
    """

    old: State
    new: State
    merge: _merge.Merge
    healed: tuple[str, ...]
    new_answers: Mapping[str, Any]
    taken_off: tuple[str, ...]
    comparison: Comparison | None
    gaps: _gaps.Gaps | None
    notes: tuple[VersionNote, ...]

    @property
    def needs_care(self) -> bool:
        """Whether the repository is not whole: unmerged files, or a list that fails its tests."""
        return bool(self.merge.unmerged) or (self.gaps is not None and self.gaps.fail_tests)


def update(
    project: Project,
    wish: Wish,
    say: Callable[[str], None],
    hold: Callable[[], None] = lambda: None,
) -> Update:
    """Update a repository in place.

    Args:
        project: the repository; it must have no uncommitted changes.
        wish: what is to change.
        say: told what is going on, a line at a time.
        hold: called before the first file is written; from then on nothing should interrupt.

    Raises:
        ScaffoldError: it cannot be done. The repository is as it was before.
    """
    head = _project.require_clean(project)
    location = project.location(wish.source)
    say(f"Fetching the template {location} ...")
    with (
        _history.clone(location) as history,
        tempfile.TemporaryDirectory(prefix="pjrt-scaffold-") as home,
    ):
        old, new = _templates(project, history, wish, Path(home))
        _require_package(new)
        changes = _changes(project, new, wish)
        renderings = _render(project, old, new, changes, Path(home), say)
        recorded = wish.source is None and project.recorded.get("_src_path")
        values = {"_commit": new.name, "_src_path": str(recorded or location)}
        _answers.rewrite(renderings.after / _answers.FILE, values)
        with _merge.scratch(project.root) as repository:
            say("Merging ...")
            return _finish(project, repository, head, renderings, old, new, hold)


def _templates(
    project: Project, history: _history.History, wish: Wish, home: Path
) -> tuple[_history.Template, _history.Template]:
    """The template from which the repository was rendered, and the one to go to."""
    recorded = project.commit
    before = find_recorded(project, history)
    target = history.commit(wish.template) if wish.template else history.newest(before)
    folder = Path(history.location)
    if (
        _git.is_checkout(folder)
        and target == history.find("HEAD")
        and wish.template in (None, "HEAD")
    ):
        _source.require_committed(folder, "Commit them, or name a commit: --template REF.")
    old = history.extract(before, home / "template-before", recorded)
    if target == before:
        return old, old
    return old, history.extract(target, home / "template-after")


def find_recorded(project: Project, history: _history.History) -> str:
    """The full id of the commit from which a repository was rendered.

    Raises:
        UsageError: the template's history does not hold it.
    """
    if (found := history.find(project.commit)) is not None:
        return found
    raise UsageError(
        f"The template {history.location} has no commit {project.commit}.",
        f"The repository was rendered from it, says {_answers.FILE}; without it, what you changed "
        "cannot be told from what the template changed.",
        "Is it another template, a shallow clone, or was its history written anew? --source names "
        "the right one.",
    )


def _require_package(template: _history.Template) -> None:
    needed, installed = template.version, pjrt_scaffold.__version__
    if needed is not None and Version(installed) < Version(needed):
        raise UsageError(
            f"The template {template.name} needs pjrt-scaffold {needed}; this is {installed}.",
            "An older package may not know what the template relies on.",
            "Install the newer one (pip install --upgrade pjrt-scaffold), or choose an older "
            "--template.",
        )


def _changes(project: Project, template: _history.Template, wish: Wish) -> dict[str, str]:
    """The answers that are to be other ones."""
    changes = dict(wish.data)
    questions = _source.question_names(_source.load_questions(template.folder))
    _copier.require_known(changes, questions)
    ways = [way for way in (wish.api, wish.jaxlib, changes.get(_API)) if way is not None]
    if len(ways) > 1:
        raise UsageError(
            f"The API version is given {len(ways)} times: {', '.join(ways)}.",
            todo=f"Give one of --api, --jaxlib and -d {_API}=0.NN.",
        )
    if ways:
        recorded = str(project.answers.get(_API, ""))
        changes[_API] = _api_version(template, wish, ways[0], recorded)
    return changes


def _api_version(template: _history.Template, wish: Wish, text: str, recorded: str) -> str:
    index = read("index.json", template.registry)
    minors = tuple(sorted(_minor(version) for version in index["versions"]))
    if wish.jaxlib is not None:
        text = f"jaxlib=={text.removeprefix('jaxlib==')}"
    elif text == LATEST:
        return max(str(index["default"]), recorded or "0.0", key=_minor)
    return f"0.{resolve(text, minors, releases(template.registry))}"


def _minor(version: str) -> int:
    return int(version.split(".")[1])


@dataclass(frozen=True)
class _Renderings:
    """The template rendered as it was and as it is to be; the same folder when nothing differs."""

    before: Path
    after: Path
    answers: Mapping[str, Any]
    old_answers: Mapping[str, Any]
    is_owners: Callable[[str], bool]


def _render(
    project: Project,
    old: _history.Template,
    new: _history.Template,
    changes: Mapping[str, str],
    home: Path,
    say: Callable[[str], None],
) -> _Renderings:
    before, after = home / "before", home / "after"
    say(f"Rendering {old.name} as it was ...")
    try:
        first = _copier.copy(str(old.folder), before, project.answers)
    except UsageError as error:
        todo = f"It stands in {_answers.FILE}: was that edited? Correct it there, and commit."
        raise UsageError(error.what, error.why, todo) from error
    if old is new and not changes:
        return _Renderings(before, before, first.answers, first.answers, first.is_owners)
    say(f"Rendering {new.name} as it is to be ...")
    data = {**project.answers, **changes}
    second = _copier.copy(str(new.folder), after, data)
    return _Renderings(
        before,
        after,
        second.answers,
        first.answers,
        lambda path: first.is_owners(path) or second.is_owners(path),
    )


def _finish(
    project: Project,
    repository: _merge.Scratch,
    head: str,
    renderings: _Renderings,
    old: _history.Template,
    new: _history.Template,
    hold: Callable[[], None],
) -> Update:
    sides = _ownership.settle(
        repository,
        before=repository.store(renderings.before),
        after=repository.store(renderings.after),
        ours=repository.tree(head),
        is_owners=renderings.is_owners,
        backends=(renderings.old_answers.get(_BACKEND), renderings.answers.get(_BACKEND)),
    )
    merge = repository.merge(sides.base, sides.ours, sides.theirs)
    states = (
        State(old.name, str(renderings.old_answers.get(_API, ""))),
        State(new.name, str(renderings.answers.get(_API, ""))),
    )
    registry = load(new.registry)
    first, last = (_minor(state.api) for state in states)
    is_newer = first < last and first in registry.minors
    comparison = compare(registry, first, last) if is_newer else None
    api = registry.at(last)
    with _alone(project.root):
        if _project.require_clean(project) != head:
            raise UsageError(
                "Something was committed while the update ran.", todo="Run the update again."
            )
        hold()
        merge.apply()
    known, gaps = project.answers, _gaps.find(project.root, api)
    news = comparison.notes if comparison is not None else ()
    overridden = gaps.overridden if gaps is not None else ()
    return Update(
        *states,
        merge=merge,
        healed=sides.healed,
        new_answers={n: v for n, v in renderings.answers.items() if n not in known},
        taken_off=sides.taken_off,
        comparison=comparison,
        gaps=gaps,
        notes=tuple(_gaps.concern(news, api, overridden)),
    )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One update at a time writes; the next finds what it wrote. Windows locks no folders."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
