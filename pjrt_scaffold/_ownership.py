"""Whose a file is, as changes to the trees before they are merged.

Three kinds of files, by path:

- the tool's: the generated folders and the answers file. Always as rendered: edits are undone.
- the owner's: `_skip_if_exists` of copier.yml. A file that is exactly as it was rendered follows
  the template; once it was changed or deleted, no update touches it.
- the template's: all others. Merged; where both sides changed a line, the owner decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pjrt_scaffold import _answers, _gaps, _generated
from pjrt_scaffold._merge import Scratch, Tree
from pjrt_scaffold.errors import UsageError

VENDOR = "csrc/vendor/"
_REFERENCE = "reference_cpu"


@dataclass(frozen=True)
class Sides:
    """The three sides of the merge.

    Attributes:
        base: what counts as the common ancestor.
        ours: the repository.
        theirs: what counts as the template's.
        healed: generated files that had been edited or deleted.
        taken_off: functions that go off the owner's list of gaps: the template listed them, and
            lists them no more.
    """

    base: Tree
    ours: Tree
    theirs: Tree
    healed: tuple[str, ...]
    taken_off: tuple[str, ...]


def settle(
    repository: Scratch,
    *,
    before: Tree,
    after: Tree,
    ours: Tree,
    is_owners: Callable[[str], bool],
    backends: tuple[object, object],
) -> Sides:
    """Decide what git is to merge.

    Args:
        repository: where the contents of the trees are.
        before: the template rendered as it was.
        after: the template rendered as it is to be.
        ours: the repository.
        is_owners: whether a path is the owner's from the first rendering on.
        backends: the answer `backend`, before and after.

    Raises:
        UsageError: the owner's sources need the reference backend, which would go.
    """
    keep_vendor = _keeps_vendor(repository, before, ours, backends)
    base, theirs = dict(before), dict(after)
    generated = _generated.folders([*before, *after])
    healed = []
    for path in before.keys() | after.keys():
        if path == _answers.FILE or _generated.is_in(path, generated):
            # What is here counts as the common ancestor, so that the template wins.
            _put(base, path, ours.get(path))
            if path != _answers.FILE and ours.get(path) != before.get(path):
                healed.append(path)
        elif is_owners(path):
            frozen = keep_vendor and path.startswith(VENDOR)
            if frozen or ours.get(path) != before.get(path):
                # The old rendering counts as the new one, so that the owner wins.
                _put(theirs, path, before.get(path))
    content, taken_off = _correct_list(repository, before, ours, after)
    if content is not None:
        base[_gaps.EXPECTED], theirs[_gaps.EXPECTED] = ours[_gaps.EXPECTED], content
    return Sides(base, ours, theirs, tuple(sorted(healed)), taken_off)


def _put(tree: Tree, path: str, value: str | None) -> None:
    if value is None:
        tree.pop(path, None)
    else:
        tree[path] = value


def _keeps_vendor(
    repository: Scratch, before: Tree, ours: Tree, backends: tuple[object, object]
) -> bool:
    """Whether csrc/vendor stays as a whole, files included that are as they were rendered.

    With another backend the folder is one thing: untouched, it becomes that backend's beginning; a
    folder that somebody worked in stays as it is.
    """
    paths = {path for path in (*before, *ours) if path.startswith(VENDOR)}
    touched = any(before.get(path) != ours.get(path) for path in paths)
    if backends[0] == backends[1] or not touched:
        return False
    if backends[0] == _REFERENCE:
        _require_independent(repository, ours)
    return True


def _require_independent(repository: Scratch, ours: Tree) -> None:
    """Raise UsageError when the owner's sources still need the reference backend."""
    using = [
        path
        for path, value in ours.items()
        if path.startswith(VENDOR)
        and not value.startswith("160000")  # a submodule: its files are no part of this repository
        and b'#include "reference/' in repository.read(value)
    ]
    if using:
        raise UsageError(
            f"These files still use the reference backend: {', '.join(sorted(using))}.",
            "With another backend csrc/reference goes, and they would not compile.",
            "Create your own driver in csrc/vendor/backend.cc first. A skeleton to begin with: "
            "pjrt-scaffold new ../skeleton --defaults -d backend=own",
        )


def _correct_list(
    repository: Scratch, before: Tree, ours: Tree, after: Tree
) -> tuple[str | None, tuple[str, ...]]:
    """Take off the list of gaps what the template listed and lists no more.

    It implements these functions by now, or the API version does not have them: the line would fail
    the tests. Whatever else the owner's list says stays, and above all its first line: up to which
    API version somebody has looked.

    Returns:
        The list, None when there is none; and the functions that went.
    """
    if any(_gaps.EXPECTED not in tree for tree in (before, ours, after)):
        return None, ()
    old, text, new = (
        repository.read(tree[_gaps.EXPECTED]).decode(errors="surrogateescape")
        for tree in (before, ours, after)
    )
    gone = set(_gaps.names(old.splitlines())) - set(_gaps.names(new.splitlines()))
    taken_off = tuple(name for name in _gaps.names(text.splitlines()) if name in gone)
    if taken_off:
        text = _gaps.without(text, taken_off)
    return repository.write(text.encode(errors="surrogateescape")), taken_off
