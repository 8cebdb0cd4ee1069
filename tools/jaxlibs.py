"""Run one plugin under many releases of jaxlib, and plugins of older API versions too.

    python -m tools.jaxlibs                   everything that is not done yet
    python -m tools.jaxlibs --jaxlib 0.8.3    one release; --api 0.72: one plugin

Environments, wheels and results stay under build/jaxlibs, so that a run goes on where another
stopped; a row runs again when the plugin's sources, the programs or the packages changed. A full
run writes tests/jaxlibs/results.json and the table in the docs.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tools import jaxlibs_table, plugins
from tools.jaxlibs_matrix import MATRIX, Release, known_failure

HOME = plugins.ROOT / "build" / "jaxlibs"
PROGRAMS = plugins.ROOT / "tests" / "jaxlibs" / "programs.py"
# What a wheel is made of, in a rendered repository.
SOURCES = ("CMakeLists.txt", "cmake", "csrc", "hatch_build.py", "pyproject.toml", "src")
SECONDS = 600  # for all programs of a row; a program that hangs is one that died


@dataclass
class Row:
    """What became of the programs with one plugin under one jaxlib.

    Attributes:
        api: the PJRT API version that the plugin was rendered for.
        jaxlib: the release; jax has the same number.
        python: the interpreter's version, or "" when none was found.
        skipped: why nothing ran, or "".
        passed: programs that ended well.
        failed: what the others said, by name.
    """

    api: str
    jaxlib: str
    python: str = ""
    skipped: str = ""
    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def surprises(self) -> list[str]:
        """Failures that nothing explains, and explained ones that did not happen."""
        found = [
            f"{name}: {error}"
            for name, error in self.failed.items()
            if known_failure(name, self.api, self.jaxlib) is None
        ]
        found += [
            f"{name}: passed, but tools/jaxlibs_matrix.py says that it fails"
            for name in self.passed
            if known_failure(name, self.api, self.jaxlib) is not None
        ]
        return found


# ---- Plugins ----


@dataclass(frozen=True)
class Plugin:
    """A wheel of the default repository at one API version, and the digest of its sources."""

    wheel: Path
    digest: str


@functools.cache
def build_plugin(api: str) -> Plugin:
    """The wheel for an API version, built unless there is one of these sources; once in a run.

    All versions share one build folder: between them only the C API layer is compiled anew.
    """
    repository = HOME / "repository"
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "fresh"
        plugins.render(fresh, {"pjrt_api_version": api})
        digest = _digest(_files(fresh))
        out = HOME / "wheels" / f"{api}-{digest}"
        if not (built := sorted(out.glob("*.whl"))):
            say(f"plugin {api}: building its wheel")
            _mirror(fresh, repository)
            built = [plugins.build_wheel(repository, out, HOME / "logs" / f"build-{api}.log")]
    return Plugin(built[0], digest)


def _files(repository: Path) -> dict[str, bytes]:
    listed = [
        path
        for name in SOURCES
        for path in (repository / name, *(repository / name).rglob("*"))
        if path.is_file()
    ]
    return {path.relative_to(repository).as_posix(): path.read_bytes() for path in listed}


def _mirror(source: Path, dest: Path) -> None:
    """Make `dest` hold the files of `source`; equal ones keep their times, build/ stays."""
    wanted = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    for path in [path for path in dest.rglob("*") if path.is_file()]:
        relative = path.relative_to(dest)
        if relative.parts[0] != "build" and relative not in wanted:
            path.unlink()
    for relative in wanted:
        old, new = dest / relative, source / relative
        if not old.is_file() or old.read_bytes() != new.read_bytes():
            old.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(new, old)


def _digest(files: Mapping[str, bytes]) -> str:
    total = hashlib.sha256()
    for name, content in sorted(files.items()):
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()[:12]


# ---- Environments ----


def environment(release: Release, python: str) -> Path:
    """The Python of the release's environment, which is made when it is not there or not whole."""
    home = HOME / "environments" / release.jaxlib
    stamp = home / "packages.txt"
    wanted = "\n".join([python, *release.requirements()])
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        say(f"jaxlib {release.jaxlib}: making its environment")
        shutil.rmtree(home, ignore_errors=True)
        log = HOME / "logs" / f"environment-{release.jaxlib}.log"
        plugins.environment(home, release.requirements(), log, python)
        stamp.write_text(wanted, encoding="utf-8")
    return home / "bin" / "python"


def install(interpreter: Path, plugin: Plugin) -> None:
    """Put the plugin into the environment, without what its metadata asks for: jax is there."""
    pip: list[str | Path] = [interpreter, "-m", "pip", "--disable-pip-version-check", "install"]
    log = interpreter.parents[1] / "install.log"
    plugins.run([*pip, "--no-deps", "--force-reinstall", plugin.wheel], log)


