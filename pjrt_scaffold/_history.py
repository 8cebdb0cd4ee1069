"""The template's history: a clone of its repository, from which any commit can be taken.

Cloning is the one step of an update that needs the network, and it comes first.
"""

from __future__ import annotations

import io
import re
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from pjrt_scaffold import _git
from pjrt_scaffold._copier import fetch_error
from pjrt_scaffold.errors import MissingError, UsageError

_TEMPLATE = ("copier.yml", "template", "pjrt_scaffold")


@dataclass(frozen=True)
class History:
    """Every commit of a template.

    Attributes:
        location: the git URL or folder that was cloned.
        clone: the repository: a bare clone, which lives as long as `clone()`'s context, or the
            checkout itself.
    """

    location: str
    clone: Path

    def find(self, ref: str) -> str | None:
        """The full id of the commit that a tag, branch, id or description names, or None."""
        if ref.startswith("-"):
            return None
        name = f"{ref}^{{commit}}"
        return (
            _git.ask(self.clone, "rev-parse", "--verify", "--quiet", name, accept=(0, 1, 128))
            or None
        )

    def commit(self, ref: str, option: str = "--template") -> str:
        """The full id of the commit that the user asked for by this option.

        Raises:
            UsageError: there is none.
        """
        if (found := self.find(ref)) is not None:
            return found
        releases = ", ".join(self.releases()[:8]) or "none"
        raise UsageError(
            f"The template {self.location} has no commit, tag or branch {ref}.",
            f"Its releases, newest first: {releases}.",
            f"Choose another {option}, for example HEAD.",
        )

    def describe(self, commit: str) -> str:
        """Name a commit as copier records it."""
        return _git.describe(self.clone, commit)

    def includes(self, commit: str, other: str) -> bool:
        """Whether `other` is `commit` or an ancestor of it."""
        done = _git.run(self.clone, "merge-base", "--is-ancestor", other, commit, accept=(0, 1))
        return done.returncode == 0

    def releases(self) -> list[str]:
        """The tags that are versions, newest first; pre-releases only while there is no other."""
        versions: dict[str, Version] = {}
        for tag in _git.ask(self.clone, "tag", "--list").splitlines():
            try:
                versions[tag] = Version(tag)
            except InvalidVersion:
                continue
        stable = {tag: v for tag, v in versions.items() if not v.is_prerelease} or versions
        return sorted(stable, key=lambda tag: stable[tag], reverse=True)

    def newest(self, current: str) -> str:
        """The commit to which a repository rendered at `current` goes when nothing is said.

        The newest release; when `current` is past it, the head of the default branch; when that is
        older than `current`, `current` itself.
        """
        for ref in [*self.releases()[:1], "HEAD"]:
            found = self.find(ref)
            if found is not None and self.includes(found, current):
                return found
        return current

    def extract(self, commit: str, folder: Path, name: str | None = None) -> Template:
        """Write what a rendering needs of a commit into a new folder.

        Args:
            commit: its full id.
            folder: where to.
            name: what the commit is called; else what `describe` says.

        Raises:
            UsageError: they are no template.
        """
        asked = (*_git.BYTE_FOR_BYTE, "archive", "--format=tar", commit)
        archive = _git.run(self.clone, *asked).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            needed_ones = [m for m in tar if m.name.split("/")[0] in _TEMPLATE]
            tar.extractall(folder, needed_ones, filter="data")
        for needed in ("copier.yml", "pjrt_scaffold/registry/abi.json"):
            if not (folder / needed).is_file():
                raise UsageError(
                    f"{self.location} is not the template: it has no {needed} at {commit[:10]}.",
                    todo="Give --source the git URL of the template.",
                )
        return Template(folder, commit, name or self.describe(commit))


@dataclass(frozen=True)
class Template:
    """The template as it was at one commit.

    Attributes:
        folder: its files.
        commit: the full id.
        name: how answers files name the commit: a tag, distance from one, or a short id.
    """

    folder: Path
    commit: str
    name: str

    @property
    def registry(self) -> Path:
        """Its PJRT API registry, for the functions of pjrt_scaffold.registry."""
        return self.folder / "pjrt_scaffold" / "registry"

    @property
    def version(self) -> str | None:
        """The version of the package that belongs to it."""
        module = self.folder / "pjrt_scaffold" / "__init__.py"
        if not module.is_file():
            return None
        match = re.search(r'^__version__ = "(.+)"$', module.read_text(encoding="utf-8"), re.M)
        return match[1] if match else None


@contextmanager
def clone(location: str, ref: str | None = None) -> Iterator[History]:
    """Clone a template's repository into a scratch folder.

    Args:
        location: a git URL, or an absolute folder.
        ref: what will be asked of it, for the error.

    Raises:
        MissingError: git could not reach it.
    """
    _git.require_git()
    with tempfile.TemporaryDirectory(prefix="pjrt-scaffold-") as home:
        bare = Path(home, "template.git")
        try:
            _git.run(Path(home), "clone", "--quiet", "--bare", "--", location, str(bare))
        except _git.GitError as error:
            raise fetch_error(location, ref, error.why) from error
        if _git.run(bare, "rev-parse", "--quiet", "--verify", "HEAD", accept=(0, 1)).returncode:
            raise MissingError(f"The template {location} has no commit on its default branch.")
        yield History(location, bare)


@contextmanager
def opened(location: str, ref: str | None = None) -> Iterator[History]:
    """The history of a checkout on this machine where it lies, of any other template in a clone.

    Args, Raises: as of `clone`.
    """
    if _git.is_checkout(Path(location)):
        yield History(location, Path(location))
    else:
        with clone(location, ref) as history:
            yield history
