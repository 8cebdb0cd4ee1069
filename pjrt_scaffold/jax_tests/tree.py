"""JAX's tests as a folder: they are in JAX's repository only, not in its packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

from pjrt_scaffold.errors import MissingError, UsageError

ENVIRONMENT = "PJRT_SCAFFOLD_JAX_TREE"
MODULES = "jax_src"
_USUAL = ("jax", "../jax", "build/jax")


def find(given: Path | None, jax: str) -> Path:
    """The checkout to take the tests from.

    Args:
        given: what the user said; otherwise the environment variable, then the usual places.
        jax: the release of jax that is installed, for the message.

    Raises:
        MissingError: there is none.
    """
    stated = given or (Path(text) if (text := os.environ.get(ENVIRONMENT)) else None)
    places = [stated] if stated else [Path(place) for place in _USUAL]
    for place in places:
        if _is_git(place) or (place / "tests" / "lax_test.py").is_file() or _has_tests(place):
            return place.resolve()
    looked = ", ".join(str(place.absolute()) for place in places)
    raise MissingError(
        "There are no tests of JAX to run: they are in JAX's repository only, not in its packages.",
        f"Looked for a checkout at {looked}.",
        f"Get one: git clone --depth 1 --branch jax-v{jax} https://github.com/jax-ml/jax\n"
        f"and give it with --jax-tree, or in the environment variable {ENVIRONMENT}.",
    )


@contextmanager
def tests(tree: Path, jax: str) -> Iterator[Path]:
    """A folder whose `tests` are those of the release; `jax_src` has the helpers they import.

    A checkout has a package `jax` beside its tests, which must not be taken for the installed one.

    Raises:
        UsageError: the checkout is of another release, and its history has no tag of this one.
    """
    with TemporaryDirectory(prefix="pjrt-scaffold-jax-") as home:
        folder = Path(home)
        version = _version(tree)
        if version == jax or (version is None and _has_tests(tree)):
            (folder / "tests").symlink_to(tree / "tests", target_is_directory=True)
            (folder / MODULES).symlink_to(tree / "jax" / "_src", target_is_directory=True)
        else:
            _extract(tree, f"jax-v{jax}", folder, version)
        yield folder


def choose(folder: Path, wanted: Sequence[str]) -> list[str]:
    """The files of tests that match a pattern: `lax_*`, `lax_test.py`, `pallas/*`; without one all.

    Returns:
        Paths below `tests`, with slashes.

    Raises:
        UsageError: a pattern matches no file.
    """
    tests = folder / "tests"
    files = sorted(path.relative_to(tests).as_posix() for path in tests.rglob("*_test.py"))
    if not wanted:
        return files
    chosen: set[str] = set()
    for pattern in wanted:
        name = pattern.replace(os.sep, "/").rpartition("tests/")[2]
        matching = {f for f in files if fnmatchcase(f, name) or fnmatchcase(f[:-3], name)}
        if not matching:
            raise UsageError(
                f"No file of JAX's tests is named {pattern}.",
                f"There are {len(files)}, from {files[0]} to {files[-1]}."
                if files
                else "The folder has no file *_test.py.",
            )
        chosen |= matching
    return sorted(chosen)


def _has_tests(tree: Path) -> bool:
    return any((tree / "tests").glob("*_test.py"))


def _is_git(tree: Path) -> bool:
    return (tree / ".git").exists() or ((tree / "HEAD").is_file() and (tree / "objects").is_dir())


def _version(tree: Path) -> str | None:
    """The release that a checkout says it is."""
    try:
        text = (tree / "jax" / "version.py").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r'^_version = "([^"]+)"', text, re.MULTILINE)
    return found[1] if found else None


def _extract(tree: Path, tag: str, folder: Path, version: str | None) -> None:
    """Take the tests of a tag out of the history."""
    other = f"{tree} is JAX {version}" if version else f"{tree} has no files of its own"
    wrong = UsageError(
        f"{other}, and its history has no tests at the tag {tag}.",
        "The tests must be those of the jax that is installed.",
        f"git -C {tree} fetch --depth 1 origin tag {tag}",
    )
    if not _is_git(tree) or shutil.which("git") is None:
        raise wrong
    if not _unpack(tree, f"{tag}:", "tests", folder):
        raise wrong
    (folder / MODULES).mkdir()
    _unpack(tree, f"{tag}:jax/_src", ".", folder / MODULES)


def _unpack(tree: Path, commit: str, path: str, folder: Path) -> bool:
    """Whether a commit, or a folder of one, had the path, which is then in `folder`."""
    archive = ["git", "-c", "safe.directory=*", "-C", str(tree), "archive", commit, path]
    with NamedTemporaryFile(suffix=".tar") as tar:
        done = subprocess.run(archive, stdout=tar, stderr=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            shutil.unpack_archive(tar.name, folder, filter="data")
    return done.returncode == 0
