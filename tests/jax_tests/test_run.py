"""Files of tests whose processes fail, crash, hang and do not start: each costs what it must."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pjrt_scaffold.jax_tests import tree as trees
from pjrt_scaffold.jax_tests.model import WHOLE_FILE, FileResult
from pjrt_scaffold.jax_tests.run import Settings, run_file, run_files
from pjrt_scaffold.jax_tests.target import Target
from tests.jax_tests.conftest import JAX, Tree

TARGET = Target("cpu", sys.executable)

EVERY_END = """
    import ctypes, os, sys, time, unittest
    import pytest

    class Ends(unittest.TestCase):
        def test_a_passes(self): pass
        def test_b_fails(self): self.assertEqual(1, 2)
        def test_c_is_skipped(self): self.skipTest("needs a GPU")
        def test_d_crashes(self): os.abort()
        def test_e_passes_after_the_crash(self): pass
        def test_f_hangs(self): time.sleep(600)
        def test_g_exits(self): os._exit(0)
        def test_h_has_a_child(self):
            import subprocess
            self.child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        def test_i_raises_much(self): raise ValueError("x" * 100000)

    class BadEnd(unittest.TestCase):
        def tearDown(self): raise RuntimeError("the end failed")
        def test(self): pass
"""


def run(tree: Tree, text: str, **settings: object) -> FileResult:
    with trees.tests(tree(ops_test=text), JAX) as folder:
        return run_file(folder, "ops_test.py", TARGET, Settings(**{"seconds": 2, **settings}))  # type: ignore[arg-type]


def test_every_way_to_end(tree: Tree) -> None:
    began = time.monotonic()
    result = run(tree, EVERY_END)
    assert {r.test: (r.outcome, r.message) for r in result.results} == {
        "Ends.test_a_passes": ("passed", ""),
        "Ends.test_b_fails": ("failed", "AssertionError: 1 != 2"),
        "Ends.test_c_is_skipped": ("skipped", "needs a GPU"),
        "Ends.test_d_crashes": ("crashed", "the process died of SIGABRT"),
        "Ends.test_e_passes_after_the_crash": ("passed", ""),
        "Ends.test_f_hangs": ("timed out", "ran for more than 2 seconds"),
        "Ends.test_g_exits": (
            "crashed",
            "the process ended with status 0 in the middle of the test",
        ),
        "Ends.test_h_has_a_child": ("passed", ""),
        "Ends.test_i_raises_much": ("failed", f"ValueError: {'x' * 288}"),
        "BadEnd.test": ("failed", "RuntimeError: the end failed"),
    }
    by_name = {r.test: r.text for r in result.results}
    assert "assertEqual(1, 2)" in by_name["Ends.test_b_fails"]
    assert "test_d_crashes" in by_name["Ends.test_d_crashes"], "the stack of the crash"
    assert "test_f_hangs" in by_name["Ends.test_f_hangs"], "where it hung"
    assert len(by_name["Ends.test_i_raises_much"]) < 7000
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("text", "outcome", "message"),
    [
        ("import nothing_of_this_name", "failed", "ModuleNotFoundError: No module named"),
        ("import os\nos.abort()", "crashed", "the process died of SIGABRT"),
        ("import os\nos._exit(3)", "failed", "pytest ended with status 3"),
        ("import pytest\npytest.skip('no GPU', allow_module_level=True)", "skipped", "no GPU"),
    ],
)
def test_a_file_that_does_not_import(tree: Tree, text: str, outcome: str, message: str) -> None:
    (result,) = run(tree, text).results
    assert (result.test, result.outcome) == (WHOLE_FILE, outcome)
    assert result.message.startswith(message)


def test_a_file_without_tests_has_no_results(tree: Tree) -> None:
    assert run(tree, "").results == ()


def test_the_installed_jax_is_tested_with_the_settings(tree: Tree) -> None:
    """The checkout's own package raises when it is imported."""
    result = run(
        tree,
        """
        import os

        def test():
            import jax
            assert os.environ["JAX_PLATFORMS"] == "cpu"
            assert os.environ["JAX_NUM_GENERATED_CASES"] == "7"
            assert os.environ["JAX_SKIP_SLOW_TESTS"] == "1"
            assert jax.devices()[0].platform == "cpu"
        """,
        cases=7,
        seconds=60,
    )
    assert [(r.test, r.outcome, r.message) for r in result.results] == [("test", "passed", "")]


