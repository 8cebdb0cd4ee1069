"""`pjrt-scaffold jax-tests`, as a user sees it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pjrt_scaffold.jax_tests import ledger as ledgers
from tests.cli.conftest import Command, run
from tests.jax_tests.conftest import JAX, Tree

__all__ = ["run"]  # the fixture

OPS = """
    import unittest
    import jax.numpy as jnp

    class Ops(unittest.TestCase):
        def test_add(self): assert jnp.add(1, 2) == 3
        def test_sub(self): assert jnp.subtract(1, 2) == 3
        def test_mul(self): self.skipTest("none here")
"""
FAILURE = (
    "  ops_test.py Ops.test_sub: failed: "
    "AssertionError: assert Array(-1, dtype=int32, weak_type=True) == 3"
)
SECONDS = re.compile(r"\(\d+ s\)")


def test_from_no_ledger_to_one_that_holds(run: Command, tree: Tree, tmp_path: Path) -> None:
    root = tree(ops_test=OPS, pmap_test=OPS)
    ledger = tmp_path / "ledger.yaml"
    arguments = ("jax-tests", "cpu", "--jax-tree", root)
    first = run(*arguments, "ops_test.py")
    assert (first.status, first.out) == (
        1,
        f"cpu: 1 passed, 1 failed, 1 skipped\n\n1 failed:\n{FAILURE}\n",
    )
    assert SECONDS.sub("(S)", first.err) == (
        f"JAX {JAX} on cpu: 1 file of tests.\n"
        "[1/1] ops_test.py: 1 passed, 1 failed, 1 skipped (S)\n"
    )
    begun = run(*arguments, "ops_test", "--ledger", ledger, "--update-ledger")
    assert begun.status == 0
    assert begun.err.endswith(
        "DIR/ledger.yaml is written: 1 expected failures, 1 of them 'not looked at yet'.\n"
    )
    text = ledger.read_text().replace("jax: ", "left out:\n  pmap_test.py: devices\njax: ")
    ledger.write_text(text.replace(ledgers.NOT_LOOKED_AT, "minus is wrong"))
    files = {name: tmp_path / name for name in ("results.json", "junit.xml", "page.html")}
    good = run(
        *arguments,
        *("--ledger", ledger, "--results", files["results.json"]),
        *("--junit", files["junit.xml"], "--html", files["page.html"]),
    )
    assert (good.status, good.out) == (
        0,
        "cpu: 1 passed, 1 failed, 1 skipped\n\nAll is as DIR/ledger.yaml says.\n",
    )
    assert all(path.stat().st_size for path in files.values())
    # What is stored is not run again; what has mended itself is a finding.
    stored = json.loads(files["results.json"].read_text())
    stored["files"][0]["results"][1] = {"test": "Ops.test_sub", "outcome": "passed"}
    files["results.json"].write_text(json.dumps(stored))
    mended = run(
        *arguments, "--ledger", ledger, "--results", files["results.json"], "--resume", "--json"
    )
    assert mended.status == 1
    assert mended.err == f"JAX {JAX} on cpu: 1 file of tests.\n"
    assert json.loads(mended.out) == {**stored}
    other = run(*arguments, "--results", files["results.json"], "--resume", "--cases", "9")
    assert (other.status, other.err.splitlines()[0]) == (
        2,
        "pjrt-scaffold: DIR/results.json has the results of another run.",
    )


def test_beside_stored_results(run: Command, tree: Tree, tmp_path: Path) -> None:
    root = tree(ops_test=OPS)
    other = tmp_path / "other.json"
    tests = [{"test": f"Ops.test_{name}", "outcome": "passed"} for name in ("add", "sub")]
    stored = {
        "platform": "xla",
        "jax": JAX,
        "cases": 3,
        "patterns": [],
        "files": [{"file": "ops_test.py", "seconds": 1.0, "results": tests}],
    }
    other.write_text(json.dumps(stored))
    beside = run("jax-tests", "cpu", "--jax-tree", root, "--against", other)
    assert beside.status == 1
    assert beside.out == (
        "cpu: 1 passed, 1 failed, 1 skipped\n"
        "xla: 2 passed\n\n"
        "file         cpu  xla  only xla  only cpu\n"
        "ops_test.py  1    2    1         0\n\n"
        "1 passed on xla alone:\n"
        f"{FAILURE}\n"
    )


def test_wrong_usage_runs_nothing(run: Command, tree: Tree, tmp_path: Path) -> None:
    root = tree(ops_test=OPS)
    old = tmp_path / "old.yaml"
    old.write_text("jax: 0.4.0\n")
    here = ("jax-tests", "cpu", "--jax-tree", root)
    for arguments, message in {
        (*here, "--update-ledger"): "--update-ledger needs --ledger FILE",
        (*here, "--resume"): "--resume needs --results FILE",
        (*here, "--ledger", tmp_path / "none"): "--update-ledger begins a ledger",
        (*here, "--ledger", old): "The ledger is about JAX 0.4.0, and jax",
        (*here, "nn_test"): "No file of JAX's tests is named nn_test.",
        (*here, "--html", tmp_path / "none" / "x"): "there is no folder DIR/none",
        (*here, "--python", tmp_path / "none"): "DIR/none does not start: No such file",
        (*here, "--against", tmp_path / "none.json"): "none.json could not be read",
        ("jax-tests", "./x.so", "--jax-tree", root): "There is no file ./x.so.",
        ("jax-tests", "nochip", "--jax-tree", root): "JAX has no working platform nochip in",
        ("jax-tests", "cpu"): "There are no tests of JAX to run",
    }.items():
        done = run(*arguments)
        assert (done.status, done.out) == (2, ""), done
        assert message in done.err
        assert "Traceback" not in done.err