# ---- Rows ----


def run_row(api: str, release: Release) -> Row:
    """All programs with one plugin under one release, or what an earlier run recorded of them."""
    row = Row(api, release.jaxlib)
    python = plugins.find_python(release.python)
    if python is None:
        row.skipped = f"there is no Python {release.python} on this machine"
        return row
    plugin = build_plugin(api)
    record = HOME / "results" / f"{api}-{release.jaxlib}.json"
    inputs = [plugin.digest, PROGRAMS.read_text(encoding="utf-8"), python, *release.requirements()]
    key = hashlib.sha256("\0".join(inputs).encode()).hexdigest()
    if record.is_file():
        recorded = json.loads(record.read_text(encoding="utf-8"))
        if recorded.pop("key") == key:
            return Row(**recorded)
    try:
        interpreter = environment(release, python)
        install(interpreter, plugin)
    except plugins.CommandError as error:
        row.skipped = "its packages cannot be installed"
        say(str(error))
        return row
    version = subprocess.run(
        [interpreter, "-c", "import platform; print(platform.python_version())"],
        capture_output=True,
        text=True,
        check=True,
    )
    row.python = version.stdout.strip()
    run_programs(interpreter, row, HOME / "logs" / f"programs-{api}-{release.jaxlib}.log")
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps({"key": key, **asdict(row)}, indent=1), encoding="utf-8")
    return row


def run_programs(interpreter: Path, row: Row, log: Path) -> None:
    """Run every program; when one ends the process, go on with the next in a new process."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file:
        left = run_script(interpreter, [], file.fileno()).split()
        while left:
            output = run_script(interpreter, left, file.fileno())
            reports = [json.loads(line) for line in output.splitlines()]
            done = {report["name"] for report in reports}
            ended = {report["name"]: report for report in reports}  # the last word on each
            for name, report in ended.items():
                if report["outcome"] == "passed":
                    row.passed.append(name)
                else:
                    died = report["outcome"] == "started"
                    error = "the process died" if died else str(report["error"])
                    row.failed[name] = error.replace(f"{plugins.ROOT}/", "")
            if not done:
                row.failed |= dict.fromkeys(left, f"no program starts; see {log.name}")
                return
            left = [name for name in left if name not in done]


def run_script(interpreter: Path, names: Sequence[str], stderr: int) -> str:
    """Run programs.py with these arguments; returns what it printed, however it ended."""
    with tempfile.TemporaryDirectory() as elsewhere:
        process = subprocess.Popen(
            [interpreter, "-X", "faulthandler", PROGRAMS, *names],
            cwd=elsewhere,
            env=plugins.clean_environ(),
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        try:
            return process.communicate(timeout=SECONDS)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            return process.communicate()[0]


# ---- The whole ----


def say(text: str) -> None:
    """Show progress."""
    print(text, file=sys.stderr, flush=True)


def selected(api: Iterable[str] | None, jaxlib: Iterable[str] | None) -> list[tuple[str, Release]]:
    """The rows of the matrix, or those of them that were named."""
    return [
        (version, release)
        for version, releases in MATRIX.items()
        for release in releases
        if (not api or version in api) and (not jaxlib or release.jaxlib in jaxlib)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the matrix. Exit status 0: as expected, 1: not, 2: nothing to run."""
    parser = argparse.ArgumentParser(prog="python -m tools.jaxlibs", description=__doc__)
    parser.add_argument("--api", action="append", metavar="0.NN", help="only this plugin")
    parser.add_argument("--jaxlib", action="append", metavar="X.Y.Z", help="only this release")
    options = parser.parse_args(arguments)
    wanted = selected(options.api, options.jaxlib)
    if not wanted:
        say("No row of the matrix is like that; tools/jaxlibs_matrix.py lists them.")
        return 2
    rows: list[Row] = []
    for number, (api, release) in enumerate(wanted, 1):
        row = run_row(api, release)
        rows.append(row)
        outcome = row.skipped or f"{len(row.passed)} passed, {len(row.failed)} failed"
        say(f"[{number}/{len(wanted)}] plugin {api}, jaxlib {release.jaxlib}: {outcome}")
        for surprise in row.surprises():
            say(f"    {surprise}")
    if not options.api and not options.jaxlib and not any(row.skipped for row in rows):
        jaxlibs_table.write_results([asdict(row) for row in rows])
        say(f"Wrote {jaxlibs_table.RESULTS.relative_to(plugins.ROOT)} and the table in the docs.")
    return int(any(row.surprises() for row in rows))


if __name__ == "__main__":
    sys.exit(main())
