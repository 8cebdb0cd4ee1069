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
from dataclasses import dataclass
from email.parser import Parser
from fnmatch import fnmatchcase
from pathlib import Path

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


def read_version(root: Path, name: str = "") -> str:
    """Return the version that the package has, from the file of this name or from _version.py."""
    if not name:
        found = sorted((root / "src").rglob("_version.py"))
        if len(found) != 1:
            raise ReleaseError(f"{root / 'src'} has {len(found)} files _version.py; one is needed")
        name = found[0].relative_to(root).as_posix()
    text = (root / name).read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(.*)"$', text, re.M)
    if not match:
        raise ReleaseError(f'{name} has no line __version__ = "1.2.3"; write one')
    if not VERSION.fullmatch(match[1]):
        raise ReleaseError(f"{name}: {match[1]!r} is no version as PEP 440 has it; write {FORM}")
    return match[1]


def check_tag(tag: str, version: str, name: str = "_version.py") -> list[str]:
    """Return what is wrong with the tag; ``name`` is the file that has the version."""
    if tag == f"v{version}":
        return []
    return [
        f"the tag is {tag}, the version in {name} {version}. Delete the tag"
        f" (git push --delete origin {tag}), then tag v{version} or change {name} first"
    ]


def check_changelog(root: Path, version: str, name: str = "_version.py") -> list[str]:
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
            f" or set another version in {name}"
        ]
    if not lines:
        return [f"CHANGELOG.md: the section '## {version}' is empty; write what users will notice"]
    return []


@dataclass(frozen=True)
class Project:
    """
    What is uploaded under one name: a source distribution and wheels.

    ``stem`` is how all of the files begin: name and version. ``platforms`` are those of its wheels,
    manylinux_x86_64 and its like; without any there is one wheel, of Python files alone.
    """

    stem: str
    platforms: tuple[str, ...]

    @property
    def files(self) -> tuple[str, str]:
        """Patterns of the names of its files."""
        wheel = f"{self.stem}-py3-none-{'*' if self.platforms else 'any'}.whl"
        return f"{self.stem}.tar.gz", wheel

    def has(self, file: str) -> bool:
        """Whether this is one of its files."""
        if self.platforms and file.endswith("-any.whl"):
            return False
        return any(fnmatchcase(file, pattern) for pattern in self.files)

    def lacks(self, files: list[str]) -> list[str]:
        """Return what is not among these files."""
        wanted = self.files[: 1 if self.platforms else 2]
        lacking = [f"{file}; make sdist" for file in wanted if file not in files]
        wheels = [file.removesuffix(".whl") for file in files if self.has(file)]
        for platform in self.platforms:
            kind, _, machine = platform.partition("_")
            if not any(kind in wheel and wheel.endswith(machine) for wheel in wheels):
                lacking.append(f"the wheel for {platform}; its job has failed or not run")
        return lacking


def read_projects(root: Path, version: str) -> list[Project]:
    """Return the projects of the repository: one, or two where ``core/`` is that of the library."""
    found = []
    for path in (root / "pyproject.toml", root / "core/pyproject.toml"):
        if path.is_file():
            settings = tomllib.loads(path.read_text(encoding="utf-8"))
            name = re.sub(r"[-_.]+", "_", settings["project"]["name"]).lower()
            build = settings["tool"].get("cibuildwheel", {}).get("build", [])
            platforms = sorted({identifier.partition("-")[2] for identifier in build})
            found.append(Project(f"{name}-{version}", tuple(platforms)))
    return found


def check_dist(dist: Path, root: Path, version: str) -> list[str]:
    """Return what is wrong with the files that would be uploaded."""
    projects = read_projects(root, version)
    files = [path.name for path in sorted(dist.iterdir())] if dist.is_dir() else []
    wrong: list[str] = []
    for file in files:
        if not any(project.has(file) for project in projects):
            good = " and ".join(pattern for project in projects for pattern in project.files)
            wrong.append(
                f"{dist / file}: not a file of this release; {good} are."
                " Empty the folder and build again"
            )
            continue
        if "-none-linux_" in file:
            wrong.append(
                f"{dist / file}: made for one machine's glibc, and no index takes it; cibuildwheel"
                " makes the wheels that can be uploaded (make wheels)"
            )
        wrong += _check_metadata(dist / file, version)
    for project in projects:
        wrong += [f"{dist} lacks {what}" for what in project.lacks(files)]
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


if __name__ == "__main__":
    sys.exit(main())
