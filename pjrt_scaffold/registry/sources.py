"""What can be imported: a header, a tree or a wheel, each made into an include root."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from pjrt_scaffold.errors import UsageError
from pjrt_scaffold.registry._snapshot import FAMILIES, Family


@dataclass(frozen=True, slots=True)
class Source:
    """Headers of one family below an include root."""

    family: Family
    root: Path  # holds xla/
    lone: bool  # of a wheel or a header outside its tree, which lack extension headers

    @property
    def partial(self) -> bool:
        """Whether extension headers may be missing; the FFI API has none."""
        return self.lone and bool(self.family.extensions)


@contextmanager
def opened(path: Path) -> Iterator[list[Source]]:
    """The headers in `path`: a header file, a source tree, an include folder or a wheel.

    A tree counts as complete: an extension header that it lacks is one that was removed. A wheel
    and a header outside its tree count as partial.

    Raises:
        UsageError: there is no header of a known API.
    """
    if path.suffix == ".whl" and path.is_file():
        with TemporaryDirectory() as folder:
            yield _found(_unpack(path, Path(folder)), path, lone=True)
    elif path.is_file():
        family = _family_of(path)
        if path.as_posix().endswith(f"/{family.main}"):
            root = path.resolve().parents[len(PurePosixPath(family.main).parts) - 1]
            yield [Source(family, root, lone=False)]
        else:
            with TemporaryDirectory() as folder:
                target = Path(folder, family.main)
                target.parent.mkdir(parents=True)
                shutil.copy(path, target)
                yield [Source(family, Path(folder), lone=True)]
    elif path.is_dir():
        yield _found(path, path, lone=False)
    else:
        raise UsageError(
            f"There is no file or folder {path}", "", "give a header, a folder or a wheel"
        )


def _found(root: Path, path: Path, *, lone: bool) -> list[Source]:
    direct = [Source(f, root, lone) for f in FAMILIES if (root / f.main).is_file()]
    if direct:
        return direct
    roots = {
        header.parents[len(PurePosixPath(family.main).parts) - 1]
        for family in FAMILIES
        for header in root.rglob(family.main)
    }
    if len(roots) > 1:
        raise UsageError(
            f"{path} holds several header trees",
            "\n".join(sorted(map(str, roots))),
            "give one of them",
        )
    if not roots:
        raise UsageError(
            f"{path} holds no {FAMILIES[0].main}, and no {FAMILIES[1].main}",
            "headers are found by their place in the tree that they belong to",
            "give the folder above 'xla/', the header itself, or a wheel that ships headers",
        )
    (only,) = roots
    return [Source(f, only, lone) for f in FAMILIES if (only / f.main).is_file()]


def _unpack(wheel: Path, folder: Path) -> Path:
    """Take the headers out of a wheel; a main header outside of its tree gets its place."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(".h")]
            loose = {PurePosixPath(f.main).name: f.main for f in FAMILIES[:1]}
            for name in names:
                match = re.search(r"(?:^|/)(xla/(?:pjrt|ffi)/.*)$", name)
                target = match[1] if match else loose.get(PurePosixPath(name).name)
                if target and ".." not in target:
                    place = folder / target
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(archive.read(name))
    except zipfile.BadZipFile as error:
        raise UsageError(f"{wheel} is no wheel", str(error)) from error
    return folder


def _family_of(header: Path) -> Family:
    text = header.read_text(encoding="utf-8", errors="replace")
    for family in FAMILIES:
        if re.search(rf"^#define\s+{family.prefix}_API_MINOR\s", text, re.MULTILINE):
            return family
    raise UsageError(
        f"{header} is not the main header of the PJRT C API or the XLA FFI C API",
        "such a header defines PJRT_API_MINOR or XLA_FFI_API_MINOR",
        "give pjrt_c_api.h, or the folder above 'xla/'",
    )
