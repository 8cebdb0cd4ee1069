"""The runner of the matrix, without jax; and that the docs show the results that were recorded."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.rendering import ROOT
from tools import jaxlibs, jaxlibs_table
from tools.jaxlibs import Row
from tools.jaxlibs_matrix import KNOWN, MATRIX, NEWEST, RELEASES, Known, known_failure

SCRIPT = """
import json, os, sys
NAMES = {names}
def report(name, outcome, error=""):
    print(json.dumps({{"name": name, "outcome": outcome, "error": error}}), flush=True)
if not sys.argv[1:]:
    print("\\n".join(NAMES))
for name in sys.argv[1:]:
    report(name, "started")
    if "dies" in name:
        os._exit(3)
    report(name, "failed", "Wrong: " + __file__) if "fails" in name else report(name, "passed")
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script that stands for programs.py: its programs do what their names say."""
    script = tmp_path / "programs.py"
    monkeypatch.setattr(jaxlibs, "PROGRAMS", script)
    return script


def run(script: Path, *names: str) -> Row:
    script.write_text(SCRIPT.format(names=list(names)), encoding="utf-8")
    row = Row(NEWEST, "0.5.0")
    jaxlibs.run_programs(Path(sys.executable), row, script.parent / "log")
    return row


def test_table_in_the_docs_is_current() -> None:
    old = jaxlibs_table.PAGE.read_text(encoding="utf-8")
    assert jaxlibs_table.page(old, jaxlibs_table.read_results()) == old, "run: make docs"


def test_results_are_those_of_the_matrix_and_explained() -> None:
    rows = [Row(**row) for row in jaxlibs_table.read_results()]
    wanted = [(api, release.jaxlib) for api, releases in MATRIX.items() for release in releases]
    assert [(row.api, row.jaxlib) for row in rows] == wanted, "run: make test-jaxlibs"
    assert [row.surprises() for row in rows if row.surprises()] == []


def test_a_program_that_ends_the_process_does_not_end_the_row(programs: Path) -> None:
    row = run(programs, "a", "dies_early", "b", "dies_late", "fails_too", "c")
    assert row.passed == ["a", "b", "c"]
    assert list(row.failed) == ["dies_early", "dies_late", "fails_too"]
    assert row.failed["dies_late"] == "the process died"


def test_an_environment_in_which_nothing_starts_fails_every_program(programs: Path) -> None:
    programs.write_text("import sys\nif sys.argv[1:]: sys.exit('no jax')\nprint('a\\nb')\n")
    row = Row(NEWEST, "0.5.0")
    jaxlibs.run_programs(Path(sys.executable), row, programs.parent / "log")
    assert row.passed == []
    assert list(row.failed) == ["a", "b"]


def test_surprises_are_failures_unknown_and_successes_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = Known("p", "0.7.2", "It is broken there.", newest_api="0.90")
    monkeypatch.setattr("tools.jaxlibs_matrix.KNOWN", (known,))
    assert known_failure("p", "0.81", "0.5.3") is known
    for program, api, jaxlib in (("q", "0.81", "0.5.3"), ("p", "0.106", "0.5.3")):
        assert known_failure(program, api, jaxlib) is None
    assert known_failure("p", "0.81", "0.10.2") is None  # not older than 0.7.2, though 1 < 7
    row = Row("0.81", "0.5.3", passed=["p"], failed={"q": "Wrong"})
    assert [surprise.partition(":")[0] for surprise in row.surprises()] == ["q", "p"]


def test_table_counts_and_numbers_its_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.jaxlibs_matrix.KNOWN", (Known("p", "0.7.2", "Broken there."),))
    rows = [
        Row("0.117", "0.7.2", "3.12.1", passed=["a"], failed={"p": "x", "q": "y"}),
        Row("0.117", "0.8.3", "3.13.0", passed=["a", "p", "q"]),
        Row("0.54", "0.8.3", "3.13.0", passed=["a", "p"], failed={"q": "y"}),
    ]
    assert jaxlibs_table.table([vars(row) for row in rows]).splitlines() == [
        "| jaxlib | Python | plugin 0.117 | plugin 0.54 |",
        "| --- | --- | --- | --- |",
        "| 0.7.2 | 3.12 | 1 of 3 (1, 2) |  |",
        "| 0.8.3 | 3.13 | all 3 | 2 of 3 (2) |",
        "",
        "1. `p`: Broken there.",
        "2. `q`: not explained yet.",
    ]


def test_every_release_of_the_registrys_list_exists(registry_releases: set[str]) -> None:
    assert {release.jaxlib for release in RELEASES} <= registry_releases


@pytest.fixture
def registry_releases() -> set[str]:
    path = Path(ROOT, "pjrt_scaffold", "registry", "jaxlib.json")
    return set(json.loads(path.read_text(encoding="utf-8"))["releases"])


def test_known_failures_name_programs_that_exist() -> None:
    text = jaxlibs.PROGRAMS.read_text(encoding="utf-8")
    assert all(f"def {known.program}()" in text for known in KNOWN)
