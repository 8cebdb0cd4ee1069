"""The workflows of generated repositories: sound, and made of what also runs locally."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.rendering import ROOT, Answers, Renderer, label
from tests.support.workflow_linters import LINTERS, findings

SOME: list[Answers] = [
    {},
    {"backend": "stub", "wheel_platforms": "[macos_arm64]", "discovery": "entry_point"},
    {"backend": "own", "wheel_platforms": "[linux_x86_64]", "plugin_name": "acme_x1"},
    {"layout": "split", "wheel_platforms": "[linux_x86_64, linux_aarch64]"},
]
# Commands that prepare a machine; all else is a target of the Makefile.
MACHINE = re.compile(r"sudo apt-get (update|install .*)")
# Machines that GitHub hosts. It keeps the two newest systems of Apple's, and takes away the third.
RUNNERS = {"ubuntu-24.04", "ubuntu-24.04-arm", "macos-15"}
# May push and open pull requests.
WRITES = {"update.yml"}
NAME, VERSION = "mychip_pjrt", "0.1.0"
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "macosx_14_0_arm64")


@pytest.fixture(scope="module", params=SOME, ids=label)
def tree(request: pytest.FixtureRequest, render: Renderer) -> Path:
    return render(request.param)


def workflows(tree: Path) -> list[Path]:
    found = sorted((tree / ".github/workflows").glob("*.yml"))
    assert [path.name for path in found] == ["ci.yml", "jax-tests.yml", "update.yml", "wheels.yml"]
    return found


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


@pytest.mark.parametrize("linter", LINTERS, ids=lambda linter: linter[0])
def test_linters_are_silent(tree: Path, linter: Sequence[str]) -> None:
    assert findings(linter, workflows(tree)) == ""


def steps(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each step of a workflow, with its job."""
    for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
        for step in job["steps"]:
            yield job, step


def test_commands_are_make_targets(tree: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+)(?= |:)", makefile_rules(tree), re.M))
    seen = set()
    for path in workflows(tree):
        for job, step in steps(path):
            if step.get("id") in {"ledger", "compiler"}:
                continue
            for command in re.split(r" && |\n", step.get("run", "").strip()):
                if not command or MACHINE.fullmatch(command):
                    continue
                words = command.split()
                if words[0] == "sh":
                    assert (tree / words[1]).is_file(), command
                    continue
                assert words[0] == "make", command
                for values in (job.get("strategy", {}).get("matrix", {}),):
                    named = " ".join(values.get("target", []))
                    text = command.replace("${{ matrix.target }}", named)
                    seen |= {word for word in shlex.split(text)[1:] if "=" not in word}
    assert seen <= targets
    assert seen >= {
        "lint",
        "build",
        "test",
        "test-installed",
        "wheels",
        "sdist",
        "check-dist",
        "jax-tests",
    }


def makefile_rules(tree: Path) -> str:
    """The lines of the Makefile that begin a rule, one target a line."""
    text = (tree / "Makefile").read_text(encoding="utf-8")
    rules = re.findall(r"^([a-z][a-z -]*):(?!=)", text, re.M)
    return "".join(f"{target}:\n" for rule in rules for target in rule.split())


def test_actions_are_pinned_and_rights_are_least(tree: Path) -> None:
    for path in workflows(tree):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        for _, step in steps(path):
            if "uses" in step:
                assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"])
        if path.name not in WRITES:
            assert content["permissions"] == {"contents": "read"}
            having = [name for name, job in content["jobs"].items() if "permissions" in job]
            assert having == (["publish"] if path.name == "wheels.yml" else [])


def test_machines_are_ones_that_exist(tree: Path) -> None:
    """A job whose machine is gone fails when something is to be released, as on macos-14."""
    found = {job["runs-on"] for path in workflows(tree) for job, _ in steps(path)}
    rows = yaml.safe_load((tree / ".github/workflows/wheels.yml").read_text(encoding="utf-8"))
    rows = rows["jobs"]["build"]["strategy"]["matrix"]["include"]
    assert {row["runner"] for row in rows} <= RUNNERS
    assert found - {"${{ matrix.runner }}"} <= RUNNERS