def test_the_device_under_test_is_what_is_said(tree: Tree) -> None:
    """Already while the file is imported: decorators of classes ask."""
    result = run(
        tree,
        """
        from jax._src import test_util as jtu

        DEVICE = jtu.device_under_test()

        def test():
            assert DEVICE == "tpu"
            with jtu.capture_stdout() as output:
                print("as ever")
            assert output() == "as ever\\n"
        """,
        device="tpu",
        seconds=60,
    )
    assert [(r.test, r.outcome, r.message) for r in result.results] == [("test", "passed", "")]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_test_outlives_the_command(tree: Tree, tmp_path: Path, how: int) -> None:
    """Nobody waits for a result when the command was interrupted, or killed."""
    beats = tmp_path / "beats"
    text = f"""
        import time

        def test():
            while True:
                with open({str(beats)!r}, "a") as beats:
                    beats.write("x")
                time.sleep(0.1)
        """
    program = (
        "import sys; from pathlib import Path; from pjrt_scaffold.jax_tests import run, target\n"
        "here = target.Target('cpu', sys.executable)\n"
        "list(run.run_files(Path(sys.argv[1]), ['ops_test.py'], here, run.Settings()))\n"
    )
    with trees.tests(tree(ops_test=text), JAX) as folder:
        with subprocess.Popen([sys.executable, "-c", program, str(folder)]) as command:
            until(beats.exists)
            command.send_signal(how)
            command.wait(20)  # the test itself has a minute
        until(lambda: stays_the_same(beats))


def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds, a minute at most."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def stays_the_same(file: Path) -> bool:
    before = file.stat().st_size
    time.sleep(2)
    return file.stat().st_size == before


def test_files_run_side_by_side(tree: Tree) -> None:
    wait = "import time\ndef test(): time.sleep(3)\n"
    with trees.tests(tree(a_test=wait, b_test=wait), JAX) as folder:
        began = time.monotonic()
        settings = Settings(jobs=2)
        names = ["a_test.py", "b_test.py"]
        heard: set[tuple[str, int]] = set()
        told = lambda *progress: heard.add(progress)  # noqa: E731
        files = [r.file for r in run_files(folder, names, TARGET, settings, told)]
        seconds = time.monotonic() - began
    assert sorted(files) == ["a_test.py", "b_test.py"]
    assert seconds < 30
    assert {("a_test.py", 0), ("b_test.py", 0)} <= heard


def test_helpers_come_from_the_checkout_and_nothing_else(tree: Tree) -> None:
    text = """
        import importlib
        import jax
        import pytest

        def test_helper():
            from jax._src.some_test_util import ANSWER
            assert ANSWER == 42

        def test_installed():
            import jax._src.test_util
            assert jax._src.test_util.__file__.startswith(jax.__path__[0])

        def test_no_other_module():
            with pytest.raises(ImportError):
                importlib.import_module("jax._src.something_else")
    """
    root = tree(ops_test=text)
    (root / "jax" / "_src").mkdir()
    (root / "jax" / "_src" / "some_test_util.py").write_text("ANSWER = 42\n")
    for name in ("test_util", "something_else"):
        (root / "jax" / "_src" / f"{name}.py").write_text("raise RuntimeError\n")
    with trees.tests(root, JAX) as folder:
        result = run_file(folder, "ops_test.py", TARGET, Settings(seconds=30))
    assert [r.outcome for r in result.results] == ["passed"] * 3
