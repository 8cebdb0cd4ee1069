"""What a run of JAX's tests gave, as data that can be stored and read again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pjrt_scaffold.errors import MissingError, UsageError

OUTCOMES = ("passed", "failed", "crashed", "timed out", "skipped")
BAD = frozenset({"failed", "crashed", "timed out"})
WHOLE_FILE = "(the file)"
"""Stands for a test where a file could not be read by pytest, or ended outside of any test."""


@dataclass(frozen=True, slots=True)
class Result:
    """How one test ended.

    Attributes:
        test: the class and the method, `LaxTest.testConv0`.
        outcome: one of OUTCOMES.
        seconds: how long it took.
        message: one line: the error, or the reason of a skip.
        text: the traceback, shortened; of a crash, the end of what the process printed.
    """

    test: str
    outcome: str
    seconds: float = 0.0
    message: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class FileResult:
    """The results of one file of tests, in the order in which they ran."""

    file: str
    seconds: float
    results: tuple[Result, ...]

    def count(self) -> Counter[str]:
        """How many tests had each outcome."""
        return Counter(result.outcome for result in self.results)

    @property
    def bad(self) -> tuple[Result, ...]:
        """The tests that failed, crashed or timed out."""
        return tuple(result for result in self.results if result.outcome in BAD)


@dataclass(frozen=True, slots=True)
class Run:
    """The results of several files on one platform.

    Attributes:
        platform: what JAX_PLATFORMS was.
        jax: the release of jax.
        cases: JAX_NUM_GENERATED_CASES, upon which the tests' names depend.
        patterns: the tests that were asked for; empty: all of the files' tests.
        files: by name, `lax_test.py`.
    """

    platform: str
    jax: str
    cases: int
    patterns: tuple[str, ...] = ()
    files: Mapping[str, FileResult] = field(default_factory=dict)

    def each(self) -> Iterator[tuple[str, Result]]:
        """Every result with its file."""
        for name, file in sorted(self.files.items()):
            for result in file.results:
                yield name, result

    def count(self) -> Counter[str]:
        """How many tests had each outcome."""
        return Counter(result.outcome for _, result in self.each())


def write(run: Run, path: Path) -> None:
    """Store a run as JSON; an older file is replaced in one go."""
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_text(json.dumps(as_json(run), indent=1) + "\n", encoding="utf-8")
    scratch.replace(path)


def as_json(run: Run) -> dict[str, Any]:
    """A run as JSON has it: what is empty is left out."""
    return {
        "platform": run.platform,
        "jax": run.jax,
        "cases": run.cases,
        "patterns": list(run.patterns),
        "files": [
            {
                "file": name,
                "seconds": file.seconds,
                "results": [
                    {key: value for key, value in asdict(result).items() if value}
                    for result in file.results
                ],
            }
            for name, file in sorted(run.files.items())
        ],
    }


def read(path: Path) -> Run:
    """Read a stored run.

    Raises:
        MissingError: there is no such file.
        UsageError: it holds something else.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Run(
            data["platform"],
            data["jax"],
            data["cases"],
            tuple(data["patterns"]),
            {
                file["file"]: FileResult(
                    file["file"],
                    file["seconds"],
                    tuple(Result(**result) for result in file["results"]),
                )
                for file in data["files"]
            },
        )
    except OSError as error:
        raise MissingError(f"{path} could not be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} holds no results of jax-tests: {error!r}.",
            todo="Give a file that `pjrt-scaffold jax-tests --results FILE` wrote.",
        ) from error


def told(count: Mapping[str, int]) -> str:
    """Counts in words: `944 passed, 41 failed`."""
    return ", ".join(f"{count[o]} {o}" for o in OUTCOMES if count.get(o)) or "no test"


def names(results: Sequence[Result]) -> list[str]:
    """The tests' names."""
    return [result.test for result in results]
