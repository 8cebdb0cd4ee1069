"""What ends a command early: one exception type, one exit status per cause.

Every error has three parts: what happened (with the value seen), why or what is accepted, and what
to do next. The command line prints the parts; nothing below it prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit status of every command."""

    GOOD = 0
    FINDINGS = 1  # the command ran and found something wrong with what it looked at
    USAGE = 2  # wrong arguments, or the environment lacks something


@dataclass
class ScaffoldError(Exception):
    """The command cannot do what was asked; nothing was written."""

    what: str
    why: str = ""
    todo: str = ""

    status = ExitStatus.USAGE

    def __str__(self) -> str:
        return "\n".join(part for part in (self.what, self.why, self.todo) if part)


class UsageError(ScaffoldError):
    """The arguments or answers are wrong."""


class MissingError(ScaffoldError):
    """A tool, a file or a permission is missing."""
