"""Where both sides changed something: what is merged, what is left to the owner, what is undone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pjrt_scaffold import _answers, _merge
from tests.support.rendering import contents, git
from tests.update.conftest import Rendered
from tests.update.histories import commit, edit, generate, replace, update

pytestmark = pytest.mark.xdist_group("update merging")


@pytest.fixture
def own_template(tmp_path: Path, template: Path) -> Path:
    """A template of one's own, to be changed after a rendering at v0.1.0."""
    folder = tmp_path / "own template"
    shutil.copytree(template, folder, symlinks=True)
    git(folder, "reset", "--quiet", "--hard", "v0.1.0")
    git(folder, "tag", "--delete", "v0.2.0", "v0.3.0")
    return folder


@pytest.fixture
def pair(own_template: Path, rendered: Rendered, tmp_path: Path) -> tuple[Path, Path]:
    """A template and a repository rendered from it."""
    repository = tmp_path / "repository"
    shutil.copytree(rendered(pjrt_api_version="0.90"), repository, symlinks=True)
    edit(
        repository / _answers.FILE,
        lambda text: "".join(
            f"_src_path: {own_template}\n" if line.startswith("_src_path") else line
            for line in text.splitlines(keepends=True)
        ),
    )
    commit(repository, "Another place")
    return own_template, repository


def release(template: Path, tag: str) -> None:
    commit(template, tag)
    git(template, "tag", tag)


def test_conflicts_are_listed_and_can_be_undone(pair: tuple[Path, Path]) -> None:
    template, repository = pair
    for folder, word in ((template / "template", "theirs"), (repository, "ours")):
        replace(folder / "Makefile", "# Everything below", f"# {word}: everything below")
    edit(repository / "hatch_build.py", "{}# ours\n".format)
    (template / "template/hatch_build.py").unlink()
    for folder in (template / "template", repository):
        (folder / "NEW.md").write_text(f"{folder.name}\n", encoding="utf-8")
    release(template, "v0.2.0")
    commit(repository, "Ours")
    before = contents(repository)
    done = update(repository)
    assert done.merge.unmerged == (
        _merge.Unmerged("Makefile", "you and the template changed the same lines"),
        _merge.Unmerged("NEW.md", "you and the template both added it"),
        _merge.Unmerged("hatch_build.py", "you changed it, the template removed it"),
    )
    assert done.needs_care
    text = (repository / "Makefile").read_text(encoding="utf-8")
    assert text.startswith("<<<<<<< ")
    assert "# ours: everything below" in text
    assert "# theirs: everything below" in text
    unmerged = git(repository, "diff", "--name-only", "--diff-filter=U").splitlines()
    assert unmerged == ["Makefile", "NEW.md", "hatch_build.py"]
    # Git knows both sides, so its own tools work.
    git(repository, "checkout", "--theirs", "Makefile")
    assert "# theirs" in (repository / "Makefile").read_text(encoding="utf-8")
    git(repository, "reset", "--quiet", "--hard")
    git(repository, "clean", "--quiet", "-fd")
    assert contents(repository) == before


def test_deleted_stays_deleted(pair: tuple[Path, Path]) -> None:
    """Also what the template changes or renames later."""
    template, repository = pair
    gone = ["docs/troubleshooting.md", "tests/vendor/test_sample.py", "tests/test_fork.py"]
    for name in gone:
        (repository / name).unlink()
    commit(repository, "Not ours")
    for name in ("docs/troubleshooting.md.jinja", *gone[1:]):
        edit(template / "template" / name, "{}More.\n".format)
    release(template, "v0.2.0")
    done = update(repository)
    assert done.merge.kept_deleted == ("docs/troubleshooting.md", "tests/test_fork.py")
    assert done.merge.unmerged == ()
    assert not [name for name in gone if (repository / name).exists()]


def test_renames_are_followed(pair: tuple[Path, Path]) -> None:
    template, repository = pair
    git(repository, "mv", "tests/test_fork.py", "tests/test_our_forks.py")
    commit(repository, "Renamed")
    edit(template / "template/tests/test_fork.py", "{}# theirs\n".format)
    release(template, "v0.2.0")
    assert update(repository).merge.unmerged == ()
    assert not (repository / "tests/test_fork.py").exists()
    text = (repository / "tests/test_our_forks.py").read_text(encoding="utf-8")
    assert text.endswith("# theirs\n")


def test_owners_file_that_the_template_gave_up(pair: tuple[Path, Path]) -> None:
    template, repository = pair
    edit(repository / "tests/vendor/test_sample.py", "{}# ours\n".format)
    commit(repository, "Ours")
    (template / "template/tests/vendor/test_sample.py").unlink()
    (template / "template/csrc/vendor/new.h").write_text("// new\n", encoding="utf-8")
    release(template, "v0.2.0")
    assert update(repository).merge.unmerged == ()
    text = (repository / "tests/vendor/test_sample.py").read_text(encoding="utf-8")
    assert text.endswith("# ours\n")
    assert (repository / "csrc/vendor/new.h").is_file()  # the build may need it


