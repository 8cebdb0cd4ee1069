"""Run files of JAX's tests, each in a process of its own, whatever becomes of that process.

A crash or a hang ends the process, costs the one test that ran, and the file goes on with the next
one in a new process.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from pjrt_scaffold.jax_tests.model import WHOLE_FILE, FileResult, Result
from pjrt_scaffold.jax_tests.target import Target
from pjrt_scaffold.jax_tests.tree import MODULES

_POLL = 0.2  # seconds between two looks at a running file
_BETWEEN = 300.0  # seconds that a file may take to begin, to end, and between two tests
_LINES = 40  # of a crashed process' output


@dataclass(frozen=True, slots=True)
class Settings:
    """How tests are run.

    Attributes:
        seconds: the time limit of one test.
        jobs: how many files run side by side.
        cases: JAX_NUM_GENERATED_CASES: how many of the generated cases of each test.
        slow: run what JAX marks as slow, too.
        select: a pytest expression, `Conv and not Grad`; empty: all.
        device: the kind of device that the tests take the plugin for, `cpu`; empty: its platform.
    """

    seconds: float = 60.0
    jobs: int = 2
    cases: int = 3
    slow: bool = False
    select: str = ""
    device: str = ""


Heard = Callable[[str, int], None]
"""Is told, from the thread of a file, how many of its tests are done."""


def run_files(
    folder: Path,
    files: Sequence[str],
    target: Target,
    settings: Settings,
    heard: Heard = lambda file, count: None,
) -> Iterator[FileResult]:
    """Run files side by side; each is given when it is done.

    Args:
        folder: what `tree.tests` gave.
        files: names in its `tests`.
        target: the plugin.
        settings: how.
        heard: is told of progress, several times a second.
    """
    ended = threading.Event()
    with ThreadPoolExecutor(settings.jobs) as pool:
        running = [
            pool.submit(run_file, folder, file, target, settings, heard, ended) for file in files
        ]
        try:
            for done in as_completed(running):
                yield done.result()
        finally:
            ended.set()  # nobody waits for a file's end after an interruption
            for one in running:
                one.cancel()


def run_file(
    folder: Path,
    file: str,
    target: Target,
    settings: Settings,
    heard: Heard = lambda file, count: None,
    ended: threading.Event | None = None,
) -> FileResult:
    """Run one file, in as many processes as it takes; when `ended` is set, no further."""
    began = time.monotonic()
    ended = ended or threading.Event()
    progress = _Progress(lambda count: heard(file, count))
    with TemporaryDirectory(prefix="pjrt-scaffold-jax-") as home:
        while True:
            known = len(progress.results)
            end = _run_process(folder, file, target, settings, Path(home), progress, ended)
            if ended.is_set():
                break
            progress.account_for(end)
            if end.whole or len(progress.results) == known:
                break
    return FileResult(file, round(time.monotonic() - began, 1), tuple(progress.results.values()))


@dataclass(frozen=True, slots=True)
class _End:
    """How a process ended: by itself after the last test, by a crash, or by our hand."""

    whole: bool
    outcome: str  # of the test that ran
    message: str
    text: str


@dataclass
class _Progress:
    """What a file's processes told so far."""

    counted: Callable[[int], None]
    results: dict[str, Result] = field(default_factory=dict)
    running: str | None = None
    since: float = 0.0

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take in one event of `_events`."""
        if "start" in event:
            self.running, self.since = event["start"], time.monotonic()
        elif "end" in event:
            self._end(event)
        elif "broken" in event:
            self._whole_file("failed", event["broken"])
        elif "left_out" in event:
            self._whole_file("skipped", event["left_out"])

    def account_for(self, end: _End) -> None:
        """Give the test that ran when the process ended its result."""
        if end.whole:
            return
        if self.running is None:
            self._whole_file(end.outcome, end.text or end.message, end.message)
            return
        seconds = round(time.monotonic() - self.since, 3)
        self._add(Result(self.running, end.outcome, seconds, end.message, end.text))

    def _end(self, event: Mapping[str, Any]) -> None:
        text = event.get("text", "")
        result = Result(
            event["end"],
            event["outcome"],
            event["seconds"],
            event["message"] or error_line(text),
            text,
        )
        before = self.results.get(result.test)
        if before is None or before.outcome == "passed":  # it passed, then its end failed
            self._add(result)

    def _whole_file(self, outcome: str, text: str, message: str = "") -> None:
        self._add(Result(WHOLE_FILE, outcome, 0.0, message or error_line(text), text))

    def _add(self, result: Result) -> None:
        self.results[result.test] = result
        self.running, self.since = None, time.monotonic()


def error_line(text: str) -> str:
    """The line of a traceback that names the error."""
    lines = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Warning|Exit)\b", line)]
    last = text.strip().splitlines()[-1:] or [""]
    return (named[:1] or lines[:1] or last)[0][:300]


def _run_process(
    folder: Path,
    file: str,
    target: Target,
    settings: Settings,
    home: Path,
    progress: _Progress,
    ended: threading.Event,
) -> _End:
    """Run what is left of a file in one process, and say how that ended."""
    events, done, output = home / "events", home / "done", home / "output"
    events.write_bytes(b"")
    done.write_text("\n".join(progress.results), encoding="utf-8")
    command = [target.python, "-m", "pytest", *_PYTEST, f"tests/{file}"]
    if settings.select:
        command += ["-k", settings.select]
    environment = {
        **os.environ,
        **target.environment(),
        "JAX_NUM_GENERATED_CASES": str(settings.cases),
        "JAX_SKIP_SLOW_TESTS": str(int(not settings.slow)),
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")])
        ),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONFAULTHANDLER": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PJRT_SCAFFOLD_EVENTS": str(events),
        "PJRT_SCAFFOLD_DONE": str(done),
        "PJRT_SCAFFOLD_DEVICE_UNDER_TEST": settings.device,
        "PJRT_SCAFFOLD_JAX_MODULES": str(folder / MODULES),
    }
    progress.running, progress.since = None, time.monotonic()
    with (
        output.open("wb") as out,
        events.open("rb") as heard,
        subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        told = _Told(heard)
        try:
            timed_out = _watch(process, told, progress, settings.seconds, ended)
        finally:
            _kill(process)
        told.pass_on(progress)
    text = _last_words(output.read_text("utf-8", "replace"))
    if timed_out:
        limit = settings.seconds if progress.running else _BETWEEN
        return _End(False, "timed out", f"ran for more than {limit:g} seconds", text)
    if process.returncode < 0 or progress.running is not None:
        return _End(False, "crashed", _death(process.returncode), text)
    # pytest's statuses: 0 passed, 1 failures, 5 no test left; 2 a file that does not import.
    if process.returncode in (0, 1, 5) or progress.results:
        return _End(True, "", "", "")
    return _End(False, "failed", f"pytest ended with status {process.returncode}", text)


_PYTEST = (
    *("-q", "--tb", "short", "--color", "no", "--no-header", "--no-summary"),
    *(
        "-p",
        "_events",
        "-p",
        "no:cacheprovider",
        "--noconftest",
        "-c",
        os.devnull,
        "--rootdir",
        ".",
    ),
)


class _Told:
    """The events in a file that grows; a line may be there in part."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._begun = b""

    def pass_on(self, progress: _Progress) -> None:
        """Let `progress` hear what came since the last time."""
        *lines, self._begun = (self._begun + self._file.read()).split(b"\n")
        for line in lines:
            progress.hear(json.loads(line))


def _watch(
    process: subprocess.Popen[bytes],
    told: _Told,
    progress: _Progress,
    seconds: float,
    ended: threading.Event,
) -> bool:
    """Listen until the process ends; True: it took too long and was made to say where it is."""
    while not ended.is_set():
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_POLL)
            return False
        told.pass_on(progress)
        progress.counted(len(progress.results))
        limit = seconds if progress.running else _BETWEEN
        if time.monotonic() - progress.since > limit:
            process.send_signal(signal.SIGABRT)  # the fault handler prints every thread's stack
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            return True
    return False


def _last_words(output: str) -> str:
    """What a process printed last; of a crash, the stack that ran first of all."""
    lines = output.splitlines()
    stacks = [i for i, line in enumerate(lines) if line.startswith("Fatal Python error")]
    return "\n".join(lines[stacks[-1] :][:_LINES] if stacks else lines[-_LINES:])


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _death(status: int) -> str:
    if status < 0:
        return f"the process died of {signal.Signals(-status).name}"
    return f"the process ended with status {status} in the middle of the test"
