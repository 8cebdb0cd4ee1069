"""Making a plugin from the template: render, build the wheel, install it beside jax.

The demo, the benchmarks and the tests of generated repositories all go through these.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pjrt_scaffold import _new, _source

ROOT = Path(__file__).resolve().parent.parent


class CommandError(Exception):
    """A command failed; the message shows the end of its output and where the whole of it is."""


def clean_environ() -> dict[str, str]:
    """This process's environment without what would steer JAX: its own settings are tried."""
    steering = ("JAX_", "XLA_", "MYCHIP_", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.startswith(steering)}


def run(command: Sequence[str | Path], log: Path, cwd: Path = ROOT) -> None:
    """Run a command, its output going to the file `log`.

    Raises:
        CommandError: it failed.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=clean_environ(),
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode != 0:
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:])
        raise CommandError(
            f"{tail}\n\nThis failed: {' '.join(map(str, command))}\nAll of it: {log}"
        )


def render(dest: Path, answers: Mapping[str, str] | None = None) -> None:
    """Render the working tree's template, uncommitted changes included, defaults for the rest."""
    source = _source.resolve(str(ROOT), None, allow_dirty=True)
    _new.render(dest, source, answers or {}, defaults=True)


def build_wheel(repository: Path, out: Path, log: Path) -> Path:
    """Build a repository's wheel as pip does, isolated. Returns the wheel's path in `out`."""
    pip: list[str | Path] = [sys.executable, "-m", "pip", "wheel", "--verbose", "--no-deps"]
    run([*pip, "--wheel-dir", out, repository], log)
    (wheel,) = out.glob("*.whl")
    return wheel


def environment(home: Path, packages: Sequence[str | Path], log: Path, python: str = "") -> Path:
    """Make a virtual environment that holds the packages alone. Returns its Python.

    Args:
        home: where; must not exist.
        packages: wheels or requirements.
        log: takes pip's output.
        python: the interpreter to make it with; else the one that runs this.
    """
    run([python or sys.executable, "-m", "venv", str(home)], log)
    interpreter = home / "bin" / "python"
    pip: list[str | Path] = [interpreter, "-m", "pip", "--disable-pip-version-check", "install"]
    run([*pip, *packages], log)
    return interpreter


def find_python(version: str) -> str | None:
    """A Python of this version on PATH or among pyenv's, or None."""
    if found := shutil.which(f"python{version}"):
        command = [found, "-c", "import sys; print(sys.executable)"]
        done = subprocess.run(command, capture_output=True, text=True)  # a shim may lead nowhere
        if done.returncode == 0:
            return done.stdout.strip()
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return next((str(p) for p in sorted(pyenv.glob(f"versions/{version}.*/bin/python"))), None)
