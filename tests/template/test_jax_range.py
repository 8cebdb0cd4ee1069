"""The releases of jax that a plugin is tested with stand in one file; all else follows."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import copier

from tests.support.rendering import ROOT, Renderer, copy_template
from tools.jaxlibs_matrix import REQUIREMENT, TESTED

# Examples of how a jax is named, in texts that nothing runs.
EXAMPLES = {"Makefile", "docs/development.md", "docs/updating.md"}


def requirement(repository: Path) -> list[str]:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: list[str] = project["dependencies"]
    return found


def test_wheel_requires_the_tested_range(render: Renderer) -> None:
    assert requirement(render()) == [REQUIREMENT]


def test_our_own_tests_run_in_the_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert REQUIREMENT in project["optional-dependencies"]["dev"]


def test_a_new_release_needs_one_line(tmp_path: Path) -> None:
    """The file is given another release, and no trace of the one that it replaces is left."""
    template, out = tmp_path / "template", tmp_path / "out"
    copy_template(template)
    data = template / "pjrt_scaffold/registry/jax.json"
    content = json.loads(data.read_text(encoding="utf-8"))
    content["tested"] = [{"jax": "7.8.1", "python": "3.12"}, {"jax": "7.19.0", "python": "3.14"}]
    data.write_text(json.dumps(content), encoding="utf-8")
    copier.run_copy(str(template), out, defaults=True, quiet=True)
    assert requirement(out) == ["jax>=7.8.1,<7.20"]
    config = (out / "src/jax_plugins/mychip/_config.py").read_text(encoding="utf-8")
    assert "TESTED_JAX: Final = ((7, 8, 1), (7, 20))" in config
    old = re.compile(
        r"jax[^\n]{0,12}(?<![\d.])("
        + "|".join(re.escape(release.jaxlib) for release in TESTED)
        + r")(?![\d.]*\d)"
    )
    left = {
        path.relative_to(out).as_posix()
        for path in out.rglob("*")
        if path.suffix in {".py", ".toml", ".yml", ".md", ""}
        and path.is_file()
        and old.search(path.read_text(encoding="utf-8"))
    }
    assert left <= EXAMPLES
    shutil.rmtree(out)
