"""From what a user asked for to the results: find the tests, run them, keep what is done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pjrt_scaffold.errors import UsageError
from pjrt_scaffold.jax_tests import model, tree
from pjrt_scaffold.jax_tests.ledger import Ledger
from pjrt_scaffold.jax_tests.model import FileResult, Run
from pjrt_scaffold.jax_tests.run import Settings, run_files
from pjrt_scaffold.jax_tests.target import Target

_SECONDS = 30.0  # between two words about a file


def run(
    target: Target,
    wanted: Sequence[str],
    jax_tree: Path | None,
    settings: Settings,
    ledger: Ledger,
    say: Callable[[str], None],
    *,
    results: Path | None = None,
    resume: bool = False,
) -> Run:
    """Run JAX's tests on a plugin.

    Args:
        target: the plugin.
        wanted: names or patterns of files; empty: all that the ledger does not leave out.
        jax_tree: the checkout; None: look for one.
        settings: how.
        ledger: what it leaves out is not run.
        say: is told of each file when it is done.
        results: where the results are stored, after each file.
        resume: run only what is not stored there.

    Raises:
        UsageError: the checkout, the ledger or the stored results are about something else.
        MissingError: there is no checkout, or no working plugin.
    """
    jax = target.jax()
    if ledger.jax not in (None, jax):
        raise UsageError(
            f"The ledger is about JAX {ledger.jax}, and jax {jax} is installed.",
            "The tests of two releases are not the same ones.",
            f"Install jax=={ledger.jax}, or begin a ledger for {jax}.",
        )
    root = tree.find(jax_tree, jax)
    patterns = (settings.select,) if settings.select else ()
    so_far = Run(target.platform, jax, settings.cases, patterns)
    if resume and results is not None and results.exists():
        so_far = _stored(results, so_far)
    target.require_devices()
    with tree.tests(root, jax) as folder:
        files = [file for file in tree.choose(folder, wanted) if ledger.runs(file)]
        left = [file for file in files if file not in so_far.files]
        say(f"JAX {jax} on {target.platform}: {len(files)} file{'s' * (len(files) != 1)} of tests.")
        count = len(files) - len(left)
        for result in run_files(folder, left, target, settings, _now_and_then(say)):
            so_far = replace(so_far, files={**so_far.files, result.file: result})
            count += 1
            say(f"[{count}/{len(files)}] {_told(result)}")
            if results is not None:
                model.write(so_far, results)
    return so_far


def _now_and_then(say: Callable[[str], None]) -> Callable[[str, int], None]:
    """Tell of a file that takes long, so that nobody takes the command for dead."""
    last: dict[str, float] = {}
    lock = threading.Lock()

    def heard(file: str, count: int) -> None:
        now = time.monotonic()
        with lock:
            due = now - last.setdefault(file, now) > _SECONDS
            if due:
                last[file] = now
        if due:
            say(f"  {file}: {count} tests so far")

    return heard


def _stored(path: Path, wanted: Run) -> Run:
    stored = model.read(path)
    if replace(stored, files={}) != wanted:
        raise UsageError(
            f"{path} has the results of another run.",
            f"It is JAX {stored.jax} on {stored.platform}, {stored.cases} generated cases, "
            f"{' '.join(stored.patterns) or 'all tests'}.",
            "Run with the same options, or without --resume.",
        )
    return stored


def _told(file: FileResult) -> str:
    return f"{file.file}: {model.told(file.count())} ({file.seconds:.0f} s)"
