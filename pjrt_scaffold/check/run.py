"""Start the checks, each in a child process, and judge what comes back.

A check that crashes, hangs or fails is a finding of its rule. What any child prints to stdout is a
finding of the rule about that.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from pjrt_scaffold.check.model import Result, Rule
from pjrt_scaffold.check.rules import BY_ID, NOISE
from pjrt_scaffold.errors import MissingError

_MOST_FINDINGS = 20  # of a rule
_MOST_NOISE = 120  # characters of a line that was printed


@dataclass(frozen=True, slots=True)
class Settings:
    """How the checks run."""

    jobs: int = 2
    seconds: float = 60.0  # that one check may take


@dataclass(frozen=True, slots=True)
class _Child:
    """A child's result and what it printed."""

    result: Result
    printed: str


def run(
    library: Path,
    rules: Iterable[Rule],
    settings: Settings | None = None,
    progress: Callable[[Result], None] = lambda result: None,
    children: Children | None = None,
) -> list[Result]:
    """The results of `rules`, in their order.

    Rules that these need run too. Where one of those has a finding, or says nothing, the rule is
    not applicable. `children` may be shared by runs; the caller ends them then.
    """
    if not hasattr(os, "fork"):
        raise MissingError("Checks run in forked processes, which this system does not have.")
    settings = settings or Settings()
    asked = list(rules)
    waiting = _with_needs(asked)
    done: dict[str, _Child] = {}

    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(settings.jobs))
        # Ended before the pool, whose threads wait for their answers.
        own = children or stack.enter_context(Children())

        def judge(rule: Rule) -> _Child:
            return _missing(rule, done) or own.run(library, rule, settings.seconds)

        while waiting:
            ready = [rule for rule in waiting if set(rule.needs) <= done.keys()]
            waiting = [rule for rule in waiting if rule not in ready]
            for child in pool.map(judge, ready):
                done[child.result.rule.id] = child
                if child.result.rule in asked and child.result.rule.id != NOISE:
                    progress(child.result)
    if NOISE in done:
        done[NOISE] = _Child(_noise(done), "")
        if done[NOISE].result.rule in asked:
            progress(done[NOISE].result)
    return [done[rule.id].result for rule in asked]


def _with_needs(rules: Sequence[Rule]) -> list[Rule]:
    """The rules and all that they need, in the order of ids."""
    found: dict[str, Rule] = {}
    queue = list(rules)
    while queue:
        rule = queue.pop()
        if rule.id not in found:
            found[rule.id] = rule
            queue += [BY_ID[one] for one in rule.needs]
    return [found[one] for one in sorted(found)]


def _missing(rule: Rule, done: dict[str, _Child]) -> _Child | None:
    """The rule's result if one that it needs did not pass."""
    for need in rule.needs:
        verdict = done[need].result.verdict
        if verdict != "pass":
            says = "has a finding" if verdict == "fail" else "is not applicable"
            return _Child(Result(rule, "not applicable", why=f"{need} {says}"), "")
    return None


class Children:
    """The processes that fork children, as many as are asked at the same time."""

    def __init__(self) -> None:
        """None yet: a process is started when it is needed."""
        self._idle: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()
        self._all: list[subprocess.Popen[str]] = []
        self._ended = False

    def __enter__(self) -> Children:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        for process in self._all:
            process.terminate()
        for process in self._all:
            process.wait()

    def run(self, library: Path, rule: Rule, seconds: float) -> _Child:
        """Run the check of a rule."""
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            task = {"library": str(library), "rule": rule.id, "seconds": seconds, "folder": name}
            status = self._ask(json.dumps(task))
            facts = [json.loads(line) for line in _text(folder / "facts").splitlines()]
            printed, log = _text(folder / "stdout"), _text(folder / "stderr")
        ended = f"hung for {seconds:g} seconds" if status is None else _ended(status)
        result = _result(rule, facts, ended, log)
        return _Child(replace(result, seconds=round(time.monotonic() - start, 3)), printed)

    def _ask(self, task: str) -> int | None:
        """What a process that is idle answers."""
        if self._ended:
            raise MissingError("The checks were ended.")
        try:
            process = self._idle.get_nowait()
        except Empty:
            process = subprocess.Popen(
                [sys.executable, "-m", "pjrt_scaffold.check.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self._all.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        print(task, file=process.stdin, flush=True)
        answer = process.stdout.readline()
        if not answer:
            raise MissingError("The process that starts the checks ended before its time.")
        self._idle.put(process)
        status: int | None = json.loads(answer)
        return status


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _result(rule: Rule, facts: Sequence[dict[str, Any]], ended: str, log: str) -> Result:
    """What a child's lines, its end and its stderr mean."""
    findings = [fact["finding"] for fact in facts if "finding" in fact]
    absent = [fact["absent"] for fact in facts if "absent" in fact]
    if ended:
        doing = [fact["doing"] for fact in facts if "doing" in fact]
        last = log.strip().splitlines()[-1:] if "status" in ended else []
        findings.append(": ".join([f"{doing[-1] if doing else 'starting Python'} {ended}", *last]))
    if len(findings) > _MOST_FINDINGS:
        more = len(findings) - _MOST_FINDINGS
        findings[_MOST_FINDINGS:] = [f"and {more} more of the kind"]
    if findings:
        return Result(rule, "fail", tuple(findings))
    if absent:
        return Result(rule, "not applicable", why=absent[0])
    return Result(rule, "pass")


def _ended(status: int) -> str:
    """How a process ended; nothing if it ended well."""
    if status < 0:
        try:
            return f"crashed with {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"
    return f"ended the process with status {status}" if status else ""


def _noise(done: dict[str, _Child]) -> Result:
    """The result of the rule about stdout, from all children."""
    result = done[NOISE].result
    found: dict[str, str] = {}  # the text and the rule during which it came first
    for child in done.values():
        for line in child.printed.splitlines():
            if line.strip():
                found.setdefault(line.strip()[:_MOST_NOISE], child.result.rule.id)
    if not found:
        return result
    lines = [f"{line!r} was printed during {rule}" for line, rule in found.items()]
    return Result(
        result.rule, "fail", (*result.findings, *lines[:_MOST_FINDINGS]), "", result.seconds
    )
