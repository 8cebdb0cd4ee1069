"""What CI does once a week in generated repositories: tools/propose_update.sh, as it runs there."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest
import yaml

from pjrt_scaffold import _answers
from tests.support.gitlab import Pipelines
from tests.support.rendering import Renderer, git
from tests.update.conftest import Small
from tests.update.histories import commit, replace

BRANCH = "pjrt-scaffold/v0.3.0-api-0.98"
TITLE = "Update to template v0.3.0, PJRT C API 0.98"
TOKEN = "a secret"


@dataclass
class Request:
    """A merge or pull request as it was opened."""

    source: str
    title: str
    body: str
    draft: bool


@dataclass(frozen=True)
class Runner:
    """A machine of CI's with the small repository.

    Attributes:
        checkout: as the machine has it.
        home: a folder with `bin`, what commands of others are, and `origin.git`.
        environment: what the host's own variables are.
        requests: those that were opened.
    """

    checkout: Path
    home: Path
    environment: dict[str, str]
    requests: Callable[[], list[Request]]

    def run(self, api: str, status: int = 0, **variables: str) -> str:
        """Propose an update. Returns what that prints."""
        environment = {
            **os.environ,
            "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "TMPDIR": str(self.home),
            **self.environment,
            **variables,
        }
        done = subprocess.run(
            ["sh", "tools/propose_update.sh", api],
            cwd=self.checkout,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + (done.stderr if status else "")


class GitLab(ThreadingHTTPServer):
    """As much of GitLab's API as opens merge requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.opened: list[dict[str, list[str]]] = []
        self.paths: list[str] = []


class Handler(BaseHTTPRequestHandler):
    """Takes what has the right token."""

    server: GitLab

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        good = self.headers["PRIVATE-TOKEN"] == TOKEN
        if good:
            self.server.paths.append(self.path)
            self.server.opened.append(parse_qs(text, strict_parsing=True))
        answer = b"{}" if good else b'{"message": "401 Unauthorized"}'
        self.send_response(201 if good else 401)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def gitlab() -> Iterator[GitLab]:
    server = GitLab()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Opened:
    """Reads what `gh` was told."""

    path: Path

    def __call__(self) -> list[Request]:
        if not self.path.is_file():
            return []
        words = self.path.read_text(encoding="utf-8").splitlines()
        assert words[:2] == ["pr", "create"]
        options = dict(zip(words[2::2], words[3::2], strict=False))
        body = Path(options["--body-file"]).read_text(encoding="utf-8")
        return [Request(options["--head"], options["--title"], body, "--draft" in words)]


