"""Make the library that stands between a framework and its plugins."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import jinja2

from pjrt_scaffold.errors import MissingError
from pjrt_scaffold.registry.model import Registry
from pjrt_scaffold.trace.arguments import arguments

VERSION = 1  # of the records that the library writes
PLUGINS = 8  # as many in one process are traced
PATH = 4096  # bytes that the path of a plugin may have
# -fvisibility: the library's own names must not meet those of the programs that it is loaded into.
# -O2: what dlsym passes on it must pass on by a jump, see there.
WARNINGS = ("-Wall", "-Wextra", "-pedantic")
FLAGS = ("-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", *WARNINGS)


def source(registry: Registry) -> str:
    """The C text: one thunk for each slot of the newest API, of the return type that it has."""
    api = registry.at(registry.minors[-1])
    members = arguments(api)
    used = {member.enum for each in members for member in each}
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
    )
    return environment.get_template("interpose.c.jinja").render(
        returns=[function.returns for function in api.functions],
        names=[function.name for function in api.functions],
        arguments=members,
        enums=[enum for name, enum in api.enums.items() if name in used],
        version=VERSION,
        plugins=PLUGINS,
        path=PATH,
    )


def cache() -> Path:
    """The folder where libraries are kept, by the convention of this system."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pjrt-scaffold"


def build(registry: Registry, folder: Path, compiler: str = "") -> Path:
    """The library in `folder`, compiled unless one of the same text lies there.

    Args:
        registry: says which functions there are.
        folder: keeps the libraries; is made.
        compiler: a command; else $CC, else `cc`.

    Raises:
        MissingError: there is no C compiler, or it fails; the text has what it said.
    """
    compiler = compiler or os.environ.get("CC") or "cc"
    text = source(registry)
    key = hashlib.sha256("\0".join((text, compiler, *FLAGS)).encode()).hexdigest()[:16]
    library = folder / f"trace-{key}.so"
    if library.exists():
        return library
    program = shlex.split(compiler)
    if shutil.which(program[0]) is None:
        raise MissingError(
            f"There is no C compiler `{compiler}`.",
            "The library that traces is compiled the first time it is used.",
            "Install gcc or clang, or name a compiler in the environment variable CC.",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            code, made = Path(scratch) / "interpose.c", Path(scratch) / library.name
            code.write_text(text, encoding="utf-8")
            command = [*program, *FLAGS, str(code), "-o", str(made), "-ldl", "-lpthread"]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode != 0:
                raise MissingError(
                    f"`{compiler}` could not compile the library that traces.", run.stderr
                )
            made.replace(library)
    except OSError as error:
        raise MissingError(
            f"The library that traces cannot be written to {folder}: {error.strerror or error}.",
            todo="Name a folder of yours in the environment variable XDG_CACHE_HOME.",
        ) from error
    return library


def require_platform(system: str = sys.platform, c_library: str = platform.libc_ver()[0]) -> None:
    """Check that the library can get between on this system.

    Raises:
        MissingError: it cannot.
    """
    if system != "linux" or c_library != "glibc":
        raise MissingError(
            "Tracing works on Linux with the GNU C library only.",
            f"This is {system} with {c_library or 'another C library'}; the library that traces is "
            "loaded by LD_PRELOAD and answers dlsym in place of the GNU C library.",
        )


def environment(
    library: Path, folder: Path, given: Mapping[str, str], log: Path | None = None
) -> dict[str, str]:
    """The environment in which programs load the library and write their counts to `folder`.

    With `log`, each call becomes a line of JSON at the end of that file.
    What is preloaded already stays before it: a sanitizer insists on being the first.
    """
    others = given.get("LD_PRELOAD", "")
    return {
        **given,
        "LD_PRELOAD": f"{others}:{library}" if others else str(library),
        "PJRT_SCAFFOLD_TRACE_FOLDER": str(folder),
        **({"PJRT_SCAFFOLD_TRACE_LOG": str(log.absolute())} if log else {}),
    }
