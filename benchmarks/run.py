"""`make benchmark`: the default plugin beside XLA's CPU plugin, on this machine, in one run.

Both are installed into one environment. Each round measures each plugin once, in a process of its
own that runs measure.py, so that a machine that slows down slows down both. Prints a table to
stdout and writes build/benchmark/result.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tools import plugins

HOME = plugins.ROOT / "build" / "benchmark"
XLA_WHEEL = "lammps-jax-pjrt-cpu"  # XLA's CPU plugin, built from the XLA of the jaxlib it names
XLA_PATH = "import lammps_jax_pjrt_cpu as xla; print(xla.PLUGIN_PATH)"


@dataclass(frozen=True)
class Program:
    """One row: what is measured, in which unit, and how much slower than XLA it may be."""

    key: str
    title: str
    unit: str
    limit: float | None

    @property
    def scale(self) -> float:
        """Units in a second."""
        return {"ms": 1e3, "us": 1e6}[self.unit]


PROGRAMS = [
    Program("matmul", "matmul 512 x 512, f32", "ms", 2.0),
    Program("elementwise", "elementwise chain, 1M f32", "ms", 2.0),
    Program("cheap_chain", "cheap chain, 1M f32", "ms", 2.0),
    Program("scalar_add", "jitted scalar add, a call", "us", 1.5),
    Program("training_step", "MLP training step", "ms", None),
    Program("compilation", "compiling that step", "ms", None),
]


def prepare(wheel: Path | None) -> Path:
    """Build the default plugin unless there is a wheel, and install both. Returns the Python."""
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    if wheel is None:
        print("Building the default plugin ...", file=sys.stderr, flush=True)
        plugins.render(HOME / "mychip-pjrt")
        wheel = plugins.build_wheel(HOME / "mychip-pjrt", HOME / "wheel", HOME / "build.log")
    print("Installing it beside XLA's CPU plugin ...", file=sys.stderr, flush=True)
    return plugins.environment(HOME / "venv", [wheel, XLA_WHEEL], HOME / "install.log")


def measure(python: Path, arguments: list[str]) -> dict[str, float]:
    """Run measure.py once in its own process."""
    script = plugins.ROOT / "benchmarks" / "measure.py"
    done = subprocess.run(
        [python, script, *arguments], env=plugins.clean_environ(), stdout=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        raise plugins.CommandError(f"measure.py {' '.join(arguments)} failed, see above.")
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def table(ours: dict[str, float], xla: dict[str, float]) -> str:
    """Medians and ratios; below 1 the generated plugin is faster."""
    lines = [f"{'':28}{'mychip':>12}{'XLA CPU':>12}{'ratio':>8}{'limit':>8}"]
    for program in PROGRAMS:
        a, b = ours[program.key], xla[program.key]
        limit = f"{program.limit:.1f}" if program.limit else "-"
        cells = [f"{value * program.scale:.3f} {program.unit}" for value in (a, b)]
        lines.append(f"{program.title:28}{cells[0]:>12}{cells[1]:>12}{a / b:>8.2f}{limit:>8}")
    return "\n".join(lines)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, help="measure this wheel of the default plugin")
    parser.add_argument(
        "--rounds", type=int, default=3, help="processes of each plugin (default 3)"
    )
    options = parser.parse_args()
    try:
        python = prepare(options.wheel)
        found = subprocess.run(
            [python, "-c", XLA_PATH], stdout=subprocess.PIPE, text=True, check=True
        )
        sides = {"mychip": ["mychip"], "xla_cpu": ["xla_cpu", found.stdout.strip()]}
        rounds: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
        for number in range(options.rounds):
            for side, arguments in sides.items():
                print(f"Round {number + 1}: {side} ...", file=sys.stderr, flush=True)
                rounds[side].append(measure(python, arguments))
    except plugins.CommandError as error:
        print(error, file=sys.stderr)
        return 1
    medians = {
        side: {p.key: statistics.median(one[p.key] for one in found_) for p in PROGRAMS}
        for side, found_ in rounds.items()
    }
    print(table(medians["mychip"], medians["xla_cpu"]))
    record = {
        "machine": platform.processor(),
        "cpus": os.cpu_count(),
        "seconds": medians,
        "rounds": rounds,
    }
    (HOME / "result.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
