"""What holds for every rendering, whatever was answered."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.support.rendering import ROOT, Answers, Renderer, files, git
from tests.template.matrix import MATRIX, params

BIN = Path(sys.executable).parent
CPP = {".h", ".cc", ".inl", ".inc"}
PARSERS: dict[str, Callable[[str], object]] = {
    ".json": json.loads,
    ".toml": tomllib.loads,
    ".yml": yaml.safe_load,
    ".yaml": yaml.safe_load,
}
RESIDUE = re.compile(r"\{\{|\{%|\{#|\}\}|%\}|jinja|copier_conf", re.IGNORECASE)
LICENCE_BEGINS = {
    "Apache-2.0": "Apache License",
    "MIT": "MIT License",
    "BSD-3-Clause": "BSD 3-Clause License",
    "proprietary": "Copyright",
}
_checked: set[str] = set()


def given(question: str) -> pytest.MarkDecorator:
    """Only those renderings for which the question was answered."""
    chosen = params(answers for answers in MATRIX if question in answers)
    return pytest.mark.parametrize("answers", chosen, indirect=True)


def text_files(tree: Path) -> dict[str, str]:
    return {
        path.relative_to(tree).as_posix(): path.read_text(encoding="utf-8") for path in files(tree)
    }


def test_no_template_residue(tree: Path) -> None:
    found = []
    for name, text in text_files(tree).items():
        assert not RESIDUE.search(name)
        if Path(name).suffix in CPP | {".py", ".cmake"}:
            # C++, CMake and f-strings have double braces of their own; blocks are still looked for.
            text = re.sub(r"\{\{|\}\}|\{#", "", text)
        if name.startswith(".github/"):
            text = re.sub(r"\$\{\{.*?\}\}", "", text)
        found += [
            f"{name}:{number}: {line}"
            for number, line in enumerate(text.splitlines(), 1)
            if RESIDUE.search(line) and not _speaks_of_copier(name, line)
        ]
    assert found == []


def test_git_leaves_generated_files_alone(render: Renderer, tmp_path: Path) -> None:
    """Hashes of generated files hold in every checkout, also where git converts line ends."""
    shutil.copy(render() / ".gitattributes", tmp_path)
    git(tmp_path, "init", "--quiet")
    asked = git(tmp_path, "check-attr", "text", "csrc/generated/table.h", "csrc/plugin/layer.h")
    assert asked.splitlines() == [
        "csrc/generated/table.h: text: unset",
        "csrc/plugin/layer.h: text: unspecified",
    ]


def _speaks_of_copier(name: str, line: str) -> bool:
    return name == ".copier-answers.yml" and line.startswith("#")


@given("plugin_name")
def test_no_default_name_where_another_was_given(tree: Path) -> None:
    found = [
        f"{name}: {line.strip()}"
        for name, text in text_files(tree).items()
        for line in [name, *text.splitlines()]
        if "mychip" in line.lower()
    ]
    assert found == []


def test_data_files_parse(tree: Path) -> None:
    parsed = 0
    for path in files(tree):
        if parse := PARSERS.get(path.suffix):
            parse(path.read_text(encoding="utf-8"))
            parsed += 1
    assert parsed >= 3


def test_python_is_formatted_and_lint_clean(tree: Path) -> None:
    for command in (["format", "--check", "--diff"], ["check"]):
        done = subprocess.run(
            [BIN / "ruff", *command, "--no-cache", "."], cwd=tree, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_cpp_is_formatted(tree: Path) -> None:
    """Files that another rendering had byte for byte were checked there."""
    style = (tree / ".clang-format").read_bytes()
    new = []
    for path in files(tree):
        if path.suffix in CPP:
            key = hashlib.sha256(style + path.suffix.encode() + path.read_bytes()).hexdigest()
            if key not in _checked:
                _checked.add(key)
                new.append(path.relative_to(tree))
    if new:
        done = subprocess.run(
            [BIN / "clang-format", "--dry-run", "-Werror", *new],
            cwd=tree,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[:4000]


def test_nothing_of_this_machine(tree: Path, render: Renderer) -> None:
    """No folder of the machine that rendered, except the template's address in the answers."""
    machine = [str(ROOT), str(render.home), str(Path.home()) + "/", str(tree)]
    found = [
        f"{name}: {line}"
        for name, text in text_files(tree).items()
        for line in text.splitlines()
        if any(place in line for place in machine) and not line.startswith("_src_path:")
    ]
    assert found == []


def test_text_files_are_tidy(tree: Path) -> None:
    """UTF-8, one newline at the end, no carriage returns, no spaces at ends of lines."""
    found = []
    for name, text in text_files(tree).items():
        if not text:
            continue
        if not text.endswith("\n") or text.endswith("\n\n") or "\r" in text:
            found.append(f"{name}: line ends")
        found += [
            f"{name}:{number}: trailing space"
            for number, line in enumerate(text.splitlines(), 1)
            if line != line.rstrip()
        ]
    assert found == []


def test_licence(tree: Path, answers: Answers) -> None:
    chosen = answers.get("license", "Apache-2.0")
    text = (tree / "LICENSE").read_text(encoding="utf-8")
    assert text.lstrip().startswith(LICENCE_BEGINS[chosen])
    if chosen != "Apache-2.0":  # whose text is nobody's in particular
        assert answers.get("vendor", "Mychip Authors") in text
    project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    expected = "LicenseRef-Proprietary" if chosen == "proprietary" else chosen
    assert project["license"] == expected
    assert project["license-files"] == ["LICENSE*"]


def test_names_reach_their_places(tree: Path, answers: Answers) -> None:
    plugin = answers.get("plugin_name", "mychip")
    discovery = answers.get("discovery", "both")
    project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == answers.get("distribution_name", f"{plugin}-pjrt")
    module = plugin if discovery == "entry_point" else f"jax_plugins.{plugin}"
    assert (tree / "src" / module.replace(".", "/") / "__init__.py").is_file()
    assert not (tree / "src/jax_plugins/__init__.py").exists()
    assert (tree / "src/jax_plugins").exists() == (discovery != "entry_point")
    entry_points = project.get("entry-points", {}).get("jax_plugins")
    assert entry_points == (None if discovery == "namespace" else {plugin: module})


def test_backend_and_ci_choose_the_folders(tree: Path, answers: Answers) -> None:
    reference = answers.get("backend", "reference_cpu") == "reference_cpu"
    assert (tree / "csrc/reference").exists() == reference
    for folder in ("generated", "plugin", "backend", "program", "vendor"):
        assert (tree / "csrc" / folder).is_dir(), folder
    ci = answers.get("ci", "github")
    assert (tree / ".github").exists() == (ci == "github")
    assert (tree / ".gitlab-ci.yml").exists() == (ci == "gitlab")


@given("pjrt_api_version")
def test_api_version_reaches_the_header(tree: Path, answers: Answers) -> None:
    minor = answers["pjrt_api_version"].split(".")[1]
    header = (tree / "csrc/generated/pjrt_c_api.h").read_text(encoding="utf-8")
    assert re.search(rf"#define PJRT_API_MINOR {minor}\b", header)
    recorded = yaml.safe_load((tree / ".copier-answers.yml").read_text(encoding="utf-8"))
    assert recorded["pjrt_api_version"] == answers["pjrt_api_version"]  # text, not a number
