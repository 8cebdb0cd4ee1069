"""Two plugins beside each other, test by test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pjrt_scaffold.jax_tests.model import BAD, Result, Run


@dataclass(frozen=True, slots=True)
class FileDifference:
    """How two runs of one file differ.

    Attributes:
        file: its name.
        passed: how many tests the one and the other passed.
        behind: tests that only the other passed, as they ended here.
        ahead: tests that only this one passed, as they ended there.
    """

    file: str
    passed: tuple[int, int]
    behind: tuple[Result, ...]
    ahead: tuple[Result, ...]


def compare(run: Run, other: Run, files: Iterable[str] | None = None) -> list[FileDifference]:
    """Compare the files that both ran; `files` are the ones to compare, else all of them."""
    differences = []
    for name in sorted(set(run.files) & set(other.files) & set(files or run.files)):
        ours = {result.test: result for result in run.files[name].results}
        theirs = {result.test: result for result in other.files[name].results}
        differences.append(
            FileDifference(
                name,
                (_passed(ours.values()), _passed(theirs.values())),
                _only(theirs, ours),
                _only(ours, theirs),
            )
        )
    return differences


def _passed(results: Iterable[Result]) -> int:
    return sum(result.outcome == "passed" for result in results)


def _only(passing: dict[str, Result], failing: dict[str, Result]) -> tuple[Result, ...]:
    """What passes in the one and is bad, or missing, in the other. A skip is no failure."""
    found = []
    for test, result in passing.items():
        if result.outcome != "passed":
            continue
        there = failing.get(test, Result(test, "failed", message="the test did not run"))
        if there.outcome in BAD:
            found.append(there)
    return tuple(found)
