"""The GitLab pipelines of generated repositories: sound, and made of what also runs locally."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.gitlab import Pipelines, UnknownSyntaxError, holds, matrix
from tests.support.rendering import ROOT, Answers, Renderer, label
from tests.support.workflow_linters import findings
from tests.template.test_workflows import makefile_rules
from tools.jaxlibs_matrix import TESTED

GITLAB = {"ci": "gitlab"}
SOME: list[Answers] = [
    GITLAB,
    {**GITLAB, "backend": "stub", "wheel_platforms": "[macos_arm64]", "discovery": "entry_point"},
    {**GITLAB, "backend": "own", "wheel_platforms": "[linux_x86_64]", "plugin_name": "acme_x1"},
    {**GITLAB, "layout": "split", "wheel_platforms": "[linux_x86_64, linux_aarch64]"},
]
SCHEMA = (
    "check-jsonschema",
    *("--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"),
)
MACHINE = re.compile(r"apt-get (update|install --yes [a-z. -]*)")
TAG = {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_TAG": "v1.2.3"}
MAIN = {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main"}
REQUEST = {"CI_PIPELINE_SOURCE": "merge_request_event"}
NIGHT = {"CI_PIPELINE_SOURCE": "schedule", "CI_COMMIT_BRANCH": "main"}
BY_HAND = {"CI_PIPELINE_SOURCE": "web", "CI_COMMIT_BRANCH": "main"}
INDEX = {"JAX_NIGHTLY_INDEX": "https://example.com"}
WHEELS = {"wheels-linux-x86_64", "wheels-linux-aarch64", "wheels-macos-arm64"}
CHECKS = {"form", "build", "test"}
THOROUGH = CHECKS | {"unit", "sanitizers"}
DRY_RUN = {"check-release", "sdist", "release", *WHEELS}
EVENTS: list[tuple[dict[str, str], set[str]]] = [
    (REQUEST, THOROUGH),
    (REQUEST | INDEX, THOROUGH),
    (MAIN, CHECKS),
    ({**MAIN, "CI_COMMIT_BRANCH": "topic"}, set()),
    (NIGHT, THOROUGH),
    (NIGHT | INDEX, THOROUGH | {"nightly-jax"}),
    (BY_HAND | INDEX, THOROUGH | {"nightly-jax"}),
    (NIGHT | {"PIPELINE": "jax-tests"}, {"jax-tests"}),
    (NIGHT | {"PIPELINE": "update"}, {"update"}),
    (BY_HAND | {"PIPELINE": "dry-run"}, DRY_RUN),
    (TAG, DRY_RUN | {"publish"}),
    ({**TAG, "CI_COMMIT_TAG": "other"}, set()),
    # Nobody's variable makes a release of what is no pushed tag.
    (BY_HAND | {"PIPELINE": "release"}, DRY_RUN),
    (NIGHT | {"PIPELINE": "release"}, DRY_RUN),
    ({"CI_PIPELINE_SOURCE": "web", "CI_COMMIT_TAG": "v1.2.3", "PIPELINE": "release"}, DRY_RUN),
    ({"CI_PIPELINE_SOURCE": "trigger", "PIPELINE": "release"}, set()),
]


@pytest.fixture(scope="module", params=SOME, ids=label)
def tree(request: pytest.FixtureRequest, render: Renderer) -> Path:
    return render(request.param)


@pytest.fixture(scope="module")
def pipelines(tree: Path) -> Pipelines:
    return Pipelines.of(tree)


def scripts(job: dict[str, Any]) -> list[str]:
    """The commands of a job, one a line."""
    return [line for entry in job["script"] for line in entry.splitlines()]


def test_conditions() -> None:
    known = {"A": "x", "B": "x"}
    assert holds('$A == "x" && $B', known)
    assert holds("$A == $B", known)
    assert holds("$C || $A =~ /^x/", known)
    assert not holds('$A == "y" || $C == "x" || $A =~ /^y/', known)
    with pytest.raises(UnknownSyntaxError):
        holds('$A != "x"', known)


def test_the_schema_is_kept(tree: Path) -> None:
    assert findings(SCHEMA, [tree / ".gitlab-ci.yml"]) == ""


def test_the_schema_finds_what_is_wrong(render: Renderer, tmp_path: Path) -> None:
    text = (render(GITLAB) / ".gitlab-ci.yml").read_text(encoding="utf-8")
    (tmp_path / ".gitlab-ci.yml").write_text(text.replace("when: manual", "when: asked"))
    assert "asked" in findings(SCHEMA, [tmp_path / ".gitlab-ci.yml"])


@pytest.mark.parametrize(("event", "jobs"), EVENTS)
def test_which_jobs_run(event: dict[str, str], jobs: set[str], render: Renderer) -> None:
    assert set(Pipelines.of(render(GITLAB)).started(**event)) == jobs


@pytest.mark.parametrize(("event", "jobs"), EVENTS)
def test_what_a_job_needs_is_there(
    event: dict[str, str], jobs: set[str], pipelines: Pipelines
) -> None:
    """GitLab refuses a pipeline in which a job needs one that its rules leave out."""
    started = pipelines.started(**event)
    stages = pipelines.document["stages"]
    for name, job in started.items():
        assert job["stage"] in stages, name
        for needed in job.get("needs", []):
            assert needed in started, name
            assert stages.index(started[needed]["stage"]) <= stages.index(job["stage"])
    assert bool(started) == bool(jobs)


def test_a_wheel_for_each_platform(tree: Path, pipelines: Pipelines) -> None:
    answers = yaml.safe_load((tree / ".copier-answers.yml").read_text(encoding="utf-8"))
    wanted = {f"wheels-{name.replace('_', '-', 1)}" for name in answers["wheel_platforms"]}
    jobs = pipelines.jobs()
    assert {name for name in jobs if name.startswith("wheels-")} == wanted
    assert set(jobs["release"]["needs"]) == {"sdist", *wanted}
    for name in wanted:
        (tag,) = jobs[name]["tags"]
        assert tag[1:] in pipelines.document["variables"]
        assert ("services" in jobs[name]) == name.startswith("wheels-linux")


def test_commands_are_targets_and_scripts(tree: Path, pipelines: Pipelines) -> None:
    targets = set(makefile_rules(tree).replace(":", "").split())
    seen = set()
    for name, job in pipelines.jobs().items():
        for variables in matrix(job):
            for line in scripts(job):
                for command in line.replace("$TARGET", variables.get("TARGET", "")).split(" && "):
                    words = shlex.split(command)
                    if MACHINE.fullmatch(command) or command == "mv wheelhouse/*.whl dist/":
                        continue
                    if name == "jax-tests" and command.startswith(("git clone ", "jax=$(")):
                        continue
                    if words[0] == "sh":
                        assert (tree / words[1]).is_file(), command
                        continue
                    assert words[0] == "make", command
                    assert any(word.startswith("PYTHON=python") for word in words), command
                    seen |= {word for word in words[1:] if "=" not in word}
    assert seen <= targets
    workflow_targets = {"lint", "typecheck", "build", "test", "test-installed", "jax-tests"}
    workflow_targets |= {"sanitize-tsan", "sanitize-python", "wheels", "sdist", "publish"}
    assert seen == workflow_targets | {"check-release", "check-dist"}


def test_it_does_what_the_workflows_of_github_do(render: Renderer) -> None:
    """The same targets, each but `publish`, which an action of others does there."""

    def commands(text: str) -> set[tuple[str, ...]]:
        found = re.findall(r"^ *- (?:run: )?make (.*)$", text, re.M)
        return {tuple(word for word in shlex.split(line) if "=" not in word) for line in found}

    ours = commands((render(GITLAB) / ".gitlab-ci.yml").read_text(encoding="utf-8"))
    workflows = (render() / ".github/workflows").glob("*.yml")
    theirs = commands("\n".join(path.read_text(encoding="utf-8") for path in workflows))
    theirs = {tuple(w for w in words if "{" not in w and "}" not in w) for words in theirs}
    known = {("$TARGET",), ("publish",)}
    assert {words for words in ours if words not in known} == {
        words for words in theirs if words != ("matrix.target",)
    }


def test_images_have_exact_versions(pipelines: Pipelines) -> None:
    # Of those for macOS, gitlab.com has deprecated the older ones.
    exact = re.compile(r"python:3\.\d+\.\d+-bookworm|docker:\d+\.\d+\.\d+-dind|macos-15-xcode-16")
    for job in pipelines.jobs().values():
        for variables in matrix(job):
            image = job["image"].replace("$IMAGE", variables.get("IMAGE", ""))
            names = [image, *(service["name"] for service in job.get("services", []))]
            assert all(exact.fullmatch(name) for name in names), names


def test_each_jax_is_tested_beside_its_python(pipelines: Pipelines) -> None:
    job = pipelines.jobs()["test"]
    found = [(row["IMAGE"], row["JAX_VERSION"]) for row in matrix(job)]
    assert [jax for _, jax in found] == [release.jaxlib for release in TESTED]
    for (image, _), release in zip(found, TESTED, strict=True):
        assert image.startswith(f"python:{release.python}.")


def test_the_wheel_is_built_once(pipelines: Pipelines) -> None:
    jobs = pipelines.jobs()
    for name in ("test", "nightly-jax"):
        assert jobs[name]["needs"] == ["build"]
        assert all(line.startswith("make test-installed ") for line in scripts(jobs[name]))
    assert jobs["nightly-jax"]["allow_failure"] is True
    assert "allow_failure" not in jobs["test"]


def test_only_a_tag_is_uploaded_after_approval(pipelines: Pipelines) -> None:
    jobs = pipelines.jobs()
    publish = jobs["publish"]
    (rule,) = publish["rules"]
    assert rule["when"] == "manual"
    assert "allow_failure" not in rule
    assert publish["environment"] == "pypi"
    assert publish["needs"] == ["release"]
    assert set(publish["id_tokens"]) == {"PYPI_ID_TOKEN", "SIGSTORE_ID_TOKEN"}
    assert [name for name, job in jobs.items() if "id_tokens" in job] == ["publish"]
    assert [name for name, job in jobs.items() if "publish" in str(job["script"])] == ["publish"]
    assert [name for name, job in jobs.items() if "environment" in job] == ["update", "publish"]
    for name in ("release", "publish", "sdist"):
        assert jobs[name]["interruptible"] is False
        assert "cache" not in jobs[name], "what others wrote into a cache must not be released"


def test_caches_are_where_tools_look_and_git_does_not(tree: Path, pipelines: Pipelines) -> None:
    variables = pipelines.document["variables"]
    assert variables["PIP_CACHE_DIR"] == "$CI_PROJECT_DIR/.cache/pip"
    assert variables["CCACHE_DIR"] == "$CI_PROJECT_DIR/.cache/ccache"
    paths = {
        path
        for job in pipelines.jobs().values()
        for path in job.get("cache", {"paths": []})["paths"]
    }
    assert paths == {".cache/pip", ".cache/ccache"}
    assert "/.cache/" in (tree / ".gitignore").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", sorted(THOROUGH | DRY_RUN | {"nightly-jax", "publish", "update"}))
def test_the_shell_of_a_job_runs(name: str, render: Renderer, tmp_path: Path) -> None:
    """As GitLab runs it: each line by a shell that ends at the first failure."""
    job = Pipelines.of(render(GITLAB)).jobs()[name]
    for command in ("make", "apt-get", "pjrt-scaffold", "sh"):
        path = tmp_path / "bin" / command
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/bash\nprintf "%s\\n" "{command} $*" >> {tmp_path}/called\n')
        path.chmod(0o755)
    for folder in ("wheelhouse", "dist"):
        (tmp_path / folder).mkdir()
    (tmp_path / "wheelhouse/x-1-py3-none-any.whl").touch()
    for variables in matrix(job):
        environment = {
            **os.environ,
            **variables,
            "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
            "CI_COMMIT_TAG": "v1.2.3",
            "API": "latest",
        }
        script = "set -eo pipefail\n" + "\n".join(job["script"])
        subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, check=True)
        (tmp_path / "wheelhouse/x-1-py3-none-any.whl").touch()
    called = (tmp_path / "called").read_text(encoding="utf-8").splitlines()
    assert len(called) >= len(list(matrix(job)))
    if name == "test":
        assert called == [
            f"make test-installed PYTHON=python JAX=jax=={release.jaxlib}" for release in TESTED
        ]
    if "release" in name or name == "publish":
        assert called[-1].endswith(" TAG=v1.2.3")
    if name == "release":
        assert (tmp_path / "dist/x-1-py3-none-any.whl").is_file()


def test_the_files_of_jaxs_tests_are_those_of_github(render: Renderer) -> None:
    job = Pipelines.of(render(GITLAB)).jobs()["jax-tests"]
    text = (render() / ".github/workflows/jax-tests.yml").read_text(encoding="utf-8")
    github = yaml.safe_load(text)["jobs"]["jax-tests"]["strategy"]["matrix"]["files"]
    assert [row["FILES"] for row in matrix(job)] == github


def test_jax_is_taken_at_the_ledgers_release(render: Renderer, tmp_path: Path) -> None:
    tree = render(GITLAB)
    script = Pipelines.of(tree).jobs()["jax-tests"]["script"][0]
    (tmp_path / "git").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/called\n')
    (tmp_path / "git").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    subprocess.run(
        ["bash", "-e", "-c", script], cwd=tree, env={**os.environ, "PATH": path}, check=True
    )
    ledger = yaml.safe_load((tree / "tests/jax_ledger.yaml").read_text(encoding="utf-8"))
    assert f"--branch jax-v{ledger['jax']} " in (tmp_path / "called").read_text(encoding="utf-8")


@pytest.mark.parametrize("ci", ["github", "none"])
def test_nothing_of_it_is_elsewhere(ci: str, render: Renderer) -> None:
    tree = render({"ci": ci})
    for name in (".gitlab-ci.yml", "docs/gitlab.md", "requirements/publish.txt"):
        assert not (tree / name).exists()
    assert "publish" not in makefile_rules(tree)
    assert (tree / "tools/propose_update.sh").exists() == (ci == "github")
    assert "gitlab" not in (tree / "docs/wheels.md").read_text(encoding="utf-8").lower()


def test_the_page_names_every_pipeline_and_variable(tree: Path, pipelines: Pipelines) -> None:
    page = (tree / "docs/gitlab.md").read_text(encoding="utf-8")
    for name in pipelines.document["variables"]["PIPELINE"]["options"]:
        assert f"| `{name}` |" in page
    runners = {name for name in pipelines.document["variables"] if name.endswith("_RUNNER")}
    assert set(re.findall(r"\| `(\w+_RUNNER)` \|", page)) == runners
    assert {"UPDATE_TOKEN", "JAX_NIGHTLY_INDEX"} <= set(re.findall(r"`(\w+)`", page))


def test_tools_to_publish_have_hashes() -> None:
    text = (ROOT / "template/requirements/publish.txt").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\w)", text)
    assert all("--hash=sha256:" in entry for entry in entries)
    assert {"pypi-attestations", "twine"} <= {entry.partition("==")[0] for entry in entries}
