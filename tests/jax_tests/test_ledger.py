"""The ledger: what a run differs in, what `--update-ledger` makes of it, and bad files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pjrt_scaffold.errors import ScaffoldError
from pjrt_scaffold.jax_tests import ledger as ledgers
from pjrt_scaffold.jax_tests.compare import FileDifference, compare
from pjrt_scaffold.jax_tests.ledger import NOT_LOOKED_AT, Findings, Ledger
from pjrt_scaffold.jax_tests.model import WHOLE_FILE, FileResult, Result, Run


def a_run(*patterns: str, file: str = "ops_test.py", **outcomes: str) -> Run:
    results = tuple(Result(test, outcome.replace("_", " ")) for test, outcome in outcomes.items())
    return Run("mychip", "0.11.0", 3, patterns, {file: FileResult(file, 1.0, results)})


def expecting(**tests: str) -> Ledger:
    return Ledger("0.11.0", {}, {"ops_test.py": tests} if tests else {})


def test_as_expected_is_no_finding() -> None:
    run = a_run(good="passed", bad="failed", hung="timed_out", left="skipped", other="skipped")
    assert not ledgers.judge(run, expecting(bad="why", hung="why", left="why"))


def test_failures_passes_and_lost_tests_are_findings() -> None:
    run = a_run(good="passed", bad="failed", dead="crashed", hung="timed_out")
    expected = expecting(good="was bad", gone="was there")
    assert ledgers.judge(run, expected) == Findings(
        tuple(("ops_test.py", r) for r in run.files["ops_test.py"].bad),
        (("ops_test.py", "good"),),
        (("ops_test.py", "gone"),),
    )


def test_of_some_tests_no_other_is_missed() -> None:
    expected = expecting(other="why")
    assert not ledgers.judge(a_run("Conv", good="passed"), expected)
    assert not ledgers.judge(a_run(good="passed", file="other_test.py"), expected)
    broken = a_run(**{WHOLE_FILE: "failed"})
    assert not ledgers.judge(broken, expecting(other="why", **{WHOLE_FILE: "no GPU"}))


def test_update_keeps_reasons_and_what_did_not_run() -> None:
    old = Ledger(
        "0.10.2",
        {"pmap_test.py": "several devices"},
        {
            "ops_test.py": {"good": "a", "bad": "b", "gone": "c", "left": "d"},
            "other_test.py": {"x": "e"},
        },
    )
    run = a_run(good="passed", bad="failed", new="crashed", left="skipped")
    assert ledgers.updated(old, run) == Ledger(
        "0.11.0",
        {"pmap_test.py": "several devices"},
        {
            "ops_test.py": {"bad": "b", "left": "d", "new": NOT_LOOKED_AT},
            "other_test.py": {"x": "e"},
        },
    )
    some = a_run("g", good="passed")
    assert "gone" in ledgers.updated(old, some).failures["ops_test.py"]
    assert "good" not in ledgers.updated(old, some).failures["ops_test.py"]
    assert ledgers.updated(expecting(good="a"), a_run(good="passed")).failures == {}


def test_written_and_read_again(tmp_path: Path) -> None:
    ledger = Ledger(
        "0.11.0",
        {"pjit_test.py": "needs: several devices"},
        {"b_test.py": {"B.x": "why: not"}, "a_test.py": {"A.y": "1", "A.x": "1", "A.z": "0"}},
    )
    path = tmp_path / "new folder" / "ledger.yaml"
    ledgers.write(ledger, path)
    assert ledgers.read(path) == ledger
    text = path.read_text()
    assert text.startswith("# JAX's tests that fail")
    ledgers.write(ledgers.read(path), path)
    assert path.read_text() == text
    assert [p.name for p in path.parent.iterdir()] == ["ledger.yaml"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", "is no YAML"),
        ("- a", "is no ledger"),
        ("jax: '1'\nfailures: {}", "it has the key 'failures'"),
        ("expected failures: {a_test.py: {x: y}}", "is no ledger"),
        ("expected failures: {a_test.py: [{why: x}]}", "is no ledger"),
        ("expected failures: {a_test.py: [{why: x, tests: A.b}]}", "'tests' of a_test.py is no"),
    ],
)
def test_what_is_no_ledger(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "ledger.yaml"
    path.write_text(text)
    with pytest.raises(ScaffoldError, match=why):
        ledgers.read(path)


def test_a_missing_ledger_says_how_to_begin_one(tmp_path: Path) -> None:
    with pytest.raises(ScaffoldError, match="--update-ledger begins a ledger"):
        ledgers.read(tmp_path / "ledger.yaml")


def test_compared_test_by_test() -> None:
    ours = a_run(both="passed", behind="failed", ahead="passed", skipped="skipped", bad="failed")
    theirs = a_run(
        both="passed",
        behind="passed",
        ahead="failed",
        skipped="passed",
        bad="failed",
        gone="passed",
    )
    missing = Result("gone", "failed", message="the test did not run")
    assert compare(ours, theirs) == [
        FileDifference(
            "ops_test.py",
            (2, 4),
            (Result("behind", "failed"), missing),
            (Result("ahead", "failed"),),
        )
    ]
    assert compare(ours, a_run(file="other_test.py", both="passed")) == []
