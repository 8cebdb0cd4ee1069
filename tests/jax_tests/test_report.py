"""The reports: XML that parses, HTML that is whole, whatever tests print."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

from pjrt_scaffold.jax_tests import report
from pjrt_scaffold.jax_tests.compare import compare
from pjrt_scaffold.jax_tests.ledger import Ledger, judge
from pjrt_scaffold.jax_tests.model import FileResult, Result, Run

RESULTS = (
    Result("Ops.add", "passed", 0.25),
    Result("Ops.sub", "failed", 1.0, "a < b && \x00\x1b[31m", "<script>alert(1)</script>\ud800"),
    Result("Ops.mul", "crashed", 2.0, "died"),
    Result("Ops.div", "skipped", 0.0, "no GPU"),
    Result("Ops.pow", "passed", 0.5),
)
RUN = Run("mychip", "0.11.0", 3, (), {"ops_test.py": FileResult("ops_test.py", 4.0, RESULTS)})
LEDGER = Ledger("0.11.0", {}, {"ops_test.py": {"Ops.mul": "no mul", "Ops.pow": "no pow"}})


def test_junit() -> None:
    (suite,) = ElementTree.fromstring(report.junit(RUN, LEDGER).encode())
    counts = {key: suite.attrib[key] for key in ("name", "tests", "failures", "skipped")}
    assert counts == {"name": "ops_test.py", "tests": "5", "failures": "2", "skipped": "2"}
    ends = {case.attrib["name"]: [child.tag for child in case] for case in suite}
    assert ends == {
        "add": [],
        "sub": ["failure"],
        "mul": ["skipped"],
        "div": ["skipped"],
        "pow": ["failure"],
    }
    assert {case.attrib["classname"] for case in suite} == {"ops_test.Ops"}


def test_html_is_one_page_and_runs_nothing() -> None:
    theirs = Run("cpu", "0.11.0", 3, (), {
        "ops_test.py": FileResult("ops_test.py", 1.0, (Result("Ops.sub", "passed"),))
    })  # fmt: skip
    page = report.html(RUN, LEDGER, judge(RUN, LEDGER), compare(RUN, theirs), "cpu")

    class Seen(HTMLParser):
        tags: set[str] = set()  # noqa: RUF012
        outside: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.tags.add(tag)
            links = [str(value) for key, value in attrs if key in ("src", "href")]
            self.outside += [link for link in links if not link.startswith("#")]

    seen = Seen()
    seen.feed(page)
    assert "script" not in seen.tags
    assert seen.outside == []
    for text in ("Ops.sub", "expected: no mul", "Stand in the ledger and pass: 1", "Beside cpu"):
        assert text in page
