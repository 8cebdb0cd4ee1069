"""Three-way merges of whole trees, in a git repository that is thrown away.

Nothing of the project changes before `Merge.apply`, which puts back what it wrote when it fails.

    with scratch(root) as repository:
        merge = repository.merge(base=old, ours=repository.tree("HEAD"), theirs=new)
        merge.apply()
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pjrt_scaffold import _git
from pjrt_scaffold.errors import MissingError, UsageError

Tree = dict[str, str]
"""Files by path; a value is a git mode and object id: "100644 <id>"."""

_BASE, _OURS, _THEIRS = 1, 2, 3
_TEMPLATE = "template"  # the branch merged; git names it after the paths that it must move aside
_ENV = {**_git.SOMEBODY, "GIT_LFS_SKIP_SMUDGE": "1"}


@dataclass(frozen=True, order=True)
class Unmerged:
    """A file that somebody must look at."""

    path: str
    why: str


@dataclass(frozen=True)
class Merge:
    """A finished merge that has not been put into the project yet.

    Attributes:
        written: paths that get other content, new ones included.
        added: those of them that were not there before.
        removed: paths that go.
        kept_deleted: paths that the project had deleted and the template changed; still deleted.
        unmerged: paths with conflicts. Their content has markers where both sides changed a line.
    """

    written: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    kept_deleted: tuple[str, ...]
    unmerged: tuple[Unmerged, ...]
    _scratch: Scratch
    _stages: Mapping[str, Mapping[int, str]]

    def apply(self) -> None:
        """Write the result into the project's working tree and record what is unmerged.

        Raises:
            UsageError: a file that git ignores is in the way of a new one.
            MissingError: a file could not be written. The project is as it was before.
        """
        root, made = self._scratch.project, self._scratch.folder
        for path in self.added:
            if (there := self._in_the_way(path)) is not None:
                raise UsageError(
                    f"{there} is in the way: the template brings {path}.",
                    "Git ignores yours, so it could not be brought back.",
                    "Move it away and update again.",
                )
        done: list[str] = []
        try:
            for path in self.removed:  # first: a folder may come where a file was
                done.append(path)
                _remove(root, path)
            for path in self.written:
                done.append(path)
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).unlink(missing_ok=True)
                shutil.copy(made / path, root / path, follow_symlinks=False)
            self._record_unmerged()
        except BaseException as error:
            self._restore(done)
            if isinstance(error, OSError):
                raise MissingError(
                    f"{error.filename or root} could not be written: {error.strerror or error}.",
                    "The repository is as it was before.",
                ) from error
            raise

    def _in_the_way(self, path: str) -> str | None:
        """What is there though no commit holds it, and would be written over or through."""
        root = self._scratch.project
        for part in (path, *(str(folder) for folder in PurePosixPath(path).parents)):
            there = root / part
            goes = part in self.removed or any(p.startswith(f"{part}/") for p in self.removed)
            if part == "." or goes or not os.path.lexists(there):
                continue
            if part == path or there.is_symlink() or not there.is_dir():
                return part
        return None

    def _record_unmerged(self) -> None:
        """Give the project's index the stages of each conflict, as `git merge` would."""
        root = self._scratch.project
        prefix = _git.ask(root, "rev-parse", "--show-prefix")
        lines = []
        for path, stages in self._stages.items():
            lines.append(f"0 {'0' * len(next(iter(stages.values())).split()[1])}\t{prefix}{path}")
            for stage, value in stages.items():
                mode, name = value.split()
                content = _git.run(self._scratch.folder, "cat-file", "blob", name).stdout
                _git.run(root, "hash-object", "-w", "--stdin", stdin=content)
                lines.append(f"{mode} {name} {stage}\t{prefix}{path}")
        if lines:
            _index(root, lines)

    def _restore(self, paths: list[str]) -> None:
        root = self._scratch.project
        if self._stages:
            _git.run(root, "reset", "--quiet", "--", *self._stages)
        for path in paths:
            if path in self.added and _is_inside(root, path):
                _remove(root, path)
        for path in paths:
            if path not in self.added:
                _git.run(root, "checkout", "--quiet", "HEAD", "--", path)


