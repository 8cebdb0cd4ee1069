"""`make demo`: from the template to a network trained on the generated plugin, step by step.

Renders the default repository into build/demo/mychip-pjrt, builds its wheel, installs the wheel
beside jax into an environment that holds nothing else, and runs on_device.py there. What the tools
say goes to build/demo/*.log, and is shown when one of them fails.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "build" / "demo"
REPOSITORY = HOME / "mychip-pjrt"
STEPS = 4


class StepError(Exception):
    """A step failed; the message says which and shows the end of its log."""


@contextmanager
def step(number: int, title: str) -> Iterator[None]:
    """Print the step's title, then how long it took."""
    print(f"[{number}/{STEPS}] {title}", flush=True)
    begin = time.monotonic()
    yield
    print(f"      {time.monotonic() - begin:.1f} s\n", flush=True)


def run(log: str, command: list[str | Path], cwd: Path = ROOT) -> None:
    """Run a command with its output in HOME/log.

    Raises:
        StepError: it failed.
    """
    path = HOME / log
    with path.open("w", encoding="utf-8") as file:
        done = subprocess.run(command, cwd=cwd, stdout=file, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        tail = "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-25:])
        raise StepError(f"{tail}\n\nThe step failed. Its whole output is in {path}")


def render() -> None:
    """Render the default answers, this checkout's uncommitted changes included."""
    new = [sys.executable, "-m", "pjrt_scaffold", "new"]
    run("render.log", [*new, REPOSITORY, "--defaults", "--allow-dirty"])


def build_wheel() -> Path:
    """Build the wheel as pip does: isolated, with hatchling. Returns its path."""
    out = HOME / "wheel"
    run(
        "build.log",
        [sys.executable, "-m", "pip", "wheel", "-v", "--no-deps", "-w", out, REPOSITORY],
    )
    (wheel,) = out.glob("*.whl")
    return wheel


def install(wheel: Path) -> Path:
    """Make the clean environment. Returns its Python."""
    venv.create(HOME / "venv", with_pip=True)
    python = HOME / "venv" / "bin" / "python"
    run(
        "install.log", [python, "-m", "pip", "install", "--disable-pip-version-check", wheel, "jax"]
    )
    return python


def run_on_device(python: Path) -> dict[str, Any]:
    """Run JAX on the plugin, its output shown. Returns what it measured."""
    result = HOME / "result.json"
    script = ROOT / "demo" / "on_device.py"
    done = subprocess.run([python, script, result], cwd=HOME, check=False)
    if done.returncode != 0:
        raise StepError("The step failed: JAX did not run on the generated plugin as it should.")
    measured: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return measured


def count(tree: Path) -> tuple[int, int]:
    """Files of the rendered repository and their lines."""
    files = [path for path in tree.rglob("*") if path.is_file()]
    return len(files), sum(path.read_bytes().count(b"\n") for path in files)


def main() -> int:
    """Run the steps and print the summary."""
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    begin = time.monotonic()
    try:
        with step(1, f"Render a plugin repository with the default answers into {REPOSITORY}"):
            render()
            files, lines = count(REPOSITORY)
        with step(2, "Build its wheel (hatchling, CMake; a minute or two)"):
            build_begin = time.monotonic()
            wheel = build_wheel()
            build_time = time.monotonic() - build_begin
        with step(3, f"Install the wheel and jax into a clean environment, {HOME / 'venv'}"):
            python = install(wheel)
        with step(4, "Run JAX on the plugin"):
            measured = run_on_device(python)
    except StepError as error:
        print(error, file=sys.stderr)
        return 1
    megabytes = wheel.stat().st_size / 1e6
    rows = [
        ("generated", f"{files} files, {lines} lines in {REPOSITORY}"),
        ("wheel", f"{wheel.name}, {megabytes:.1f} MB"),
        ("wheel built in", f"{build_time:.0f} s"),
        ("devices", f"{measured['devices']} (jax {measured['jax']})"),
        ("training", f"loss {measured['first_loss']:.3f} to {measured['last_loss']:.3f}"),
        ("time per step", f"{measured['step_ms']:.2f} ms"),
        ("all of it", f"{time.monotonic() - begin:.0f} s"),
    ]
    print("Summary")
    for name, value in rows:
        print(f"  {name:15} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
