"""Updates on other people's machines: their git settings, disks, and work meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pjrt_scaffold import _copier
from pjrt_scaffold.errors import ScaffoldError
from tests.support.rendering import contents, git
from tests.update.conftest import Command, Small
from tests.update.histories import commit, edit, replace, update

SETTINGS = {
    "core.autocrlf": "true",
    "core.attributesFile": "{home}/attributes",
    "core.hooksPath": "{home}/hooks",
    "color.ui": "always",
    "column.ui": "always",
    "safe.bareRepository": "explicit",
    "merge.conflictStyle": "diff3",
    "grep.patternType": "fixed",
    "init.defaultBranch": "template",
    "commit.gpgSign": "true",
    "merge.ff": "only",
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_of_git(
    setting: str, small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An update does the same whatever the user has set."""
    (tmp_path / "attributes").write_text("* text eol=crlf export-ignore\n", encoding="utf-8")
    hook = tmp_path / "hooks" / "reference-transaction"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    edit(small.repository / "docs/guide.md", "Our first line\n{}".format)
    commit(small.repository, "Ours")
    value = SETTINGS[setting].format(home=tmp_path)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", setting)
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", value)
    merge = update(small.repository).merge
    assert [one.path for one in merge.unmerged] == ["docs/guide.md"]
    changed = {"Makefile", "README.md", "pyproject.toml", "docs/guide.md", "csrc/plugin/layer.h"}
    assert set(merge.written) == changed | {".copier-answers.yml"}


