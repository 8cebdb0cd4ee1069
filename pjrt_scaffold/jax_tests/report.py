"""A run as JUnit XML, which CI systems show, and as one HTML page, which people read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from jinja2 import Environment

from pjrt_scaffold.jax_tests.compare import FileDifference
from pjrt_scaffold.jax_tests.ledger import Findings, Ledger
from pjrt_scaffold.jax_tests.model import BAD, FileResult, Result, Run, told

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(run: Run, ledger: Ledger) -> str:
    """JUnit XML: a suite for each file. What the ledger expects to fail counts as skipped."""
    suites = ElementTree.Element("testsuites", name=f"JAX {run.jax} on {run.platform}")
    for name, file in sorted(run.files.items()):
        suites.append(_suite(name, file, ledger))
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _suite(name: str, file: FileResult, ledger: Ledger) -> ElementTree.Element:
    expected = ledger.failures.get(name, {})
    suite = ElementTree.Element("testsuite", name=name, time=f"{file.seconds:.1f}")
    failures = skips = 0
    for result in file.results:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=f"{name.removesuffix('.py')}.{result.test.rpartition('.')[0]}".rstrip("."),
            name=result.test.rpartition(".")[2],
            time=f"{result.seconds:.3f}",
        )
        why = expected.get(result.test)
        if result.outcome == "skipped" or (result.outcome in BAD and why is not None):
            skips += 1
            reason = result.message if why is None else f"expected to fail: {why}"
            ElementTree.SubElement(case, "skipped", message=_clean(reason))
        elif result.outcome in BAD or why is not None:
            failures += 1
            message = f"{result.outcome}: {result.message}"
            if why is not None:
                message = f"passed, and the ledger says that it fails: {why}"
            failure = ElementTree.SubElement(case, "failure", message=_clean(message))
            failure.text = _clean(result.text)
    suite.set("tests", str(len(file.results)))
    suite.set("failures", str(failures))
    suite.set("skipped", str(skips))
    return suite


def _clean(text: str) -> str:
    """XML cannot hold most control characters, and tests print them."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def html(
    run: Run, ledger: Ledger, findings: Findings, differences: Sequence[FileDifference], other: str
) -> str:
    """One page without anything outside of it: findings first, then every file."""
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        Path(__file__).with_name("report.html.jinja").read_text(encoding="utf-8")
    )
    return template.render(
        run=run,
        findings=findings,
        differences=[d for d in differences if d.behind or d.ahead],
        compared=differences,
        other=other,
        count=told(run.count()),
        files=[(name, file, told(file.count())) for name, file in sorted(run.files.items())],
        why=lambda name, result: _why(ledger, name, result),
    )


def _why(ledger: Ledger, name: str, result: Result) -> str:
    return ledger.failures.get(name, {}).get(result.test, "")
