"""Make the library that stands between a framework and a plugin."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import jinja2

from pjrt_scaffold.errors import MissingError
from pjrt_scaffold.registry.model import Registry

VERSION = 1  # of the record that the library writes
FLAGS = ("-std=c11", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-pedantic")


def source(registry: Registry) -> str:
    """The C text: one thunk for each slot of the newest API, of the return type that it has."""
    functions = registry.at(registry.minors[-1]).functions
    template = (Path(__file__).parent / "interpose.c.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=True
    )
    return environment.from_string(template).render(
        returns=[f.returns for f in functions], version=VERSION
    )


def build(registry: Registry, cache: Path, compiler: str = "cc") -> Path:
    """The library in `cache`, compiled unless one of the same text lies there.

    Raises:
        MissingError: there is no C compiler, or it fails; the text has what it said.
    """
    text = source(registry)
    key = hashlib.sha256("\0".join((text, compiler, *FLAGS)).encode()).hexdigest()[:16]
    library = cache / f"trace-{key}.so"
    if library.exists():
        return library
    if shutil.which(compiler) is None:
        raise MissingError(
            f"there is no C compiler `{compiler}`",
            "the library that traces is compiled the first time it is used",
            "install gcc or clang",
        )
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        code, made = Path(folder) / "interpose.c", Path(folder) / library.name
        code.write_text(text, encoding="utf-8")
        command = [compiler, *FLAGS, str(code), "-o", str(made), "-ldl", "-lpthread"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise MissingError(f"`{compiler}` could not compile the tracing library", run.stderr)
        made.replace(library)
    return library