@dataclass(frozen=True)
class Scratch:
    """A repository that can read the project's objects.

    Attributes:
        project: the project's root folder.
        folder: the scratch repository's working tree.
    """

    project: Path
    folder: Path

    def tree(self, ref: str) -> Tree:
        """The project's files at a commit, relative to its root folder."""
        prefix = _git.ask(self.project, "rev-parse", "--show-prefix")
        listing = _git.run(self.project, "ls-tree", "-r", "-z", "--full-tree", f"{ref}:{prefix}")
        tree: Tree = {}
        for entry in _entries(listing.stdout):
            (mode, _, name), path = entry
            tree[path] = f"{mode} {name}"
        return tree

    def store(self, folder: Path) -> Tree:
        """Take every file of a folder into the repository, byte for byte."""
        with self._index() as env:
            at = {**env, "GIT_DIR": str(self.folder / ".git"), "GIT_WORK_TREE": str(folder)}
            _git.run(folder, *_git.BYTE_FOR_BYTE, "add", "--all", "--force", ".", env=at)
            listing = _git.run(folder, "ls-files", "--stage", "-z", env=at)
        return {path: f"{mode} {name}" for (mode, name, _), path in _entries(listing.stdout)}

    def read(self, value: str) -> bytes:
        """The content of a tree's value."""
        return _git.run(self.folder, "cat-file", "blob", value.split()[1]).stdout

    def write(self, content: bytes) -> str:
        """Take a content into the repository. Returns a tree's value for it."""
        name = _git.run(self.folder, "hash-object", "-w", "--stdin", stdin=content).stdout
        return f"100644 {name.decode().strip()}"

    def merge(self, base: Tree, ours: Tree, theirs: Tree) -> Merge:
        """Merge what changed from `base` to `theirs` into `ours`.

        Git's own merge: it follows files that either side renamed. A file that `ours` deleted stays
        deleted whatever became of it in `theirs`.
        """
        before = self._commit(base)
        mine, template = self._commit(ours, before), self._commit(theirs, before)
        _git.run(self.folder, "checkout", "--quiet", "--detach", mine, env=_ENV)
        _git.run(self.folder, "branch", _TEMPLATE, template)
        merging = ("merge", "--quiet", "--no-commit", "--no-ff", "--no-verify-signatures")
        # Directory renames would move what the owner added after the template's files.
        options = ("-c", "merge.directoryRenames=false", "-X", "find-renames=70%")
        _git.run(
            self.folder,
            *options[:2],
            *merging,
            *options[2:],
            _TEMPLATE,
            env=_ENV,
            accept=(0, 1),
        )
        kept = self._keep_deleted(base)
        return self._merge_result(mine, kept)

    def _merge_result(self, mine: str, kept: tuple[str, ...]) -> Merge:
        stages = self._stages()
        unmerged = {path: _reason(set(found)) for path, found in stages.items()}
        for path in self._with_markers():
            unmerged.setdefault(path, "conflict markers or rejected hunks are in it")
        status = _git.run(
            self.folder, "diff-index", "-z", "--no-renames", "--name-status", "--cached", mine
        )
        words = os.fsdecode(status.stdout).split("\0")[:-1]
        changed = dict(zip(words[1::2], words[::2], strict=True))
        for path in stages:
            if (self.folder / path).is_file():
                there = self._is_in(mine, path)
                changed[path] = "M" if there else "A"
            else:
                changed.pop(path, None)
        removed = tuple(sorted(path for path, what in changed.items() if what == "D"))
        return Merge(
            written=tuple(sorted(path for path, what in changed.items() if what != "D")),
            added=tuple(sorted(path for path, what in changed.items() if what == "A")),
            removed=removed,
            kept_deleted=kept,
            unmerged=tuple(sorted(Unmerged(path, why) for path, why in unmerged.items())),
            _scratch=self,
            _stages=stages,
        )

    def _is_in(self, commit: str, path: str) -> bool:
        done = _git.run(self.folder, "cat-file", "-e", f"{commit}:{path}", accept=(0, 1, 128))
        return done.returncode == 0

    def _keep_deleted(self, base: Tree) -> tuple[str, ...]:
        """Settle conflicts over files that only the template still has."""
        kept = []
        for path, found in self._stages().items():
            if set(found) != {_BASE, _THEIRS}:
                continue
            # Where the project has a folder of that name, git puts the file beside it.
            deleted = path if path in base else path.removesuffix(f"~{_TEMPLATE}")
            if deleted in base:
                _git.run(self.folder, "rm", "--quiet", "--cached", "--", path)
                (self.folder / path).unlink(missing_ok=True)
                kept.append(deleted)
            else:  # the template renamed what the project deleted: a new file all the same
                _index(self.folder, [f"{found[_THEIRS]} 0\t{path}"])
                _git.run(self.folder, "checkout-index", "--force", "--", path)
        return tuple(sorted(kept))

    def _stages(self) -> dict[str, dict[int, str]]:
        stages: dict[str, dict[int, str]] = {}
        listing = _git.run(self.folder, "ls-files", "--unmerged", "-z").stdout
        for (mode, name, stage), path in _entries(listing):
            stages.setdefault(path, {})[int(stage)] = f"{mode} {name}"
        return stages

    def _with_markers(self) -> list[str]:
        """Files with conflict markers, whoever left them there, and rejected hunks of `patch`."""
        markers = ("-e", "^<<<<<<< ", "-e", "^>>>>>>> ")
        grep = ("grep", "-l", "-z", "-I", "--all-match", *markers)
        found = os.fsdecode(_git.run(self.folder, *grep, accept=(0, 1)).stdout)
        rejected = os.fsdecode(_git.run(self.folder, "ls-files", "-z", "--", "*.rej").stdout)
        return [path for path in (found + rejected).split("\0") if path]

    def _commit(self, tree: Tree, *parents: str) -> str:
        with self._index() as env:
            _index(self.folder, [f"{value}\t{path}" for path, value in tree.items()], env)
            name = _git.ask(self.folder, "write-tree", env=env)
        options = [word for parent in parents for word in ("-p", parent)]
        return _git.ask(self.folder, "commit-tree", *options, "-m", "tree", name, env=_ENV)

    @contextmanager
    def _index(self) -> Iterator[dict[str, str]]:
        """The environment in which git has an empty index that is no other's."""
        with tempfile.TemporaryDirectory(prefix="pjrt-scaffold-") as home:
            yield {"GIT_INDEX_FILE": str(Path(home, "index"))}