def test_the_wheel_is_built_once(tree: Path) -> None:
    jobs = yaml.safe_load((tree / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    for name in ("test", "nightly-jax"):
        assert jobs[name]["needs"] == "build"
        commands = [step["run"] for step in jobs[name]["steps"] if "run" in step]
        assert [command.split()[:2] for command in commands] == [["make", "test-installed"]]


def test_only_a_tag_is_uploaded(tree: Path) -> None:
    path = tree / ".github/workflows/wheels.yml"
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    assert jobs["publish"]["if"] == "github.event_name == 'push'"
    assert jobs["publish"]["environment"] == "pypi"
    assert [name for name, job in jobs.items() if "publish" in str(job["steps"])] == ["publish"]


def test_tools_have_hashes(tree: Path) -> None:
    for kind in ("lint", "release"):
        wanted = (tree / f"requirements/{kind}.in").read_text(encoding="utf-8")
        text = (tree / f"requirements/{kind}.txt").read_text(encoding="utf-8")
        entries = re.split(r"\n(?=\w)", text)
        assert all("--hash=sha256:" in entry for entry in entries)
        pinned = {entry.partition("==")[0] for entry in entries}
        lines = [line for line in wanted.splitlines() if line[0] != "#"]
        assert {line.partition("==")[0] for line in lines} <= pinned
        for fixed in re.findall(r"^\S+==\S+$", wanted, re.M):
            assert any(entry.startswith(f"{fixed} ") for entry in entries), fixed
    ours = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    cibuildwheel = r"cibuildwheel==[0-9.]*[0-9]"
    assert re.findall(cibuildwheel, ours) == re.findall(cibuildwheel, text)


# ---- tools/check_release.py ----


def check(root: Path, *arguments: str | Path) -> tuple[int, str]:
    """Exit status and output of the script."""
    script = ROOT / "template/tools/check_release.py"
    done = run(sys.executable, script, "--root", root, *arguments)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def repository(render: Renderer, tmp_path: Path) -> Path:
    """What the script reads of a repository, to be changed."""
    source, copy = render(), tmp_path / "repository"
    (version,) = (source / "src").rglob("_version.py")
    for path in (version, source / "CHANGELOG.md", source / "pyproject.toml"):
        target = copy / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return copy


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """What a release uploads."""
    folder = tmp_path / "dist"
    folder.mkdir()
    for platform in PLATFORMS:
        write_wheel(folder / f"{NAME}-{VERSION}-py3-none-{platform}.whl", VERSION)
    write_sdist(folder, NAME)
    return folder


def write_sdist(folder: Path, name: str) -> None:
    (folder / "PKG-INFO").write_text(f"Version: {VERSION}\n", encoding="utf-8")
    with tarfile.open(folder / f"{name}-{VERSION}.tar.gz", "w:gz") as sdist:
        sdist.add(folder / "PKG-INFO", f"{name}-{VERSION}/PKG-INFO")
    (folder / "PKG-INFO").unlink()


def write_wheel(path: Path, version: str) -> None:
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{NAME}-{VERSION}.dist-info/METADATA", f"Version: {version}\n")


def test_a_good_release(repository: Path, dist: Path) -> None:
    assert check(repository) == (0, "0.1.0 can be released\n")
    assert check(repository, "--tag", "v0.1.0", "--dist", dist) == (
        0,
        "0.1.0 can be released: v0.1.0\n",
    )


def test_a_release_of_two_packages(render: Renderer, dist: Path) -> None:
    """With `layout: split`: the wheels for platforms are the core's, beside one for all."""
    tree = render({"layout": "split"})
    status, said = check(tree, "--dist", dist)
    assert status == 1
    assert said.count("not a file of this release") == len(PLATFORMS)
    pure, core = f"{NAME}-{VERSION}-py3-none-any.whl", f"{NAME}_core-{VERSION}"
    for lacking in (pure, f"{core}.tar.gz", "the wheel for manylinux_aarch64"):
        assert f"lacks {lacking}" in said
    for wheel in dist.glob("*.whl"):
        wheel.rename(dist / wheel.name.replace(NAME, f"{NAME}_core"))
    write_wheel(dist / pure, VERSION)
    write_sdist(dist, f"{NAME}_core")
    assert check(tree, "--dist", dist) == (0, "0.1.0 can be released\n")
    write_wheel(dist / f"{core}-py3-none-any.whl", VERSION)
    assert check(tree, "--dist", dist)[0] == 1


@pytest.mark.parametrize("tag", ["v0.1.1", "0.1.0", "v0.1.0rc1", "v0.1"])
def test_another_tag(repository: Path, tag: str) -> None:
    status, said = check(repository, "--tag", tag)
    assert status == 1
    assert f"the tag is {tag}, the version in _version.py 0.1.0. Delete the tag" in said


@pytest.mark.parametrize(
    ("changelog", "message"),
    [
        ("# Changelog\n\n## 0.0.9\n\n- Old.\n", "has no section '## 0.1.0'"),
        ("## 0.1.0\n\n## 0.0.9\n\n- Old.\n", "the section '## 0.1.0' is empty"),
        ("## 0.1.0\n\n### Fixed\n-\n", None),
        ("## [v0.1.0] - 2026-11-30\n\n- New.\n", None),
    ],
)
def test_changelog(repository: Path, changelog: str, message: str | None) -> None:
    (repository / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    status, said = check(repository)
    assert status == (message is not None)
    assert (message or "can be released") in said


@pytest.mark.parametrize("version", ["1.0.0-beta", "1", "v1.0", "1.0.0+local", "latest"])
def test_no_version(repository: Path, version: str) -> None:
    (path,) = (repository / "src").rglob("_version.py")
    path.write_text(f'__version__ = "{version}"\n', encoding="utf-8")
    status, said = check(repository)
    assert status == 1
    assert f"{version!r} is no version as PEP 440 has it; write 1.2.3" in said


def test_files_that_are_not_of_the_release(repository: Path, dist: Path) -> None:
    (dist / f"{NAME}-{VERSION}-py3-none-macosx_14_0_arm64.whl").unlink()
    (dist / f"{NAME}-{VERSION}.tar.gz").unlink()
    write_wheel(dist / f"{NAME}-0.0.9-py3-none-any.whl", "0.0.9")
    write_wheel(dist / f"{NAME}-{VERSION}-py3-none-linux_x86_64.whl", VERSION)
    write_wheel(dist / f"{NAME}-{VERSION}-py3-none-{PLATFORMS[0]}.whl", "0.2.0")
    (dist / f"{NAME}-{VERSION}-py3-none-{PLATFORMS[1]}.whl").write_bytes(b"no zip")
    status, said = check(repository, "--dist", dist)
    assert status == 1
    for expected in (
        "-0.0.9-py3-none-any.whl: not a file of this release",
        "linux_x86_64.whl: made for one machine's glibc",
        "its metadata says version 0.2.0, not 0.1.0",
        "cannot be read (File is not a zip file)",
        "lacks mychip_pjrt-0.1.0.tar.gz; make sdist",
        "lacks the wheel for macosx_arm64",
    ):
        assert expected in said
    assert said.count("error:") == 6


def test_no_files(repository: Path, tmp_path: Path) -> None:
    status, said = check(repository, "--dist", tmp_path / "nothing")
    assert status == 1
    assert said.count("lacks") == 4
