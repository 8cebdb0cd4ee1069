"""`pjrt-scaffold new`, as a user sees it."""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path

import pytest
import yaml

from pjrt_scaffold import _answers, _copier, _shortcuts
from tests.cli.conftest import Command, Run
from tests.support.rendering import QUESTIONS, Renderer, contents, files, git

READY = """
{name} is ready: {count} files.

  cd "DIR/a folder/{folder}"
  make test        builds the plugin and runs its tests on JAX

README.md says what to do next; what you must write is marked VENDOR: in csrc/vendor.
"""


def recorded(tmp_path: Path, folder: str) -> dict[str, object]:
    content = (tmp_path / "a folder" / folder / _answers.FILE).read_text(encoding="utf-8")
    answers: dict[str, object] = yaml.safe_load(content)
    return answers


def left_over(tmp_path: Path) -> list[str]:
    return sorted(entry.name for entry in (tmp_path / "a folder").iterdir())


def test_from_a_checkout(run: Command, checkout: Path, tmp_path: Path) -> None:
    result = run("new", "my chip", "--defaults", "--source", checkout, "-d", "project_name=Acme")
    count = len(files(tmp_path / "a folder/my chip"))
    ready = READY.format(name="Acme", count=count, folder="my chip")
    assert result == Run("DIR/a folder/my chip\n", ready, 0)
    assert left_over(tmp_path) == ["my chip"]
    answers = recorded(tmp_path, "my chip")
    assert answers["_src_path"] == str(checkout)
    assert answers["_commit"] == git(checkout, "rev-parse", "--short", "HEAD")
    assert answers["project_name"] == "Acme"


def test_relative_source_is_recorded_absolute(run: Command, checkout: Path, tmp_path: Path) -> None:
    relative = os.path.relpath(checkout, tmp_path / "a folder")
    assert run("new", "out", "--defaults", "--source", relative).status == 0
    assert recorded(tmp_path, "out")["_src_path"] == str(checkout)


def test_json(run: Command, checkout: Path, tmp_path: Path) -> None:
    result = run("new", "out", "--defaults", "--json", "--source", checkout)
    data = json.loads(result.out)
    assert data["path"] == "DIR/a folder/out"
    assert data["updatable"] is True
    assert list(data["answers"]) == list(QUESTIONS)
    tree = tmp_path / "a folder/out"
    assert data["files"] == [path.relative_to(tree).as_posix() for path in files(tree)]


def test_into_an_empty_folder_that_is_there(run: Command, checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "a folder/out").mkdir()
    before = (tmp_path / "a folder/out").stat().st_ino
    assert run("new", "out", "--defaults", "--source", checkout).status == 0
    assert (tmp_path / "a folder/out").stat().st_ino == before  # a shell in it stays in it
    assert (tmp_path / "a folder/out/pyproject.toml").is_file()


def test_missing_parents_are_made(run: Command, checkout: Path, tmp_path: Path) -> None:
    assert run("new", "deep/er/out", "--defaults", "--source", checkout).status == 0
    assert left_over(tmp_path) == ["deep"]
    assert [p.name for p in (tmp_path / "a folder/deep/er").iterdir()] == ["out"]


def test_no_history_means_no_updates(run: Command, render: Renderer, tmp_path: Path) -> None:
    """As from an installed wheel: the template is there, its git history is not."""
    result = run("new", "out", "--defaults", "--source", render.template)
    assert result.status == 0
    assert result.err.endswith(
        "\nNote: this repository cannot be updated until a source is given: the installed\n"
        "package has no git history. Give the template's git URL when you update, once:\n"
        "pjrt-scaffold update --source URL. Or render with --source URL in the first place.\n"
    )
    assert "_src_path" not in recorded(tmp_path, "out")


def test_uncommitted_changes(run: Command, checkout: Path, tmp_path: Path) -> None:
    dirty = tmp_path / "dirty"
    git(tmp_path, "clone", "--quiet", str(checkout), str(dirty))
    (dirty / "template" / "NEW.md").write_text("new\n", encoding="utf-8")
    arguments = ("new", "out", "--defaults", "--source", dirty)
    assert run(*arguments) == Run(
        "",
        "pjrt-scaffold: The template in DIR/dirty has uncommitted changes (1): template/NEW.md\n"
        "  A repository rendered from them could not be updated: no commit holds them.\n"
        "  Commit them, or try them out with --allow-dirty.\n",
        2,
    )
    assert left_over(tmp_path) == []
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    assert run(*arguments, "--allow-dirty", env=nobody).status == 0
    assert (tmp_path / "a folder/out/NEW.md").is_file()
    # Copier's commit of the changes is gone by now, so the one below it is recorded.
    assert recorded(tmp_path, "out")["_commit"] == git(checkout, "rev-parse", "--short", "HEAD")


