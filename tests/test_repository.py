"""What holds for every file of this repository."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest

import pjrt_scaffold
from tests.support.rendering import ROOT

# Spelled in pieces, so that this file does not contain what it looks for.
MACHINE = "|".join(f"/{place}/" for place in ("work", "tmp", "root", "home/[a-z]+"))
INDEX_HOST = "py" + r"pi\.org|files\.python" + "hosted"
FOREIGN = "The (OpenXLA|JAX|TensorFlow|StableHLO|LLVM) " + "Authors|Part of the LLVM " + "Project"
FORBIDDEN = re.compile(f"({MACHINE}|{INDEX_HOST}|{FOREIGN})")


def tracked() -> list[str]:
    """Files that git knows, so that scratch files do not count; of a tarball, nothing."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_machine_paths_registry_hosts_or_foreign_copyright() -> None:
    found = []
    for name in tracked():
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        found += [
            f"{name}:{number}: {line.strip()[:120]}"
            for number, line in enumerate(text.splitlines(), 1)
            if FORBIDDEN.search(line)
        ]
    assert found == []


def test_nothing_built_is_committed() -> None:
    built = re.compile(r"(\.(so|o|a|whl|pyc|dylib)|^build/.*|/__pycache__/.*)$")
    assert [name for name in tracked() if built.search(name)] == []


def test_version_is_in_the_changelog_or_unreleased() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(
        rf"^## (Unreleased|\[?{re.escape(pjrt_scaffold.__version__)})", changelog, re.M
    )


def test_licence_is_the_one_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "Apache-2.0"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").lstrip().startswith("Apache License")


def test_readme_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