def test_conflicts_in_generated_files_heal(pair: tuple[Path, Path]) -> None:
    template, repository = pair
    generated = repository / "csrc/generated"
    (generated / "guard.h").write_text("<<<<<<< ours\n>>>>>>> theirs\n", encoding="utf-8")
    (generated / "trace.h").unlink()
    (generated / "ours.h").write_text("// ours\n", encoding="utf-8")
    commit(repository, "A mess")
    edit(template / "template/csrc/generated/guard.h", "{}// theirs\n".format)
    release(template, "v0.2.0")
    done = update(repository)
    assert done.healed == ("csrc/generated/guard.h", "csrc/generated/trace.h")
    assert done.merge.unmerged == ()
    assert (generated / "guard.h").read_text(encoding="utf-8").endswith("// theirs\n")
    assert (generated / "trace.h").is_file()
    assert (generated / "ours.h").is_file()


def test_markers_of_an_earlier_merge_are_found(repository: Path) -> None:
    text = "<<<<<<< before updating\na\n=======\nb\n>>>>>>> after updating\n"
    (repository / "tool.py").write_text(text, encoding="utf-8")
    (repository / "Makefile.rej").write_text("@@\n", encoding="utf-8")
    commit(repository, "A merge that nobody finished")
    assert [one.path for one in update(repository, template="v0.2.0").merge.unmerged] == [
        "Makefile.rej",
        "tool.py",
    ]


def test_new_questions_are_named(pair: tuple[Path, Path]) -> None:
    template, repository = pair
    edit(template / "copier.yml", "{}\ncolour:\n  type: str\n  default: blue\n".format)
    release(template, "v0.2.0")
    assert update(repository).new_answers == {"colour": "blue"}
    assert _answers.read(repository / _answers.FILE)["colour"] == "blue"


def test_executables_and_folders(pair: tuple[Path, Path]) -> None:
    template, repository = pair
    tool = template / "template/tools/deep/run"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n", encoding="utf-8")
    tool.chmod(0o755)
    release(template, "v0.2.0")
    update(repository)
    assert contents(repository)["tools/deep/run"] == b"#!/bin/sh\nx"
    commit(repository, "Update")
    shutil.rmtree(template / "template/tools")
    release(template, "v0.3.0")
    update(repository)
    assert not (repository / "tools").exists()


def test_in_a_folder_of_a_larger_repository(template: Path, tmp_path: Path) -> None:
    top = tmp_path / "everything"
    top.mkdir()
    git(top, "init", "--quiet", "--initial-branch=main")
    repository = top / "plugins/mychip"
    generate(template, repository, pjrt_api_version="0.90")
    shutil.rmtree(repository / ".git")
    (top / "other.txt").write_text("other\n", encoding="utf-8")
    replace(repository / "Makefile", "# Everything below", "# Ours: everything below")
    edit(repository / "pyproject.toml", "# ours\n{}".format)
    commit(top, "Everything")
    (top / "other.txt").write_text("uncommitted, and not the plugin's\n", encoding="utf-8")
    done = update(repository / "csrc", template="v0.2.0")  # from a subfolder
    # Both wrote a first line into pyproject.toml, and only the template into the Makefile.
    assert [one.path for one in done.merge.unmerged] == ["pyproject.toml"]
    unmerged = git(top, "diff", "--name-only", "--diff-filter=U")
    assert unmerged == "plugins/mychip/pyproject.toml"
    assert "First line of v0.2.0" in (repository / "Makefile").read_text(encoding="utf-8")
    changed = git(top, "status", "--porcelain").splitlines()
    assert [line for line in changed if "plugins/" not in line] == ["M other.txt"]


def test_where_an_update_goes(pair: tuple[Path, Path]) -> None:
    """To the newest release; past it to the head; never back unless asked."""
    template, repository = pair
    edit(template / "template/Makefile", "{}# two\n".format)
    release(template, "v0.2.0")
    edit(template / "template/Makefile", "{}# three\n".format)
    commit(template, "Not released")
    assert update(repository).new.template == "v0.2.0"
    commit(repository, "Update")
    assert update(repository, template="HEAD").new.template.startswith("v0.2.0-1-g")
    commit(repository, "Update")
    edit(template / "template/Makefile", "{}# four\n".format)
    commit(template, "Not released either")
    assert update(repository).new.template.startswith("v0.2.0-2-g")
    commit(repository, "Update")
    assert update(repository).merge.written == ()
    assert update(repository, template="v0.1.0").new.template == "v0.1.0"