@pytest.mark.parametrize("unlike", ["an ignored file", "other line ends"])
def test_what_is_rendered_is_the_commit(
    unlike: str, run: Command, checkout: Path, tmp_path: Path
) -> None:
    """A checkout without changes may still hold other bytes than its commit."""
    other = tmp_path / "other"
    convert = [] if unlike == "an ignored file" else ["--config", "core.autocrlf=true"]
    git(tmp_path, "clone", "--quiet", *convert, str(checkout), str(other))
    if unlike == "an ignored file":
        (other / ".git/info/exclude").write_text("notes.txt\n", encoding="utf-8")
        (other / "template/notes.txt").write_text("mine\n", encoding="utf-8")
    for name, source in (("one", checkout), ("two", other)):
        assert run("new", name, "--defaults", "--source", source).status == 0
    one, two = (contents(tmp_path / "a folder" / name) for name in ("one", "two"))
    del one[_answers.FILE], two[_answers.FILE]
    assert one == two


def test_vcs_ref(run: Command, checkout: Path, tmp_path: Path) -> None:
    tagged = tmp_path / "tagged"
    git(tmp_path, "clone", "--quiet", str(checkout), str(tagged))
    git(tagged, "tag", "v0.0.1")
    (tagged / "template" / "NEW.md").write_text("new\n", encoding="utf-8")
    git(tagged, "add", ".")
    git(tagged, "commit", "--quiet", "--message=More")
    source = ("--defaults", "--source", tagged)
    assert run("new", "old", *source, "--vcs-ref", "v0.0.1").status == 0
    assert recorded(tmp_path, "old")["_commit"] == "v0.0.1"
    assert not (tmp_path / "a folder/old/NEW.md").exists()
    assert run("new", "x", *source, "--vcs-ref", "v9") == Run(
        "",
        "pjrt-scaffold: The template DIR/tagged has no commit, tag or branch v9.\n"
        "  Its releases, newest first: v0.0.1.\n"
        "  Choose another --vcs-ref, for example HEAD.\n",
        2,
    )
    assert left_over(tmp_path) == ["old"]


