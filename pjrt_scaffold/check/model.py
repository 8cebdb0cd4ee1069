"""What a rule is, what a check may say, and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pjrt_scaffold.check.plugin import Plugin

Verdict = Literal["pass", "fail", "not applicable"]
Check = Callable[["Plugin"], Iterator[str]]
"""Yields a sentence for each finding; none means that the plugin keeps the rule."""

CHECKS: dict[str, Check] = {}
"""By the rule's id; filled when the modules of the families are imported."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that a plugin must keep."""

    id: str  # "PJ101"
    family: str  # "load"
    title: str  # what holds for a good plugin: "The library loads"
    why: str
    breaks: str  # what goes wrong, and where, when it does not hold
    mend: str
    needs: tuple[str, ...] = ()  # rules without which this one cannot be judged


@dataclass(frozen=True, slots=True)
class Result:
    """What a rule's check found."""

    rule: Rule
    verdict: Verdict
    findings: tuple[str, ...] = ()
    why: str = ""  # it is not applicable
    seconds: float = 0.0


class NotApplicable(Exception):  # noqa: N818 it is no error
    """A check cannot say anything about this plugin; the text says why."""


def check(rule: str) -> Callable[[Check], Check]:
    """Mark a function as the check of the rule with that id."""

    def mark(function: Check) -> Check:
        if rule in CHECKS:
            raise ValueError(f"{rule} has two checks")
        CHECKS[rule] = function
        return function

    return mark
