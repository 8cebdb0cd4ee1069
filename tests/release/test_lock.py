"""requirements-dev.txt, from which CI installs, is of this pyproject.toml and whole."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from itertools import product

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support.rendering import ROOT

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = (("linux", "Linux"), ("darwin", "Darwin"))
TODO = "run: make lock"


@dataclass(frozen=True)
class Pin:
    """One release in the list, and how many files of it are known."""

    version: str
    marker: Marker | None
    hashes: int


def pins() -> dict[str, list[Pin]]:
    text = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    found: dict[str, list[Pin]] = defaultdict(list)
    for block in re.findall(r"^\S.*\n(?:    --hash=.*\n)*", text, re.MULTILINE):
        if block.startswith("#"):
            continue
        match = re.match(r"([\w.-]+)==(\S+)(?: ; (.*?))? \\\n", block)
        assert match, block
        name, version, marker = match.groups()
        pin = Pin(version, Marker(marker) if marker else None, block.count("--hash=sha256:"))
        found[canonicalize_name(name)].append(pin)
    return found


def wanted() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["dev"],
    ]
    return [Requirement(line) for line in lines]


def test_every_release_has_hashes() -> None:
    found = pins()
    assert len(found) > len(wanted())
    assert [name for name, each in found.items() if any(not pin.hashes for pin in each)] == []


@pytest.mark.parametrize(("python", "system"), list(product(PYTHONS, SYSTEMS)))
def test_what_is_wanted_is_listed_once(python: str, system: tuple[str, str]) -> None:
    platform, name = system
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "sys_platform": platform,
        "platform_system": name,
    }
    found = pins()
    for requirement in wanted():
        fitting = [
            pin.version
            for pin in found[canonicalize_name(requirement.name)]
            if pin.marker is None or pin.marker.evaluate(environment)
        ]
        assert len(fitting) == 1, f"{requirement} has {fitting} in the list; {TODO}"
        assert Version(fitting[0]) in requirement.specifier, f"{requirement}: {fitting}; {TODO}"


def test_versions_of_jax_are_those_that_are_supported() -> None:
    versions = {pin.version for pin in pins()["jax"]}
    assert "0.10.2" in versions  # the newest for Python 3.11
    assert len(versions) == 2
