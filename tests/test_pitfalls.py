"""The table of pitfalls and the tests that prevent them say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "template"
PAGE = ROOT / "docs/pitfalls.md"

ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \| (.+) \|$")
TEST = re.compile(r"`([\w./]+)`: `([\w.]+)`")
CPP_TEST = re.compile(r"^TEST(?:_F)?\((\w+), (\w+)\)")
PYTHON_TEST = re.compile(r"^def (test_\w+)\(")
# Above the test, in a comment: "pitfall 63: host data is freed while it is read".
CITATION = re.compile(r"^(?://|#) pitfall (\d+): \S")


class Citation(NamedTuple):
    """A test and the number of a pitfall that it says it prevents."""

    number: int
    file: str
    test: str


def citations(file: str, text: str) -> Iterator[Citation]:
    """The citations in the comments right above tests; one that stands elsewhere has no test."""
    pending: list[int] = []
    for line in text.splitlines():
        if cited := CITATION.match(line):
            pending.append(int(cited[1]))
            continue
        if cpp := CPP_TEST.match(line):
            test = f"{cpp[1]}.{cpp[2]}"
        elif python := PYTHON_TEST.match(line):
            test = python[1]
        elif line.startswith(("//", "#", "@")) or (pending and line.startswith((" ", ")"))):
            continue  # the rest of the comment, or decorators
        else:
            test = ""
        yield from (Citation(number, file, test) for number in pending)
        pending.clear()


def cited() -> set[Citation]:
    """All that the tests of the generated repository say."""
    files = [*TEMPLATE.glob("csrc/**/*_test.cc"), *TEMPLATE.glob("tests/**/test_*.py*")]
    return {
        one
        for path in files
        for one in citations(
            path.relative_to(TEMPLATE).as_posix().removesuffix(".jinja"), path.read_text("utf-8")
        )
    }


def listed() -> set[Citation]:
    """All that the table says."""
    return {
        Citation(int(row[1]), file, test)
        for line in PAGE.read_text("utf-8").splitlines()
        if (row := ROW.match(line))
        for file, test in TEST.findall(row[4])
    }


def numbers() -> list[int]:
    """The numbers of the table's rows."""
    lines = PAGE.read_text("utf-8").splitlines()
    return [int(line.split("|")[1]) for line in lines if re.match(r"^\| \d", line)]


def test_every_row_has_a_test_that_cites_it() -> None:
    assert listed() - cited() == set()
    assert {one.number for one in listed()} == set(numbers())


def test_every_citation_is_in_the_table() -> None:
    assert cited() - listed() == set()


def test_rows_are_in_order() -> None:
    assert numbers() == sorted(set(numbers()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("// pitfall 3: a\n// and more\nTEST(A, B) {", {3: "A.B"}),
        ('# pitfall 3: a\n@mark(\n    "x",\n)\ndef test_b() -> None:', {3: "test_b"}),
        ("# pitfall 3: a\n# pitfall 4: b\ndef test_b() -> None:", {3: "test_b", 4: "test_b"}),
        ("// pitfall 3: a\n\nTEST(A, B) {", {3: ""}),
        ("# pitfall 3\ndef test_b() -> None:", {}),
    ],
)
def test_citations_are_read(text: str, expected: dict[int, str]) -> None:
    assert {one.number: one.test for one in citations("f", text)} == expected
