"""Where both sides changed something: what is merged, what is left to the owner, what is undone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pjrt_scaffold import _answers, _merge
from tests.support.rendering import contents, git
from tests.update.conftest import Small
from tests.update.histories import commit, edit, generate, replace, update


@pytest.fixture
def small(small: Small) -> Small:
    """The template has one release; the tests make the next."""
    git(small.template, "reset", "--quiet", "--hard", "v0.1.0")
    git(small.template, "tag", "--delete", "v0.2.0", "v0.3.0")
    return small


def text_of(small: Small, name: str) -> str:
    return (small.repository / name).read_text(encoding="utf-8")


def test_conflicts_are_listed_and_can_be_undone(small: Small) -> None:
    for folder, word in ((small.template / "template", "theirs"), (small.repository, "ours")):
        replace(folder / "Makefile", "Line 7", f"Line 7, {word}")
        (folder / "NEW.md").write_text(f"New, {word}\n", encoding="utf-8")
    edit(small.repository / "hatch_build.py", "{}# ours\n".format)
    (small.template / "template/hatch_build.py").unlink()
    small.release("v0.2.0")
    commit(small.repository, "Ours")
    before = contents(small.repository)
    done = update(small.repository)
    assert done.merge.unmerged == (
        _merge.Unmerged("Makefile", "you and the template changed the same lines"),
        _merge.Unmerged("NEW.md", "you and the template both added it"),
        _merge.Unmerged("hatch_build.py", "you changed it, the template removed it"),
    )
    assert done.needs_care
    text = text_of(small, "Makefile")
    assert all(sign in text for sign in ("<<<<<<<", "Line 7, ours", "Line 7, theirs", ">>>>>>>"))
    unmerged = git(small.repository, "diff", "--name-only", "--diff-filter=U").splitlines()
    assert unmerged == ["Makefile", "NEW.md", "hatch_build.py"]
    # Git knows both sides, so its own tools work.
    git(small.repository, "checkout", "--theirs", "Makefile")
    assert text_of(small, "Makefile").count("Line 7, theirs") == 1
    git(small.repository, "reset", "--quiet", "--hard")
    git(small.repository, "clean", "--quiet", "-fd")
    assert contents(small.repository) == before


def test_deleted_stays_deleted(small: Small) -> None:
    gone = ["docs/guide.md", "tests/test_fork.py", "tests/vendor/test_sample.py"]
    for name in gone:
        (small.repository / name).unlink()
        edit(small.template / "template" / name, "{}More.\n".format)
    commit(small.repository, "Not for us")
    small.release("v0.2.0")
    done = update(small.repository)
    assert done.merge.kept_deleted == ("docs/guide.md", "tests/test_fork.py")
    assert done.merge.unmerged == ()
    assert not [name for name in gone if (small.repository / name).exists()]


def test_a_folder_in_place_of_a_file_stays(small: Small) -> None:
    (small.repository / "Makefile").unlink()
    (small.repository / "Makefile").mkdir()
    (small.repository / "Makefile/rules.mk").write_text("all:\n", encoding="utf-8")
    edit(small.template / "template/Makefile", "{}More.\n".format)
    small.release("v0.2.0")
    commit(small.repository, "A folder of rules")
    done = update(small.repository)
    assert done.merge.kept_deleted == ("Makefile",)
    assert done.merge.unmerged == ()
    assert [p.name for p in small.repository.glob("Makefile*")] == ["Makefile"]
    assert text_of(small, "Makefile/rules.mk") == "all:\n"


def test_renames_are_followed(small: Small) -> None:
    git(small.repository, "mv", "tests/test_fork.py", "tests/test_our_forks.py")
    commit(small.repository, "Renamed")
    edit(small.template / "template/tests/test_fork.py", "{}# theirs\n".format)
    git(small.template, "mv", "template/docs/guide.md", "template/docs/manual.md")
    small.release("v0.2.0")
    edit(small.repository / "docs/guide.md", "# ours\n{}".format)
    commit(small.repository, "Ours")
    assert update(small.repository).merge.unmerged == ()
    assert not (small.repository / "tests/test_fork.py").exists()
    assert text_of(small, "tests/test_our_forks.py").endswith("# theirs\n")
    assert not (small.repository / "docs/guide.md").exists()
    assert text_of(small, "docs/manual.md").startswith("# ours\n")


def test_owners_files(small: Small) -> None:
    """Untouched they follow the template; changed they stay, even when the template drops them."""
    edit(small.repository / "tests/vendor/test_sample.py", "{}# ours\n".format)
    edit(small.repository / "README.md", "{}Ours\n".format)
    commit(small.repository, "Ours")
    (small.template / "template/tests/vendor/test_sample.py").unlink()
    edit(small.template / "template/README.md", "Theirs\n{}".format)
    edit(small.template / "template/csrc/vendor/overrides.h", "{}// theirs\n".format)
    (small.template / "template/csrc/vendor/new.h").write_text("// new\n", encoding="utf-8")
    small.release("v0.2.0")
    assert update(small.repository).merge.unmerged == ()
    assert text_of(small, "tests/vendor/test_sample.py").endswith("# ours\n")
    assert text_of(small, "README.md") == "# A plugin\nOurs\n"
    assert text_of(small, "csrc/vendor/overrides.h").endswith("// theirs\n")
    assert text_of(small, "csrc/vendor/new.h") == "// new\n"  # the build may need it


@pytest.mark.parametrize("api", ["0.90", "0.98"])
def test_list_of_gaps(api: str, small: Small) -> None:
    """It loses what the template implements by now; the rest stays, what was reviewed above all."""
    name = "expected_unimplemented.txt"
    listed = small.template / f"template/{name}.jinja"
    edit(listed, "{}\nPJRT_A\nPJRT_B\n".format)
    small.release("v0.2.0")
    edit(small.repository / name, "{}\n# Ours\nPJRT_A\nPJRT_C\n".format)
    commit(small.repository, "Ours")
    assert update(small.repository).taken_off == ()
    assert text_of(small, name) == "# reviewed-through: 0.90\n\n# Ours\nPJRT_A\nPJRT_C\n"
    commit(small.repository, "Update")
    replace(listed, "PJRT_A\n", "")
    small.release("v0.3.0")
    assert update(small.repository, api=api).taken_off == ("PJRT_A",)
    assert text_of(small, name) == "# reviewed-through: 0.90\n\n# Ours\nPJRT_C\n"


def test_generated_files_heal(small: Small) -> None:
    generated = small.repository / "csrc/generated"
    (generated / "guard.h").write_text("<<<<<<< ours\n>>>>>>> theirs\n", encoding="utf-8")
    (generated / "trace.h").unlink()
    (generated / "ours.h").write_text("// ours\n", encoding="utf-8")
    commit(small.repository, "A mess")
    edit(small.template / "template/csrc/generated/guard.h", "{}// theirs\n".format)
    small.release("v0.2.0")
    done = update(small.repository)
    assert done.healed == ("csrc/generated/guard.h", "csrc/generated/trace.h")
    assert done.merge.unmerged == ()
    assert text_of(small, "csrc/generated/guard.h") == "// Guard\n// theirs\n"
    assert sorted(path.name for path in generated.iterdir()) == [
        *("MANIFEST", "config.h", "guard.h", "ours.h", "trace.h")
    ]


def test_markers_of_an_earlier_merge_are_found(small: Small) -> None:
    text = "<<<<<<< before updating\na\n=======\nb\n>>>>>>> after updating\n"
    (small.repository / "tool.py").write_text(text, encoding="utf-8")
    (small.repository / "Makefile.rej").write_text("@@\n", encoding="utf-8")
    commit(small.repository, "A merge that nobody finished")
    done = update(small.repository)
    assert [one.path for one in done.merge.unmerged] == ["Makefile.rej", "tool.py"]


@pytest.mark.parametrize("touched", [None, "csrc/vendor/overrides.h"])
def test_leaving_the_reference_backend(touched: str | None, small: Small) -> None:
    """An untouched csrc/vendor becomes the skeleton; one with a driver stays as it is."""
    if touched:
        edit(small.repository / touched, "{}// ours\n".format)
        (small.repository / "csrc/vendor/backend.cc").write_text("// ours\n", encoding="utf-8")
        commit(small.repository, "Ours")
    before = {n: d for n, d in contents(small.repository).items() if n.startswith("csrc/vendor")}
    done = update(small.repository, data={"backend": "own"})
    after = {n: d for n, d in contents(small.repository).items() if n.startswith("csrc/vendor")}
    assert done.merge.removed == ("csrc/reference/driver.h",)
    if touched:
        assert after == before
    else:
        assert after["csrc/vendor/driver.cc"] == b"// A skeleton\n"
        assert after["csrc/vendor/backend.cc"] == b'#include "vendor/driver.h"\n'


def test_edits_of_the_reference_are_not_lost_with_it(small: Small) -> None:
    edit(small.repository / "csrc/reference/driver.h", "{}// ours\n".format)
    (small.repository / "csrc/reference/ours.h").write_text("// ours\n", encoding="utf-8")
    (small.repository / "csrc/vendor/backend.cc").write_text("// ours\n", encoding="utf-8")
    commit(small.repository, "Ours")
    done = update(small.repository, data={"backend": "own"})
    assert [one.path for one in done.merge.unmerged] == ["csrc/reference/driver.h"]
    assert text_of(small, "csrc/reference/driver.h").endswith("// ours\n")
    assert text_of(small, "csrc/reference/ours.h") == "// ours\n"


def test_new_questions_are_named(small: Small) -> None:
    edit(small.template / "copier.yml", "{}colour:\n  type: str\n  default: blue\n".format)
    small.release("v0.2.0")
    assert update(small.repository).new_answers == {"colour": "blue"}
    assert _answers.read(small.repository / _answers.FILE)["colour"] == "blue"


def test_executables_and_folders(small: Small) -> None:
    tool = small.template / "template/tools/deep/run"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n", encoding="utf-8")
    tool.chmod(0o755)
    small.release("v0.2.0")
    update(small.repository)
    assert contents(small.repository)["tools/deep/run"] == b"#!/bin/sh\nx"
    commit(small.repository, "Update")
    shutil.rmtree(small.template / "template/tools")
    small.release("v0.3.0")
    update(small.repository)
    assert not (small.repository / "tools").exists()


def test_in_a_folder_of_a_larger_repository(small: Small, tmp_path: Path) -> None:
    top = tmp_path / "everything"
    repository = generate(small.template, top / "plugins/mychip")
    shutil.rmtree(repository / ".git")
    git(top, "init", "--quiet", "--initial-branch=main")
    (top / "other.txt").write_text("other\n", encoding="utf-8")
    for folder, word in ((small.template / "template", "theirs"), (repository, "ours")):
        replace(folder / "Makefile", "Line 7", f"Line 7, {word}")
    edit(small.template / "template/docs/guide.md", "{}theirs\n".format)
    small.release("v0.2.0")
    commit(top, "Everything")
    (top / "other.txt").write_text("uncommitted, and not the plugin's\n", encoding="utf-8")
    done = update(repository / "csrc")  # from a subfolder
    assert [one.path for one in done.merge.unmerged] == ["Makefile"]
    assert git(top, "diff", "--name-only", "--diff-filter=U") == "plugins/mychip/Makefile"
    changed = git(top, "status", "--porcelain", "--", "plugins").splitlines()
    assert [line.split("/")[-1] for line in changed] == [
        *(".copier-answers.yml", "Makefile", "guide.md")
    ]
    assert (top / "other.txt").read_text(encoding="utf-8").startswith("uncommitted")


def test_where_an_update_goes(small: Small) -> None:
    """To the newest release; past it to the head; never back unless asked."""
    guide = small.template / "template/docs/guide.md"
    edit(guide, "{}two\n".format)
    small.release("v0.2.0")
    edit(guide, "{}three\n".format)
    commit(small.template, "Not released")
    assert update(small.repository).new.template == "v0.2.0"
    commit(small.repository, "Update")
    assert update(small.repository).merge.written == ()
    assert update(small.repository, template="HEAD").new.template.startswith("v0.2.0-1-g")
    commit(small.repository, "Update")
    edit(guide, "{}four\n".format)
    commit(small.template, "Not released either")
    assert update(small.repository).new.template.startswith("v0.2.0-2-g")
    commit(small.repository, "Update")
    git(small.template, "checkout", "--quiet", "HEAD~1")
    git(small.template, "branch", "--force", "main", "HEAD~1")
    git(small.template, "branch", "kept", "HEAD@{1}")
    assert update(small.repository).new.template.startswith("v0.2.0-2-g")
    assert update(small.repository, template="v0.1.0").new.template == "v0.1.0"
    assert "two" not in text_of(small, "docs/guide.md")