@pytest.mark.parametrize("kind", ["edit", "commit"])
def test_work_that_goes_on_meanwhile(
    kind: str, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is saved or committed while the template is fetched and rendered is not lost."""
    real: Callable[..., object] = _copier.copy

    def working(*args: object, **options: object) -> object:
        edit(small.repository / "Makefile", "{}# saved meanwhile\n".format)
        if kind == "commit":
            commit(small.repository, "Meanwhile")
        return real(*args, **options)

    monkeypatch.setattr(_copier, "copy", working)
    with pytest.raises(ScaffoldError) as caught:
        update(small.repository, template="v0.1.0", data={"num_devices": "8"})
    assert "Makefile" in caught.value.what or "committed while" in caught.value.what
    assert (small.repository / "Makefile").read_text().endswith("# saved meanwhile\n")
    assert "num_devices: 4" in (small.repository / ".copier-answers.yml").read_text()


def test_unfinished_merge(small: Small) -> None:
    """It is clean to git, but undoing the update would take the merge along."""
    git(small.repository, "checkout", "--quiet", "-b", "side")
    commit(small.repository, "Side")
    git(small.repository, "checkout", "--quiet", "-")
    git(small.repository, "merge", "--quiet", "--no-commit", "--no-ff", "side")
    with pytest.raises(ScaffoldError, match="A merge is not finished"):
        update(small.repository)


def test_foreign_owner(small: Small, run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git refuses, and says how to allow it; it is no folder without a repository."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    result = run("update")
    assert result.status == 2
    assert result.err.startswith("pjrt-scaffold: git refuses to work in DIR/mychip.\n")
    assert "safe.directory" in result.err
    assert "git init" not in result.err


def test_files_and_folders_change_places(small: Small) -> None:
    """The template makes a folder where a file was, and the other way round."""
    (small.template / "template/hatch_build.py").unlink()
    (small.template / "template/hatch_build.py").mkdir()
    (small.template / "template/hatch_build.py/inner.py").touch()
    (small.template / "template/docs/guide.md").unlink()
    (small.template / "template/docs").rmdir()
    (small.template / "template/docs").write_text("see the README\n", encoding="utf-8")
    small.release("v0.4.0")
    assert update(small.repository).merge.unmerged == ()
    assert (small.repository / "hatch_build.py/inner.py").is_file()
    assert (small.repository / "docs").read_text() == "see the README\n"


def test_template_brings_a_folder_where_a_file_is(small: Small) -> None:
    """The owner's file is kept beside it, unmerged; git reset and clean take all of it back."""
    (small.template / "template/extra").mkdir()
    (small.template / "template/extra/new").touch()
    small.release("v0.4.0")
    (small.repository / "extra").write_text("mine\n", encoding="utf-8")
    commit(small.repository, "Ours")
    before = contents(small.repository)
    assert update(small.repository).needs_care
    assert b"mine\n" in contents(small.repository).values()
    git(small.repository, "reset", "--quiet", ".")
    git(small.repository, "restore", ".")
    git(small.repository, "clean", "-fdq", ".")
    assert contents(small.repository) == before


@pytest.mark.parametrize("kind", ["file", "dangling link", "link to a folder"])
def test_ignored_things_in_the_way(kind: str, small: Small, tmp_path: Path) -> None:
    """Nothing is written over them, nor through them to somewhere else."""
    (small.template / "template/extra").mkdir()
    (small.template / "template/extra/new").touch()
    small.release("v0.4.0")
    edit(small.repository / ".gitignore", "{}/extra\n".format)
    commit(small.repository, "Ours")
    outside = tmp_path / "outside"
    outside.mkdir()
    mine = small.repository / "extra"
    if kind == "file":
        mine.write_text("mine\n", encoding="utf-8")
    else:
        mine.symlink_to(outside if kind == "link to a folder" else "nowhere")
    with pytest.raises(ScaffoldError, match="extra is in the way: the template brings extra/new"):
        update(small.repository)
    assert git(small.repository, "status", "--porcelain") == ""
    assert list(outside.iterdir()) == []
    assert os.path.lexists(mine)


def test_submodule_in_vendor(small: Small) -> None:
    """A driver of one's own as a submodule: its content is in another repository."""
    head = git(small.repository, "rev-parse", "HEAD")
    place = ("--cacheinfo", f"160000,{head},csrc/vendor/driver")
    replace(small.repository / "csrc/vendor/backend.cc", "reference/driver.h", "vendor/own.h")
    git(small.repository, "add", "--all")
    git(small.repository, "update-index", "--add", *place)
    (small.repository / "csrc/vendor/driver").mkdir()
    git(small.repository, "commit", "--quiet", "--message=A submodule")
    update(small.repository, data={"backend": "own"})
    assert "csrc/vendor/driver" in git(small.repository, "ls-files")
    assert not (small.repository / "csrc/reference").exists()


def test_undo_in_a_part_of_a_repository(small: Small, run: Command) -> None:
    """What is printed must not take back what was not committed elsewhere."""
    outer = small.repository.parent
    (small.repository / ".git").rename(outer / ".git")
    (outer / ".gitignore").write_text("/the template/\n", encoding="utf-8")
    (outer / "other.txt").write_text("committed\n", encoding="utf-8")
    commit(outer, "A larger repository")
    before = contents(small.repository)
    (outer / "other.txt").write_text("being edited\n", encoding="utf-8")
    edit(small.repository / "docs/guide.md", "Ours\n{}".format)
    git(outer, "commit", "--quiet", "--message=Ours", "--", small.repository.name)
    before = contents(small.repository)
    result = run("update")
    undo = result.err.splitlines()[-1].removeprefix("To undo all of it: ")
    assert contents(small.repository) != before
    subprocess.run(["sh", "-c", undo], cwd=small.repository, check=True)
    assert contents(small.repository) == before
    assert (outer / "other.txt").read_text() == "being edited\n"


def test_full_disk(small: Small) -> None:
    """Disks get full; that is told without a traceback."""
    program = (
        "import sys, tarfile, pjrt_scaffold._cli as c\n"
        "def full(*a, **b): raise OSError(28, 'No space left on device')\n"
        "tarfile.TarFile.extractall = full\n"
        "sys.argv[1:] = ['update']\n"
        "c.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=small.repository, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "pjrt-scaffold: No space left on device.\n  Scratch files go to" in done.stderr
    assert git(small.repository, "status", "--porcelain") == ""


@pytest.mark.parametrize("moment", ["_update._render", "_merge.shutil.copy", "_gaps.find"])
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ended_from_outside(
    ending: signal.Signals, moment: str, small: Small, tmp_path: Path
) -> None:
    """Status 2 and nothing changed; once the first file is written, the update is finished."""
    before = contents(small.repository)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    where, _, name = f"pjrt_scaffold.{moment}".rpartition(".")
    program = (
        "import os, signal, pjrt_scaffold._cli, pjrt_scaffold._update\n"
        # Children of nohup and of scripts that put them into the background ignore these.
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"real = {where}.{name}\n"
        "def ending(*a, **b):\n"
        f"    os.kill(os.getpid(), {int(ending)})\n"
        "    return real(*a, **b)\n"
        f"{where}.{name} = ending\n"
        "pjrt_scaffold._cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "update"],
        cwd=small.repository,
        env={**os.environ, "TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
    )
    assert list(scratch.iterdir()) == []
    if moment == "_update._render":
        assert done.returncode == 2
        assert done.stderr.endswith("pjrt-scaffold: Interrupted.\n")
        assert contents(small.repository) == before
    else:
        assert done.returncode == 1  # the small template's list of gaps is empty
        assert "template v0.1.0 to v0.3.0" in done.stdout
        assert "_commit: v0.3.0" in (small.repository / ".copier-answers.yml").read_text()
