"""The one object that prints: results go to stdout, talk goes to stderr."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from pjrt_scaffold.errors import ScaffoldError

ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""The signals by which users and machines end a command; Windows has no SIGHUP."""


@dataclass(frozen=True)
class Terminal:
    """Where a command's output goes.

    A script that pipes stdout gets the result and nothing else; a person sees both streams.
    """

    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)

    def result(self, text: str) -> None:
        """Print what the command was asked for."""
        encoding = self.out.encoding or "utf-8"
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=self.out)

    def json(self, data: Any) -> None:
        """Print the result as JSON, keys in the order given."""
        text = json.dumps(data, indent=2, ensure_ascii=False)
        try:
            text.encode(self.out.encoding or "utf-8")
        except UnicodeEncodeError:  # a poor locale, or a file name that is no Unicode
            text = json.dumps(data, indent=2)
        print(text, file=self.out)

    def say(self, text: str) -> None:
        """Tell a person something that is not the result."""
        print(text, file=self.err)

    def error(self, error: ScaffoldError) -> None:
        """Print an error in its three parts."""
        print(f"pjrt-scaffold: {error.what}", file=self.err)
        for part in (error.why, error.todo):
            for line in part.splitlines():
                print(f"  {line}" if line else "", file=self.err)


def columns(rows: Sequence[Sequence[str]], gap: str = "  ") -> str:
    """Lay rows out as a table; the last column is not padded."""
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    return "\n".join(
        gap.join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    )


def hold_signals() -> None:
    """Until the process ends, nothing ends it early: what is begun is finished, and told."""
    if sys.platform == "win32":
        for ending in ENDING:
            signal.signal(ending, signal.SIG_IGN)
    else:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
