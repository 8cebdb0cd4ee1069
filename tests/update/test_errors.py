"""What cannot be updated is refused, or put back: the repository is as it was before."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pjrt_scaffold import _answers
from pjrt_scaffold.errors import ScaffoldError
from tests.support.rendering import commit_all, contents, git
from tests.update.conftest import Small
from tests.update.histories import commit, edit, update


def refused(repository: Path, **wish: object) -> ScaffoldError:
    """The error of an update that leaves everything as it was."""
    before = contents(repository), _state(repository)
    with pytest.raises(ScaffoldError) as caught:
        update(repository, **wish)
    assert (contents(repository), _state(repository)) == before
    assert caught.value.todo or caught.value.why
    return caught.value


def _state(repository: Path) -> str:
    if not (repository / ".git").exists():
        return ""
    status = git(repository, "status", "--porcelain", "--ignored")
    return status + git(repository, "ls-files", "--stage")


WISHES: dict[str, tuple[dict[str, object], str]] = {
    "unknown API version": (
        {"api": "0.999"},
        "API version 0.999 is not in the registry\nthe registry holds 0.54 to ",
    ),
    "unknown jaxlib": ({"jaxlib": "9.9"}, "jaxlib 9.9 is not in the registry\nknown releases: "),
    "no version": ({"api": "newest"}, "'newest' is no version\n"),
    "two versions": (
        {"api": "0.90", "data": {"pjrt_api_version": "0.91"}},
        "The API version is given 2 times: 0.90, 0.91.\n",
    ),
    "unknown release": ({"template": "v9"}, "The template "),
    "option as release": ({"template": "--help"}, "The template "),
    "unknown question": ({"data": {"bakcend": "own"}}, "There is no question 'bakcend'. Did you"),
    "bad answer": ({"data": {"backend": "cpu"}}, "backend=cpu is not valid.\nValid values: "),
    "computed answer": ({"data": {"api_minor": "1"}}, "There is no question 'api_minor'."),
    "unreachable": (
        {"source": "file:///nowhere/template.git"},
        "git could not fetch the template file:///nowhere/template.git.\n",
    ),
    "no network": (
        {"source": "https://127.0.0.1:9/template.git"},
        "git could not fetch the template https://127.0.0.1:9/template.git.\n",
    ),
}


@pytest.mark.parametrize("case", WISHES)
def test_wrong_wishes(case: str, small: Small) -> None:
    wish, message = WISHES[case]
    assert str(refused(small.repository, **wish)).startswith(message)


def test_uncommitted_changes(small: Small) -> None:
    (small.repository / "notes.txt").write_text("mine\n", encoding="utf-8")
    edit(small.repository / "README.md", "{}more\n".format)
    error = refused(small.repository)
    assert error.what == "There are changes that no commit holds (2): README.md, notes.txt"


def test_no_commit_and_no_git(small: Small) -> None:
    shutil.rmtree(small.repository / ".git")
    assert refused(small.repository).what == f"{small.repository} is not in a git repository."
    git(small.repository, "init", "--quiet")
    assert refused(small.repository).what == f"{small.repository} has no commit yet."


def test_deleted_answers_file(small: Small) -> None:
    (small.repository / _answers.FILE).unlink()
    assert "there is no .copier-answers.yml" in refused(small.repository).what
    commit(small.repository, "Gone")
    error = refused(small.repository)
    assert (
        error.what == f"{small.repository} is no generated repository: there is no {_answers.FILE}."
    )
    assert f"git log --diff-filter=D -- {_answers.FILE}" in error.todo


ANSWERS = {
    "conflict": ("<<<<<<< ours\n_commit: a\n=======\n", "cannot be read"),
    "no mapping": ("- a\n- b\n", "holds no answers"),
    "empty": ("", "holds no answers"),
    "no commit": ("_src_path: {template}\n", "does not say which template commit it is from"),
    "no source": ("_commit: v0.1.0\n", "does not say where its template is"),
    "another commit": ("_commit: v7\n_src_path: {template}\n", "has no commit v7"),
    "bad answer": (
        "_commit: v0.1.0\n_src_path: {template}\nbackend: cpu\n",
        "backend=cpu is not valid",
    ),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_edited_answers_file(case: str, small: Small) -> None:
    text, message = ANSWERS[case]
    (small.repository / _answers.FILE).write_text(
        text.format(template=small.template), encoding="utf-8"
    )
    commit(small.repository, "An edit")
    assert message in refused(small.repository).what


def test_edited_template(small: Small) -> None:
    edit(small.template / "template/Makefile", "{}# mine\n".format)
    error = refused(small.repository)
    assert "has uncommitted changes (1): template/Makefile" in error.what
    assert error.todo == "Commit them, or name a commit: --template REF."
    assert update(small.repository, template="v0.2.0").new.template == "v0.2.0"


def test_template_gone(small: Small) -> None:
    small.template.rename(small.template.with_name("moved"))
    assert refused(small.repository).what == f"git could not fetch the template {small.template}."


def test_source_is_no_template(small: Small, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert "git could not fetch" in refused(small.repository, source=str(other)).what
    (other / "README.md").touch()
    commit_all(other)
    assert "has no commit v0.1.0" in refused(small.repository, source=str(other)).what
    git(other, "tag", "v0.1.0")
    assert (
        "is not the template: it has no copier.yml"
        in refused(small.repository, source=str(other)).what
    )


def test_package_older_than_the_template(small: Small) -> None:
    (small.template / "pjrt_scaffold/__init__.py").write_text('__version__ = "99.1"\n')
    small.release("v99.1")
    error = refused(small.repository)
    assert error.what.startswith("The template v99.1 needs pjrt-scaffold 99.1; this is ")
    assert update(small.repository, template="v0.3.0").new.template == "v0.3.0"


def test_reference_still_in_use(small: Small) -> None:
    """Without the reference backend, what uses it would not compile."""
    edit(small.repository / "csrc/vendor/overrides.h", "{}// ours\n".format)
    commit(small.repository, "Ours")
    error = refused(small.repository, data={"backend": "own"})
    assert "still use the reference backend: csrc/vendor/backend.cc." in error.what


def test_ignored_file_in_the_way(small: Small) -> None:
    edit(small.repository / ".gitignore", "{}/local.mk\n".format)
    commit(small.repository, "Ours")
    (small.repository / "local.mk").write_text("mine\n", encoding="utf-8")
    (small.template / "template/local.mk").write_text("theirs\n", encoding="utf-8")
    small.release("v0.4.0")
    assert refused(small.repository).what.startswith("local.mk is in the way")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_interrupted_while_writing(
    error: BaseException, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the files are written when the disk is full, or the user has enough."""
    edit(small.repository / "docs/guide.md", "Our first line\n{}".format)  # a conflict
    (small.template / "template/hatch_build.py").unlink()
    (small.template / "template/NEW.md").touch()
    small.release("v0.4.0")
    commit(small.repository, "Ours")
    before = contents(small.repository)
    real: Callable[..., object] = shutil.copy
    written: list[object] = []

    def failing(source: object, dest: object, **options: object) -> object:
        if len(written) == 5:
            raise error
        written.append(dest)
        return real(source, dest, **options)

    monkeypatch.setattr("pjrt_scaffold._merge.shutil.copy", failing)
    expected = ScaffoldError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        update(small.repository, api="latest")
    assert len(written) == 5
    assert contents(small.repository) == before
    assert git(small.repository, "status", "--porcelain") == ""


def test_inside_a_git_hook(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git's own variables point elsewhere there; the folder counts."""
    monkeypatch.setenv("GIT_DIR", os.devnull)
    monkeypatch.setenv("GIT_INDEX_FILE", os.devnull)
    assert update(small.repository, template="v0.2.0").new.template == "v0.2.0"
