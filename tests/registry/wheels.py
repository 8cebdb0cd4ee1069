"""Public wheels that carry official headers: what the registry is held against."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory


@dataclass(frozen=True)
class Wheel:
    """A release on the package index, and the API versions of the headers in it."""

    requirement: str  # "tensorflow-cpu==2.21.0"
    pjrt: int | None = None  # minor of the PJRT C API; None: no header of it
    ffi: int | None = None  # minor of XLA's FFI API; None: none, or not the last of its version
    late: frozenset[str] = frozenset()  # what the last header of the version added after this one
    python: str = "3.12"  # of the wheel's tag

    def __str__(self) -> str:
        return self.requirement


# The other headers of 0.81 and 0.67 have one extension type more: a header that changes without a
# new version number, of which the last counts.
SMALL = Wheel("xla-cpu-pjrt==0.0.1", pjrt=81, late=frozenset({"PJRT_Extension_Type_TpuTopology"}))
STABLE = (
    Wheel("tensorflow-cpu==2.18.1", pjrt=54),
    Wheel("tensorflow-cpu==2.19.1", pjrt=67, late=frozenset({"PJRT_Extension_Type_RawBuffer"})),
    Wheel("tensorflow-cpu==2.20.0", pjrt=72),
    Wheel("tensorflow-cpu==2.21.0", pjrt=90, ffi=2, python="3.13"),
    Wheel("jaxlib==0.8.3", ffi=2),
    Wheel("jaxlib==0.9.2", ffi=3),
    Wheel("jaxlib==0.12.0", ffi=5),
)
# Nightly wheels are withdrawn after some months.
NIGHTLY = (
    Wheel("tf-nightly==2.22.0.dev20260924", pjrt=115),
    Wheel("tf-nightly==2.23.0.dev20261018", pjrt=116),
    Wheel("tf-nightly==2.23.0.dev20261026", pjrt=117, ffi=5),
)


class UnavailableError(Exception):
    """pip cannot get the wheel; the text is pip's."""


def headers_of(wheel: Wheel, cache: Path) -> Path:
    """A wheel with nothing but the headers of `wheel`, made in `cache` when it is not there.

    The wheels themselves have 60 to 650 MB and are not kept.

    Raises:
        UnavailableError: pip cannot download it.
    """
    target = cache / f"{wheel.requirement.replace('==', '-')}-py3-none-any.whl"
    if not target.is_file():
        with TemporaryDirectory(dir=cache) as folder:
            _download(wheel, Path(folder))
            (original,) = Path(folder).glob("*.whl")
            part = target.with_suffix(".part")
            with zipfile.ZipFile(original) as whole, zipfile.ZipFile(part, "w") as kept:
                for name in whole.namelist():
                    if name.endswith(".h") and ("/xla/" in name or "pjrt" in name):
                        kept.writestr(name, whole.read(name))
            part.replace(target)
    return target


def _download(wheel: Wheel, folder: Path) -> None:
    options = ["--only-binary=:all:", f"--python-version={wheel.python}", f"--dest={folder}"]
    platforms = [f"--platform=manylinux_2_{glibc}_x86_64" for glibc in (17, 27, 28)]
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q"]
    done = subprocess.run(
        [*command, *options, *platforms, wheel.requirement],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise UnavailableError(f"pip download {wheel.requirement}: {done.stderr.strip()}")