@pytest.fixture(params=["github", "gitlab"])
def runner(
    request: pytest.FixtureRequest, small: Small, render: Renderer, gitlab: GitLab, tmp_path: Path
) -> Runner:
    home = tmp_path / "runner"
    (home / "bin").mkdir(parents=True)
    for name, text in (
        ("pjrt-scaffold", f'exec "{sys.executable}" -m pjrt_scaffold "$@"'),
        ("gh", f"printf '%s\\n' \"$@\" > '{home}/gh'"),
    ):
        (home / "bin" / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (home / "bin" / name).chmod(0o755)
    address = f"_src_path: file://{small.template}"
    replace(small.repository / _answers.FILE, f"_src_path: {small.template}", address)
    (small.repository / "tools").mkdir(exist_ok=True)
    for script in (render({"ci": request.param}) / "tools").glob("*.sh"):
        (small.repository / "tools" / script.name).write_bytes(script.read_bytes())
    commit(small.repository, "A template that can be reached")
    git(home, "clone", "--quiet", "--bare", str(small.repository), "origin.git")
    git(home, "clone", "--quiet", "origin.git", "checkout")
    if request.param == "github":
        opened = Opened(home / "gh")
        return Runner(home / "checkout", home, {"GITHUB_ACTIONS": "true"}, opened)
    git(home / "checkout", "switch", "--quiet", "--detach")  # as GitLab checks out
    variables = {
        "UPDATE_TOKEN": TOKEN,
        "CI_PROJECT_URL": f"file://{home / 'origin'}",
        "CI_PROJECT_ID": "7",
        "CI_SERVER_HOST": "gitlab.example.com",
        "CI_DEFAULT_BRANCH": "main",
        "CI_API_V4_URL": f"http://127.0.0.1:{gitlab.server_address[1]}/api/v4",
    }

    def requests() -> list[Request]:
        found = []
        for form in gitlab.opened:
            one = {name: value for name, (value,) in form.items()}
            assert (one["target_branch"], one["remove_source_branch"]) == ("main", "true")
            title = one["title"].removeprefix("Draft: ")
            body, draft = one["description"], one["title"] != title
            found.append(Request(one["source_branch"], title, body, draft))
        assert set(gitlab.paths) <= {"/api/v4/projects/7/merge_requests"}
        return found

    return Runner(home / "checkout", home, variables, requests)


def test_a_request_is_opened_once(runner: Runner) -> None:
    (runner.checkout / "csrc/plugin/layer.h").unlink()  # with it the list of gaps would be wrong
    commit(runner.checkout, "Without a layer")
    report = runner.run("0.98")
    assert report.startswith("template v0.1.0 to v0.3.0, PJRT C API 0.90 to 0.98: ")
    (opened,) = runner.requests()
    assert (opened.source, opened.title, opened.draft) == (BRANCH, TITLE, False)
    assert opened.body.startswith("```\ntemplate v0.1.0 to v0.3.0")
    assert opened.body.endswith("```\n")
    origin = runner.home / "origin.git"
    changed = git(origin, "diff", "--name-only", f"main..{BRANCH}").splitlines()
    assert ".copier-answers.yml" in changed
    author = git(origin, "log", "-1", "--format=%an <%ae>", BRANCH)
    assert author in {
        "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>",
        "pjrt-scaffold <noreply@gitlab.example.com>",
    }
    # Next week nobody has merged it yet.
    git(runner.checkout, "switch", "--quiet", "--detach", f"{BRANCH}~")
    assert "is there already" in runner.run("0.98")
    assert len(runner.requests()) == 1


def test_what_is_left_to_do_makes_a_draft(runner: Runner) -> None:
    runner.run("0.98")
    (opened,) = runner.requests()
    assert opened.draft
    assert opened.title == TITLE
    assert opened.body.startswith("Something is left")


def test_nothing_newer(runner: Runner, small: Small) -> None:
    git(small.template, "tag", "--delete", "v0.2.0", "v0.3.0")
    git(small.template, "reset", "--quiet", "--hard", "v0.1.0")
    assert runner.run("0.90").endswith("Nothing is newer than what is here.\n")
    assert runner.requests() == []


def test_template_on_somebodys_machine(runner: Runner) -> None:
    replace(runner.checkout / _answers.FILE, "file://", "")
    said = runner.run("0.98")
    assert said.startswith("::notice::") == ("GITHUB_ACTIONS" in runner.environment)
    assert "Record its git URL here: pjrt-scaffold update --source URL" in said
    assert runner.requests() == []


def test_an_update_that_fails(runner: Runner) -> None:
    """Uncommitted changes: nothing is updated, and the job fails."""
    replace(runner.checkout / "Makefile", "Line 1 ", "Line one ")
    runner.run("0.98", status=2)
    assert runner.requests() == []


@pytest.mark.parametrize("runner", ["gitlab"], indirect=True)
def test_the_token_of_gitlab(runner: Runner) -> None:
    assert "there is no UPDATE_TOKEN" in runner.run("0.98", status=1, UPDATE_TOKEN="")
    said = runner.run("0.98", status=1, UPDATE_TOKEN="another")
    assert "401 Unauthorized" in said
    assert "another" not in said
    assert runner.requests() == []


def test_git_is_given_the_token_of_gitlab(render: Renderer, tmp_path: Path) -> None:
    """As git asks for it: what is after `credential.helper=` in the script."""
    text = (render({"ci": "gitlab"}) / "tools/propose_update.sh").read_text(encoding="utf-8")
    _, helper, _ = text.split("credential.helper=", 2)[2].split("'", 2)
    command = ["git", "-c", "credential.helper=", "-c", f"credential.helper={helper}"]
    done = subprocess.run(
        [*command, "credential", "fill"],
        input="protocol=https\nhost=gitlab.example.com\n\n",
        env={**os.environ, "UPDATE_TOKEN": TOKEN, "GIT_TERMINAL_PROMPT": "0"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"password={TOKEN}\n" in done.stdout
    assert "username=" in done.stdout


def test_both_hosts_run_the_script(render: Renderer) -> None:
    workflow = render() / ".github/workflows/update.yml"
    steps = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]["update"]["steps"]
    github = [step["run"] for step in steps if "run" in step]
    gitlab = Pipelines.of(render({"ci": "gitlab"})).jobs()["update"]["script"]
    assert github == gitlab == ['sh tools/propose_update.sh "$API"']
