"""Run a command with the library that traces in each of its processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pjrt_scaffold._terminal import ENDING
from pjrt_scaffold.errors import MissingError, UsageError
from pjrt_scaffold.registry.model import Registry
from pjrt_scaffold.trace import counts, interposer


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended, and what it said to its plugins."""

    status: int  # as a shell tells it: 128 and the signal's number when a signal ended it
    records: tuple[counts.Record, ...]


def run(command: Sequence[str], registry: Registry, log: Path | None = None) -> Outcome:
    """Run the command to its end; it has this process's input and output.

    With `log`, each call becomes a line of JSON in that file, which is begun anew.

    Raises:
        UsageError: there is no such command, or the log cannot be written.
        MissingError: nothing can be traced on this machine, or there is no compiler.
    """
    interposer.require_platform()
    if shutil.which(command[0]) is None:
        raise UsageError(
            f"There is no command `{command[0]}`.",
            "The first word after `--` is a program: on PATH, or with its folder (./train).",
        )
    library = interposer.build(registry, interposer.cache())
    with tempfile.TemporaryDirectory(prefix="pjrt-trace-") as scratch:
        folder = Path(scratch)
        environment = interposer.environment(_nameable(library, folder), folder, os.environ, log)
        if log is not None:
            _begin(log)
        status = _wait(command, environment)
        return Outcome(status, counts.read_all(folder, registry))


def _begin(log: Path) -> None:
    try:
        log.write_bytes(b"")
    except OSError as error:
        raise UsageError(f"{log} cannot be written: {error.strerror or error}.") from error


def _nameable(library: Path, folder: Path) -> Path:
    """The library by a path that LD_PRELOAD, a list with spaces and colons, can hold."""

    def fits(path: Path) -> bool:
        return not any(c == ":" or c.isspace() for c in str(path))

    if fits(library):
        return library
    if not fits(folder):
        raise MissingError(
            f"{folder} has a space or a colon, which LD_PRELOAD cannot hold.",
            f"Neither can it hold {library}.",
            "Name a folder without them in the environment variable TMPDIR or XDG_CACHE_HOME.",
        )
    link = folder / library.name
    link.symlink_to(library)
    return link


def _wait(command: Sequence[str], environment: dict[str, str]) -> int:
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise UsageError(
            f"`{command[0]}` cannot be run: {error.strerror or error}.",
            "The first word after `--` is a program.",
        ) from error
    with _passed_on(process):
        status = process.wait()
    return status if status >= 0 else 128 - status


@contextmanager
def _passed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Signals that would end us end the command, whose counts are then told.

    A terminal sends its interrupt to the command itself.
    """

    def pass_on(number: int, _: Any) -> None:
        if number != signal.SIGINT:
            process.send_signal(number)

    old = {s: signal.getsignal(s) for s in ENDING if signal.getsignal(s) != signal.SIG_IGN}
    for ending in old:
        signal.signal(ending, pass_on)
    try:
        yield
    finally:
        for ending, handler in old.items():
            signal.signal(ending, handler)
