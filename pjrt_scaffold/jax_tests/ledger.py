"""The ledger: which of JAX's tests fail on a plugin, and why. Progress cannot be lost unseen.

What fails and does not stand in it is a finding, and so is what stands in it and passes.

    jax: 0.11.0
    left out:
      pjit_test.py: needs several devices
    expected failures:
      lax_test.py:
      - why: no bit casts below a byte
        tests:
        - LaxTest.testBitcastConvertType1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from pjrt_scaffold.errors import MissingError, UsageError
from pjrt_scaffold.jax_tests.model import BAD, WHOLE_FILE, Result, Run

NOT_LOOKED_AT = "not looked at yet"
_HEADER = """\
# JAX's tests that fail on this plugin, and why. A test that fails and does not stand here is a
# finding of `pjrt-scaffold jax-tests`, and so is one that stands here and passes: progress is kept.
# `--update-ledger` writes this file anew and keeps the reasons.
"""


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is expected of a plugin.

    Attributes:
        jax: the release of jax whose tests are named; None: of any.
        left_out: patterns of files that are not run, with the reason.
        failures: by file and test, why the test fails.
    """

    jax: str | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def runs(self, file: str) -> bool:
        """Whether a file is not left out."""
        return not any(fnmatchcase(file, pattern) for pattern in self.left_out)


@dataclass(frozen=True, slots=True)
class Findings:
    """Where a run differs from the ledger; each a file and a result or a test's name."""

    failures: tuple[tuple[str, Result], ...]  # not in the ledger
    passes: tuple[tuple[str, str], ...]  # in the ledger
    gone: tuple[tuple[str, str], ...]  # in the ledger, but no test of the file

    def __bool__(self) -> bool:
        return bool(self.failures or self.passes or self.gone)


def judge(run: Run, ledger: Ledger) -> Findings:
    """Hold a run against the ledger. Only files that ran are judged."""
    failures: list[tuple[str, Result]] = []
    passes: list[tuple[str, str]] = []
    gone: list[tuple[str, str]] = []
    for name, file in sorted(run.files.items()):
        expected = ledger.failures.get(name, {})
        failures += [(name, r) for r in file.bad if r.test not in expected]
        passes += [
            (name, r.test) for r in file.results if r.test in expected and r.outcome == "passed"
        ]
        complete = not run.patterns and all(r.test != WHOLE_FILE for r in file.bad)
        if complete:
            ran = {r.test for r in file.results}
            gone += [(name, test) for test in expected if test not in ran]
    return Findings(tuple(failures), tuple(passes), tuple(gone))


def updated(ledger: Ledger, run: Run) -> Ledger:
    """The ledger as the run would have it: reasons are kept, files that did not run too."""
    failures = {name: dict(tests) for name, tests in ledger.failures.items()}
    for name, file in run.files.items():
        known = failures.get(name, {})
        ran = {r.test for r in file.results}
        kept = {t: why for t, why in known.items() if run.patterns and t not in ran}
        skipped = {
            r.test: known[r.test]
            for r in file.results
            if r.outcome not in BAD and r.outcome != "passed" and r.test in known
        }
        now = {r.test: known.get(r.test, NOT_LOOKED_AT) for r in file.bad}
        failures[name] = kept | skipped | now
    return Ledger(run.jax, ledger.left_out, {name: t for name, t in failures.items() if t})


def read(path: Path) -> Ledger:
    """Read a ledger.

    Raises:
        MissingError: there is no such file.
        UsageError: it is no ledger; the text names the line or the key.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise MissingError(
            f"{path} could not be read: {error.strerror}.",
            todo="--update-ledger begins a ledger.",
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no YAML.", str(error)) from error
    try:
        return _parsed(data)
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise UsageError(
            f"{path} is no ledger: {error}.",
            "It has the keys 'jax', 'left out' (file: why) and 'expected failures' (file: a list "
            "of 'why' and 'tests').",
        ) from error


def _parsed(data: Mapping[str, Any]) -> Ledger:
    if unknown := set(data) - {"jax", "left out", "expected failures"}:
        raise ValueError(f"it has the key '{min(unknown)}'")
    failures: dict[str, dict[str, str]] = {}
    for file, groups in (data.get("expected failures") or {}).items():
        tests: dict[str, str] = {}
        for group in groups:
            if not isinstance(group["tests"], list):
                raise TypeError(f"'tests' of {file} is no list")
            tests |= {str(test): str(group["why"]) for test in group["tests"]}
        failures[file] = tests
    version = data.get("jax")
    left_out = {str(file): str(why) for file, why in (data.get("left out") or {}).items()}
    return Ledger(None if version is None else str(version), left_out, failures)


def write(ledger: Ledger, path: Path) -> None:
    """Write a ledger; an older file is replaced in one go."""
    data: dict[str, Any] = {"jax": ledger.jax}
    if ledger.left_out:
        data["left out"] = dict(ledger.left_out)
    data["expected failures"] = {
        file: [{"why": why, "tests": tests} for why, tests in _by_reason(named)]
        for file, named in sorted(ledger.failures.items())
    }
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_text(_HEADER + text, encoding="utf-8")
    scratch.replace(path)


def _by_reason(tests: Mapping[str, str]) -> Sequence[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for test, why in sorted(tests.items()):
        groups.setdefault(why, []).append(test)
    return sorted(groups.items())
