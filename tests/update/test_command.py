"""`pjrt-scaffold update`, as a user sees it."""

from __future__ import annotations

import json

from tests.update.conftest import Command, Run, Small
from tests.update.histories import commit, edit, replace

PROGRESS = """\
Fetching the template DIR/the template ...
Rendering v0.1.0 as it was ...
Rendering {ref} as it is to be ...
Merging ...
"""
DONE = """
Look at it with git diff, then: make test, git add --all, git commit.
To undo all of it: git reset --hard && git clean -fd
"""


def test_report(small: Small, run: Command) -> None:
    result = run("update", "--api", "0.98")
    assert result.err == PROGRESS.format(ref="v0.3.0") + DONE
    assert result.status == 1  # the small template's list of gaps is empty
    lines = result.out.splitlines()
    assert lines[0] == (
        "template v0.1.0 to v0.3.0, PJRT C API 0.90 to 0.98: 8 files changed, 0 added, 0 removed."
    )
    assert "New since 0.90 and not implemented here, the most needed first" in lines
    assert "expected_unimplemented.txt must be corrected, or the tests fail" in lines
    assert lines[-1] == "Everything that is new: pjrt-scaffold diff 0.90 0.98"


def test_nothing_to_do(small: Small, run: Command) -> None:
    (small.repository / "csrc/plugin/layer.h").unlink()
    commit(small.repository, "A plugin without our layer")
    assert run("update", "--template", "v0.1.0") == Run(
        "template v0.1.0, PJRT C API 0.90: nothing to change.\n",
        "Fetching the template DIR/the template ...\nRendering v0.1.0 as it was ...\nMerging ...\n",
        0,
    )


def test_unmerged(small: Small, run: Command) -> None:
    (small.repository / "csrc/plugin/layer.h").unlink()
    replace(small.repository / "Makefile", "Line 0", "Ours 0")
    edit(small.repository / "csrc/generated/guard.h", "{}// ours\n".format)
    commit(small.repository, "Ours")
    result = run("update", "-d", "num_devices=8")
    assert result.out == (
        "template v0.1.0 to v0.3.0, PJRT C API 0.90: 6 files changed, 0 added, 0 removed.\n"
        "\n"
        "Unmerged: resolve these, then git add each\n"
        "  Makefile  you and the template changed the same lines\n"
        "\n"
        "Still deleted, though the template changed them\n"
        "  csrc/plugin/layer.h\n"
        "\n"
        "Generated files that were edited, and are as generated again\n"
        "  csrc/generated/guard.h\n"
    )
    assert "1 file is unmerged." in result.err
    assert result.status == 1


def test_json(small: Small, run: Command) -> None:
    result = run("update", "--jaxlib", "0.10.2", "--json")
    data = json.loads(result.out)
    assert data["old"] == {"template": "v0.1.0", "api": "0.90"}
    assert data["new"] == {"template": "v0.3.0", "api": "0.112"}
    assert "Makefile" in data["written"]
    assert data["unmerged"] == []
    assert data["diff"]["new"] == "0.112"
    gaps = data["expected_unimplemented"]
    assert gaps["reviewed_through"] == "0.90"
    assert gaps["newer"][0]["since"] == "0.99"


def test_latest_never_goes_back(small: Small, run: Command) -> None:
    for api, expected in (("0.117", "0.117"), ("latest", "0.117"), ("0.100", "0.100")):
        data = json.loads(run("update", "--api", api, "--json").out)
        assert data["new"]["api"] == expected
        commit(small.repository, "Update")


def test_another_source_is_recorded(small: Small, run: Command) -> None:
    small.template.rename(small.template.with_name("moved"))
    assert run("update").status == 2
    assert run("update", "--source", "../moved").status == 1
    text = (small.repository / ".copier-answers.yml").read_text(encoding="utf-8")
    assert f"_src_path: {small.template.with_name('moved')}\n" in text


def test_errors_have_three_parts(small: Small, run: Command) -> None:
    (small.repository / "notes.txt").touch()
    assert run("update") == Run(
        "",
        "pjrt-scaffold: There are changes that no commit holds (1): notes.txt\n"
        "  An update merges into files; what was there before must be safe.\n"
        "  Commit them, or put them away with git stash --include-untracked.\n",
        2,
    )
