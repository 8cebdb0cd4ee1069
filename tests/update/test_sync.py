"""`pjrt-scaffold sync`: what is generated is as generated, the rest is left alone."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.rendering import Renderer, contents, git
from tests.update.conftest import Command, Run, Small
from tests.update.histories import commit, edit

FETCHING = "Fetching the template DIR/the template ...\nRendering v0.1.0 ...\n"
ADVICE = (
    "Edits in generated folders are lost: what you want otherwise goes into "
    "csrc/vendor/overrides.h.\nWrite the folders anew with pjrt-scaffold sync.\n"
)


def make_drift(small: Small) -> None:
    generated = small.repository / "csrc/generated"
    edit(generated / "guard.h", "{}// edited\n".format)
    (generated / "trace.h").unlink()
    (generated / "stray.h").write_text("// stray\n", encoding="utf-8")


def test_drift_is_found_and_repaired(small: Small, run: Command) -> None:
    before = contents(small.repository)
    assert run("sync", "--check") == Run("", "", 0)
    make_drift(small)
    edit(small.repository / "Makefile", "{}# uncommitted, and not generated\n".format)
    found = (
        "csrc/generated/guard.h: edited\n"
        "csrc/generated/stray.h: not generated\n"
        "csrc/generated/trace.h: missing\n"
    )
    assert run("sync", "--check") == Run(found, ADVICE, 1)
    drifts = json.loads(run("sync", "--check", "--json").out)
    assert drifts[0] == {"path": "csrc/generated/guard.h", "what": "edited"}
    assert run("sync") == Run(
        "csrc/generated/guard.h: written anew\ncsrc/generated/trace.h: written anew\n",
        FETCHING + "Not generated, move or delete: csrc/generated/stray.h\n",
        1,
    )
    (small.repository / "csrc/generated/stray.h").unlink()
    assert run("sync", "--check") == Run("", "", 0)
    assert run("sync") == Run("", FETCHING + "The generated folders are as they should be.\n", 0)
    after = contents(small.repository)
    assert after.pop("Makefile").endswith(b"not generated\n")
    before.pop("Makefile")
    assert after == before


def test_check_needs_no_template(small: Small, run: Command) -> None:
    shutil.rmtree(small.template)
    assert run("sync", "--check").status == 0
    result = run("sync")
    assert result.status == 2
    assert "pjrt-scaffold: git could not fetch the template DIR/the template.\n" in result.err


def test_conflicts_end(small: Small, run: Command) -> None:
    """A merge of two branches with different API versions conflicts there; sync settles it."""
    guard = small.repository / "csrc/generated/guard.h"
    git(small.repository, "checkout", "--quiet", "-b", "other")
    guard.write_text("// other\n", encoding="utf-8")
    commit(small.repository, "Other")
    git(small.repository, "checkout", "--quiet", "main")
    guard.write_text("// main\n", encoding="utf-8")
    commit(small.repository, "Main")
    with pytest.raises(subprocess.CalledProcessError):
        git(small.repository, "merge", "other")
    assert run("sync").status == 0
    assert guard.read_text(encoding="utf-8") == "// Guard\n"
    assert git(small.repository, "ls-files", "--unmerged") == ""


def test_what_an_older_version_generated_goes(small: Small, run: Command) -> None:
    generated = small.repository / "csrc/generated"
    (generated / "old.h").write_text("// old\n", encoding="utf-8")
    edit(generated / "MANIFEST", f"{{}}{'0' * 64}  old.h\n".format)
    result = run("sync")
    assert result.out == "csrc/generated/MANIFEST: written anew\ncsrc/generated/old.h: removed\n"
    assert not (generated / "old.h").exists()


def test_no_generated_folder(small: Small, run: Command) -> None:
    shutil.rmtree(small.repository / "csrc/generated")
    commit(small.repository, "Gone")
    result = run("sync", "--check")
    assert result.status == 2
    assert "has no generated folder" in result.err
    assert run("sync").status == 0
    assert (small.repository / "csrc/generated/guard.h").is_file()


def test_check_in_a_generated_repository(render: Renderer, tmp_path: Path) -> None:
    """CI of a generated repository checks without this tool: make lint compares the hashes."""
    tree = tmp_path / "tree"
    shutil.copytree(render(), tree)
    check = ["make", "--no-print-directory", "check-generated"]
    good = subprocess.run(check, cwd=tree, capture_output=True, text=True, check=False)
    assert (good.returncode, good.stderr) == (0, "")
    edit(tree / "csrc/generated/guard.h", "{}// edited\n".format)
    bad = subprocess.run(check, cwd=tree, capture_output=True, text=True, check=False)
    assert bad.returncode != 0
    assert "guard.h" in bad.stdout
    assert "pjrt-scaffold sync" in bad.stdout
