"""
Checks what a release says of itself, before anything is uploaded.

    python tools/check_release.py                    the version and its section of the changelog
    python tools/check_release.py --tag v1.2.3       and that this tag is that version
    python tools/check_release.py --dist dist        and that the files in dist/ are of that version

Needs nothing but Python. Exit status 0: good, 1: not to be released; the reasons are printed.
"""

from __future__ import annotations

import argparse
import re
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# The canonical form of PEP 440, without epochs and local parts, which no release of ours needs.
VERSION = re.compile(r"\d+(\.\d+)+((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")
FORM = "1.2.3, 1.2.3rc1 or 1.2.3.post1"


def main() -> int:
    """Check what the command line names, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0] if __doc__ else "")
    parser.add_argument("--tag", default="", help="the tag of the release: v and the version")
    parser.add_argument("--dist", type=Path, help="the folder with the files to be uploaded")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository")
    given = parser.parse_args()
    try:
        version = read_version(given.root)
        wrong = check_changelog(given.root, version)
        if given.tag:
            wrong += check_tag(given.tag, version)
        if given.dist:
            wrong += check_dist(given.dist, given.root, version)
    except ReleaseError as error:
        wrong = [str(error)]
    for text in wrong:
        print(f"error: {text}", file=sys.stderr)
    if not wrong:
        print(f"{version} can be released" + (f": {given.tag}" if given.tag else ""))
    return 1 if wrong else 0


class ReleaseError(Exception):
    """Something without which nothing else can be checked."""


def read_version(root: Path) -> str:
    """Return the version that the package has."""
    found = sorted((root / "src").rglob("_version.py"))
    if len(found) != 1:
        raise ReleaseError(f"{root / 'src'} has {len(found)} files _version.py; one is needed")
    name = found[0].relative_to(root).as_posix()
    match = re.search(r'^__version__ = "(.*)"$', found[0].read_text(encoding="utf-8"), re.M)
    if not match:
        raise ReleaseError(f'{name} has no line __version__ = "1.2.3"; write one')
    if not VERSION.fullmatch(match[1]):
        raise ReleaseError(f"{name}: {match[1]!r} is no version as PEP 440 has it; write {FORM}")
    return match[1]


def check_tag(tag: str, version: str) -> list[str]:
    """Return what is wrong with the tag."""
    if tag == f"v{version}":
        return []
    return [
        f"the tag is {tag}, the version in _version.py {version}. Delete the tag"
        f" (git push --delete origin {tag}), then tag v{version} or change _version.py first"
    ]


def check_changelog(root: Path, version: str) -> list[str]:
    """Return what is wrong with the changelog: a version without a section, or an empty one."""
    inside = False
    lines: list[str] | None = None
    for line in (root / "CHANGELOG.md").read_text(encoding="utf-8").splitlines():
        if title := re.match(r"## +\[?v?([^\s\]]+)", line):
            inside = title[1] == version
            lines = [] if inside else lines
        elif inside and lines is not None and line.strip(" -*#"):
            lines.append(line)
    if lines is None:
        return [
            f"CHANGELOG.md has no section '## {version}'; write there what users will notice,"
            " or set another version in _version.py"
        ]
    if not lines:
        return [f"CHANGELOG.md: the section '## {version}' is empty; write what users will notice"]
    return []


def check_dist(dist: Path, root: Path, version: str) -> list[str]:
    """Return what is wrong with the files that would be uploaded."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    name = re.sub(r"[-_.]+", "_", settings["project"]["name"]).lower()
    sdist = f"{name}-{version}.tar.gz"
    wheel = re.compile(rf"{re.escape(f'{name}-{version}')}-py3-none-(?P<platform>[\w.]+)\.whl")
    files = sorted(dist.iterdir()) if dist.is_dir() else []
    wrong, platforms = [], []
    for file in files:
        match = wheel.fullmatch(file.name)
        if file.name != sdist and not match:
            wrong.append(
                f"{file}: not a file of this release; {sdist} and"
                f" {name}-{version}-py3-none-*.whl are. Empty the folder and build again"
            )
            continue
        if match:
            platforms.append(match["platform"])
            if match["platform"].startswith("linux_"):
                wrong.append(
                    f"{file}: made for one machine's glibc, and no index takes it; cibuildwheel"
                    " makes the wheels that can be uploaded (make wheels)"
                )
        wrong += _check_metadata(file, version)
    if sdist not in {file.name for file in files}:
        wrong.append(f"{dist} lacks {sdist}; make sdist")
    for wanted in _wanted_platforms(settings):
        kind, _, machine = wanted.partition("_")
        if not any(kind in built and built.endswith(machine) for built in platforms):
            wrong.append(f"{dist} lacks the wheel for {wanted}; its job has failed or not run")
    return wrong


def _check_metadata(file: Path, version: str) -> list[str]:
    """Hold the version inside of a wheel or an sdist against the one in its name."""
    try:
        if file.suffix == ".whl":
            with zipfile.ZipFile(file) as wheel:
                inside = [n for n in wheel.namelist() if n.endswith(".dist-info/METADATA")]
                text = wheel.read(inside[0]).decode()
        else:
            with tarfile.open(file) as sdist:
                member = sdist.extractfile(f"{file.name.removesuffix('.tar.gz')}/PKG-INFO")
                text = member.read().decode() if member else ""
    except (OSError, KeyError, IndexError, zipfile.BadZipFile, tarfile.TarError) as error:
        return [f"{file}: cannot be read ({error}); build it again"]
    found = Parser().parsestr(text, headersonly=True)["Version"]
    if found != version:
        return [f"{file}: its metadata says version {found}, not {version}; build it again"]
    return []


def _wanted_platforms(settings: dict[str, Any]) -> list[str]:
    """Return manylinux_x86_64 and its like: those for which cibuildwheel is told to build."""
    build = settings["tool"]["cibuildwheel"]["build"]
    return sorted({identifier.partition("-")[2] for identifier in build})


if __name__ == "__main__":
    sys.exit(main())
