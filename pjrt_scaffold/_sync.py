"""Writing the generated folders anew: they are the tool's, and copier does not heal them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pjrt_scaffold import _copier, _generated, _git, _history
from pjrt_scaffold._project import Project
from pjrt_scaffold._update import find_recorded
from pjrt_scaffold.errors import UsageError


@dataclass(frozen=True)
class Synced:
    """What `sync` did.

    Attributes:
        written: files that were edited or missing.
        removed: files that an older manifest lists and that are generated no longer.
        strays: files in generated folders that nobody generates; they are left alone.
    """

    written: tuple[str, ...]
    removed: tuple[str, ...]
    strays: tuple[str, ...]


def sync(project: Project, source: str | None, say: Callable[[str], None]) -> Synced:
    """Render the recorded template with the recorded answers, and write its generated folders.

    Everything else in the repository stays as it is, committed or not.

    Args:
        project: the repository.
        source: a git URL or folder of the template instead of the recorded one.
        say: told what is going on, a line at a time.

    Raises:
        ScaffoldError: the template cannot be had or rendered. Nothing was written.
    """
    location = project.location(source)
    say(f"Fetching the template {location} ...")
    with (
        _history.clone(location) as history,
        tempfile.TemporaryDirectory(prefix="pjrt-scaffold-") as home,
    ):
        template = history.extract(
            find_recorded(project, history), Path(home, "template"), project.commit
        )
        say(f"Rendering {template.name} ...")
        tree = Path(home, "rendering")
        _copier.copy(str(template.folder), tree, project.answers)
        return _write(project.root, tree)


def check(project: Project) -> list[_generated.Drift]:
    """Hold the generated folders against their manifests; needs no network and no template.

    Raises:
        UsageError: there is no generated folder.
    """
    found = sorted(_generated.tracked(project.root))
    if not found:
        raise UsageError(
            f"{project.root} has no generated folder: git knows no {_generated.MANIFEST} here.",
            todo="Write it anew with pjrt-scaffold sync.",
        )
    return [drift for folder in found for drift in _generated.check(project.root, folder)]


def _write(root: Path, tree: Path) -> Synced:
    paths = [path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()]
    folders = _generated.folders(paths)
    generated = sorted(path for path in paths if _generated.is_in(path, folders))
    old = {
        f"{folder}/{name}"
        for folder in folders
        for name in _generated.hashes(root / folder / _generated.MANIFEST)
    }
    written = [path for path in generated if not _same(root / path, tree / path)]
    removed = sorted(path for path in old - set(generated) if (root / path).is_file())
    for path in written:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tree / path, root / path)
    for path in removed:
        (root / path).unlink()
    strays = [path for folder in sorted(folders) for path in _generated.strays(root, folder)]
    _settle(root, written)
    return Synced(tuple(written), tuple(removed), tuple(strays))


def _same(one: Path, other: Path) -> bool:
    return one.is_file() and one.read_bytes() == other.read_bytes()


def _settle(root: Path, paths: list[str]) -> None:
    """A file that was in conflict is none any more: what is generated has one right content."""
    listing = _git.ask(root, "ls-files", "--unmerged", "--", *paths) if paths else ""
    unmerged = {line.partition("\t")[2] for line in listing.splitlines()}
    for path in sorted(unmerged):
        _git.run(root, "add", "--", path)