REFUSED = {
    "unknown question": (
        ["-d", "bakcend=stub"],
        "There is no question 'bakcend'. Did you mean backend?\n"
        f"  The questions are: {', '.join(QUESTIONS)}.\n"
        "  `pjrt-scaffold new --help` shows how answers are given.\n",
    ),
    "computed question": (
        ["-d", "env_prefix=X"],
        "There is no question 'env_prefix'.\n"
        f"  The questions are: {', '.join(QUESTIONS)}.\n"
        "  `pjrt-scaffold new --help` shows how answers are given.\n",
    ),
    "validator": (
        ["-d", "platform_name=cuda"],
        "platform_name=cuda is not valid.\n"
        "  'cuda' belongs to JAX or to another plugin; choose a name of your own, "
        "for example: mychip\n",
    ),
    "choice": (
        ["-d", "backend=cpu"],
        "backend=cpu is not valid.\n  Valid values: reference_cpu, stub, own\n",
    ),
    "type": (
        ["-d", "num_devices=many"],
        "num_devices=many is not valid.\n  Give a whole number\n",
    ),
    "no answer": (
        ["-d", "backend"],
        "-d backend is not an answer.\n  An answer is KEY=VALUE, for example backend=stub.\n",
    ),
    "answered twice": (
        ["-d", "ci=none", "-d", "ci=github"],
        "The question 'ci' is answered twice.\n  Give -d once.\n",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_answers(case: str, run: Command, checkout: Path, tmp_path: Path) -> None:
    arguments, message = REFUSED[case]
    result = run("new", "deep/out", "--defaults", "--source", checkout, *arguments)
    assert result == Run("", f"pjrt-scaffold: {message}", 2)
    assert left_over(tmp_path) == []


def test_unknown_api_version_lists_the_known(run: Command, checkout: Path) -> None:
    arguments = ["--defaults", "--source", checkout, "-d", "pjrt_api_version=0.9999"]
    result = run("new", "out", *arguments)
    assert result.err.startswith("pjrt-scaffold: pjrt_api_version=0.9999 is not valid.\n")
    assert "0.116, 0.115" in result.err
    assert result.status == 2


def test_questions_need_a_terminal(run: Command, checkout: Path) -> None:
    assert run("new", "out", "--source", checkout) == Run(
        "",
        "pjrt-scaffold: The questions cannot be asked: the input is not a terminal.\n"
        "  Add --defaults, and -d KEY=VALUE for what should differ.\n",
        2,
    )


def test_folder_is_not_empty(run: Command, checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "a folder/out").mkdir()
    (tmp_path / "a folder/out/keep.txt").touch()
    assert run("new", "out", "--defaults", "--source", checkout) == Run(
        "",
        "pjrt-scaffold: DIR/a folder/out is not empty.\n"
        "  A new repository is only rendered into a new or an empty folder.\n"
        "  Choose another folder, or empty this one.\n",
        2,
    )
    assert [p.name for p in (tmp_path / "a folder/out").iterdir()] == ["keep.txt"]


def test_folder_is_a_file(run: Command, checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "a folder/out").touch()
    source = ("--defaults", "--source", checkout)
    assert run("new", "out", *source) == Run(
        "",
        "pjrt-scaffold: DIR/a folder/out is a file.\n  Choose a new or an empty folder.\n",
        2,
    )
    assert run("new", "out/below", *source) == Run(
        "",
        "pjrt-scaffold: DIR/a folder/out/below cannot be made: DIR/a folder/out is a file.\n"
        "  Choose another folder.\n",
        2,
    )


def test_source_is_no_template(run: Command, tmp_path: Path) -> None:
    assert run("new", "out", "--defaults", "--source", "..") == Run(
        "",
        "pjrt-scaffold: DIR is not the template: it has no copier.yml.\n"
        "  Give --source the git URL, or a checkout's root folder.\n",
        2,
    )
    assert run("new", "out", "--defaults", "--source", "../nowhere") == Run(
        "",
        "pjrt-scaffold: There is no template at ../nowhere.\n"
        "  Give --source the git URL, or a checkout's root folder.\n",
        2,
    )
    unreachable = f"file://{tmp_path}/nowhere.git"
    result = run("new", "out", "--defaults", "--source", unreachable)
    assert result.err.startswith(
        "pjrt-scaffold: git could not fetch the template file://DIR/nowhere.git at HEAD.\n"
    )
    assert "  Check the address, the network and --vcs-ref.\n" in result.err
    assert result.status == 2
    assert left_over(tmp_path) == []


def test_no_git(run: Command, checkout: Path, tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    result = run("new", "out", "--defaults", "--source", checkout, env={"PATH": str(empty)})
    assert result == Run(
        "",
        "pjrt-scaffold: git is not installed, or not on PATH.\n"
        "  The template is fetched with git, and `update` needs it later.\n"
        "  Install it (Debian: apt install git; macOS: xcode-select --install).\n",
        2,
    )


def test_copier_is_left_as_it_was(render: Renderer, tmp_path: Path) -> None:
    """What makes copier faster ends with the rendering, and is still there to be made faster."""
    from copier import _main, _user_data
    from jinja2 import Environment

    def replaced() -> tuple[object, ...]:
        worker, question = _main.Worker, _user_data.Question
        return (
            Environment.from_string,
            Environment._load_template,
            worker._render_string,
            worker.answers_relpath,
            question.get_default,
        )

    before = replaced()
    assert isinstance(_main.Worker.answers_relpath, property)
    with _shortcuts.taken():
        assert all(now is not was for now, was in zip(replaced(), before, strict=True))
        assert not gc.isenabled()
    _copier.copy(str(render.template), tmp_path / "mychip", {})
    assert replaced() == before
    assert gc.isenabled()


def test_hidden_answers_are_computed_once() -> None:
    class Question:
        when: object = False
        var_name = "api"

    computed: list[object] = []
    get_default = _shortcuts._hidden_answers_computed_once(computed.append)
    hidden, asked = Question(), Question()
    asked.when = True
    for question in (hidden, hidden, asked, asked):
        get_default(question)
    assert computed == [hidden, asked, asked]
