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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools import plugins

ROOT = plugins.ROOT
HOME = ROOT / "build" / "demo"
REPOSITORY = HOME / "mychip-pjrt"
STEPS = 4


@contextmanager
def step(number: int, title: str) -> Iterator[None]:
    """Print the step's title, then how long it took."""
    print(f"[{number}/{STEPS}] {title}", flush=True)
    begin = time.monotonic()
    yield
    print(f"      {time.monotonic() - begin:.1f} s\n", flush=True)


def run_on_device(python: Path) -> dict[str, Any]:
    """Run JAX on the plugin, its output shown. Returns what it measured."""
    result = HOME / "result.json"
    script = ROOT / "demo" / "on_device.py"
    done = subprocess.run(
        [python, script, result], cwd=HOME, env=plugins.clean_environ(), check=False
    )
    if done.returncode != 0:
        raise plugins.CommandError(
            "The step failed: JAX did not run on the generated plugin as it should."
        )
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
            plugins.render(REPOSITORY)
            files, lines = count(REPOSITORY)
        with step(2, "Build its wheel (hatchling, CMake; a minute or two)"):
            build_begin = time.monotonic()
            wheel = plugins.build_wheel(REPOSITORY, HOME / "wheel", HOME / "build.log")
            build_time = time.monotonic() - build_begin
        with step(3, f"Install the wheel and jax into a clean environment, {HOME / 'venv'}"):
            python = plugins.environment(HOME / "venv", [wheel, "jax"], HOME / "install.log")
        with step(4, "Run JAX on the plugin"):
            measured = run_on_device(python)
    except plugins.CommandError as error:
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