@contextmanager
def scratch(project: Path) -> Iterator[Scratch]:
    """Make a scratch repository that reads the objects of the repository that `project` is in."""
    objects = Path(project, _git.ask(project, "rev-parse", "--git-path", "objects"))
    form = _git.ask(project, "rev-parse", "--show-object-format")
    with tempfile.TemporaryDirectory(prefix="pjrt-scaffold-") as home:
        folder = Path(home, "merge")
        folder.mkdir()
        _git.run(folder, "init", "--quiet", f"--object-format={form}", "--template=")
        alternates = folder / ".git" / "objects" / "info" / "alternates"
        alternates.parent.mkdir(parents=True, exist_ok=True)
        alternates.write_text(f"{objects.resolve()}\n", encoding="utf-8")
        yield Scratch(project, folder)


def _entries(listing: bytes) -> Iterator[tuple[list[str], str]]:
    """The lines of ls-tree and of ls-files: words before the tab, path after it."""
    for line in os.fsdecode(listing).split("\0"):
        if line:
            words, _, path = line.partition("\t")
            yield words.split(), path


def _index(folder: Path, lines: list[str], env: Mapping[str, str] | None = None) -> None:
    data = os.fsencode("".join(f"{line}\0" for line in lines))
    _git.run(folder, "update-index", "-z", "--add", "--index-info", stdin=data, env=env)


def _reason(stages: set[int]) -> str:
    if stages == {_BASE, _OURS}:
        return "you changed it, the template removed it"
    if stages == {_OURS, _THEIRS}:
        return "you and the template both added it"
    if stages == {_BASE, _OURS, _THEIRS}:
        return "you and the template changed the same lines"
    return "you and the template renamed it differently"


def _remove(root: Path, path: str) -> None:
    """Remove a file, and the folders that it leaves empty."""
    (root / path).unlink(missing_ok=True)
    for folder in (root / path).parents:
        if folder == root or not folder.is_dir() or any(folder.iterdir()):
            break
        folder.rmdir()


def _is_inside(root: Path, path: str) -> bool:
    """Whether the folder of a file is there, and is what its path says."""
    parent = (root / path).parent
    return parent.is_dir() and parent.resolve() == root.resolve() / PurePosixPath(path).parent
