"""What a repository's C++ does not implement, held against its expected_unimplemented.txt.

Read from the sources, so that an update can say it at once; the C++ test
`expected_unimplemented_test` says it after a build, with the compiler's knowledge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pjrt_scaffold.registry.compare import NewFunction, new_function
from pjrt_scaffold.registry.model import Api, VersionNote

EXPECTED = "expected_unimplemented.txt"
LEVELS = ("load", "run", "common", "optional")
"""Requirement levels, the most needed first."""

LAYER, OVERRIDES = Path("csrc/plugin/layer.h"), Path("csrc/vendor/overrides.h")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# PJRT_LAYER(Event_Set); PJRT_OVERRIDE(Event_Set); void Event_Set(PJRT_Event_Set_Args* args);
_DECLARED = re.compile(r"\bPJRT_(?:LAYER|OVERRIDE)\((\w+)\)|\b(\w+)\s*\(\s*PJRT_\2_Args\b")
_REVIEWED = re.compile(r"# reviewed-through: 0\.(\d+)\s*")


@dataclass(frozen=True)
class Gaps:
    """The functions that answer with a generated default, and what the list says about them.

    Attributes:
        reviewed: the minor version of the list's first line; None when the list or the line is
            missing, which fails the repository's tests.
        implemented: listed functions that are no gaps, because somebody implemented them or
            because their default is right without the feature: take them off the list.
        unknown: listed names that are no function of this API version: take them off too.
        unlisted: gaps of reviewed versions that are not listed: list or implement them.
        newer: functions newer than the review that answer with a default, also a benign one.
        overridden: the functions that the owner implements in place of the template.
    """

    reviewed: int | None
    implemented: tuple[str, ...]
    unknown: tuple[str, ...]
    unlisted: tuple[NewFunction, ...]
    newer: tuple[NewFunction, ...]
    overridden: frozenset[str]

    @property
    def fail_tests(self) -> bool:
        """Whether the repository's tests fail until the list is corrected."""
        return self.reviewed is None or bool(self.implemented or self.unknown or self.unlisted)


def find(root: Path, api: Api) -> Gaps | None:
    """Compare a repository with its API version.

    Returns:
        None when the repository has no plugin layer of ours.
    """
    if not (root / LAYER).is_file():
        return None
    overridden = declared(root / OVERRIDES)
    own = declared(root / LAYER) | overridden
    reviewed, listed = read_expected(root / EXPECTED)
    functions = [new_function(function, slot) for slot, function in enumerate(api.functions)]
    known = {function.name for function in functions}
    defaults = [function for function in functions if function.name not in own]
    gaps = {function.name for function in defaults if function.is_gap}
    since = -1 if reviewed is None else reviewed
    return Gaps(
        reviewed=reviewed,
        implemented=tuple(name for name in listed if name in known - gaps),
        unknown=tuple(name for name in listed if name not in known),
        unlisted=by_need(
            f for f in defaults if f.name in gaps and f.since <= since and f.name not in listed
        ),
        newer=by_need(f for f in defaults if f.since > since and f.name not in listed),
        overridden=overridden,
    )


def by_need(functions: Iterable[NewFunction]) -> tuple[NewFunction, ...]:
    """The most needed first, and the older ones first among equals."""
    order = {level: place for place, level in enumerate(LEVELS)}
    return tuple(sorted(functions, key=lambda f: (order.get(f.level, 0), f.since, f.slot)))


def declared(header: Path) -> frozenset[str]:
    """The API functions that a header of plugin code declares: PJRT_Event_Set."""
    if not header.is_file():
        return frozenset()
    text = _COMMENT.sub("", header.read_text(encoding="utf-8", errors="replace"))
    return frozenset(f"PJRT_{m[1] or m[2]}" for m in _DECLARED.finditer(text))


def concern(notes: Iterable[VersionNote], api: Api, functions: Iterable[str]) -> list[VersionNote]:
    """The notes about functions, or about anything that their arguments lead to.

    Args:
        notes: changes of meaning.
        api: the version in which names are looked up.
        functions: names of functions, PJRT_Event_Set.
    """
    reached = set(functions)
    waiting = [f.args for f in api.functions if f.name in reached]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        if (struct := api.structs.get(name)) is not None:
            waiting += [field.type.base for field in struct.fields(api.minor)]
    return [note for note in notes if any(name.split(".")[0] in reached for name in note.about)]


def without(text: str, functions: Iterable[str]) -> str:
    """A list of gaps without some functions; a reason that has none left goes with them."""
    gone = set(functions)
    paragraphs = []
    for paragraph in text.split("\n\n"):
        lines = paragraph.split("\n")
        left = [line for line in lines if not gone & set(names([line]))]
        if names(left) or not names(lines):
            paragraphs.append("\n".join(left))
    return "\n\n".join(paragraphs).rstrip("\n") + "\n"


def read_expected(path: Path) -> tuple[int | None, list[str]]:
    """The version of the review line, and the listed functions."""
    if not path.is_file():
        return None, []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    first = _REVIEWED.fullmatch(lines[0]) if lines else None
    return int(first[1]) if first else None, names(lines)


def names(lines: Iterable[str]) -> list[str]:
    """The functions that lines of the list name; the rest of a line is a comment."""
    found = (re.split(r"[\s#]", line, maxsplit=1)[0] for line in lines)
    return [name for name in found if name]
