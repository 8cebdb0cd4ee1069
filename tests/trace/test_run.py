"""`pjrt-scaffold trace run`, as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.trace.conftest import REGISTRY

NAMES = [f.name for f in REGISTRY.at(REGISTRY.minors[-1]).functions]
Plugin = Callable[..., Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(cache: Path, tmp_path: Path) -> Run:
    def call(
        *words: str | Path, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pjrt_scaffold", "trace", "run", *words]
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache), **(env or {})}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return call


def test_summary(run: Run, client: Path, plugin: Plugin) -> None:
    library = plugin()
    done = run("--summary", "--", client, library, "2x3", "3x2")
    assert (done.stdout, done.returncode) == ("", 0)
    empty, title, header, *rows = done.stderr.splitlines()
    version = f"0.{REGISTRY.minors[-1]}"
    assert (empty, title) == ("", f"{library}: PJRT API {version}, one process, 5 calls")
    assert header == "total ms  mean us  calls  failed  function"
    cells = [row.split() for row in rows]
    assert sorted(row[2:] for row in cells) == [["2", "2", NAMES[3]], ["3", "-", NAMES[2]]]
    assert float(cells[0][0]) >= float(cells[1][0]) >= 0


def test_json_in_a_file(run: Run, client: Path, plugin: Plugin, tmp_path: Path) -> None:
    library = plugin()
    done = run("--json", "-o", "calls.json", client, library, "2x3")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    (record,) = json.loads((tmp_path / "calls.json").read_text())
    (function,) = record.pop("functions")
    version = f"0.{REGISTRY.minors[-1]}"
    assert record == {"plugin": str(library), "api_version": version, "processes": 1}
    assert function.pop("nanoseconds") > 0
    assert function == {"name": NAMES[2], "calls": 3, "failed": 0, "unfinished": 0}


def test_log(run: Run, client: Path, plugin: Plugin, tmp_path: Path) -> None:
    """The log of an earlier run is replaced, and the counts are told beside it."""
    (tmp_path / "log").write_text("old")
    done = run("--log", "log", "--", client, plugin(), "2x3", "threads")
    assert (done.returncode, NAMES[2] in done.stderr) == (0, True)
    calls = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert len(calls) == 3 + 4000
    assert {call["function"] for call in calls} == {NAMES[2]}
    assert len({call["thread"] for call in calls}) == 5


def test_log_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    done = run("--log", ".", "touch", "ran")
    assert done.returncode == 2
    done = run("--log", "/proc/log", "touch", "ran")
    assert done.returncode == 2
    assert done.stderr.startswith("pjrt-scaffold: /proc/log cannot be written: ")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("words", "status"), [(["exit7"], 7), (["4x1"], 128 + signal.SIGKILL)], ids=["exit", "signal"]
)
def test_status_is_that_of_the_command(
    words: list[str], status: int, run: Run, client: Path, plugin: Plugin
) -> None:
    done = run("--", client, plugin(), "2x3", *words)
    assert done.returncode == status
    assert NAMES[2] in done.stderr


def test_children_of_the_command_are_traced(run: Run, client: Path, plugin: Plugin) -> None:
    """The words of a shell's command line, and what it prints, are the program's own."""
    script = f"'{client}' '{plugin()}' 2x3; '{client}' '{plugin(name='b.so')}' 2x4; echo done -o"
    done = run("--", "sh", "-c", script)
    assert (done.stdout, done.returncode) == ("done -o\n", 0)
    assert done.stderr.count("one process") == 2


def test_other_preloaded_libraries_stay(run: Run, client: Path, plugin: Plugin) -> None:
    other = str(plugin(name="other.so"))
    done = run(
        "sh", "-c", f"echo $LD_PRELOAD; '{client}' '{plugin()}' 2x1", env={"LD_PRELOAD": other}
    )
    assert done.stdout.startswith(f"{other}:"), done


def test_no_plugin(run: Run) -> None:
    done = run("--", "true")
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr.startswith("pjrt-scaffold: `true` loaded no PJRT plugin")


def test_no_plugin_and_a_failure(run: Run) -> None:
    done = run("--", "sh", "-c", "exit 7")
    assert done.returncode == 7
    assert "It ended with status 7." in done.stderr


def test_no_such_command(run: Run) -> None:
    done = run("--", "no-such-command")
    assert done.returncode == 2
    assert done.stderr.startswith("pjrt-scaffold: There is no command `no-such-command`.\n")


def test_command_that_cannot_be_run(run: Run, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    done = run("--", program)
    assert done.returncode == 2
    assert done.stderr.startswith(f"pjrt-scaffold: `{program}` cannot be run: ")


def test_no_command(run: Run) -> None:
    assert run().returncode == 2


def test_no_folder_for_the_result(run: Run, client: Path, plugin: Plugin, tmp_path: Path) -> None:
    """It is said before the command runs."""
    done = run("-o", "gone/calls", "touch", "ran")
    assert done.returncode == 2
    assert "there is no folder gone" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_no_compiler(run: Run, tmp_path: Path) -> None:
    done = run("true", env={"CC": "no-such-cc", "XDG_CACHE_HOME": str(tmp_path / "empty")})
    assert done.returncode == 2
    assert done.stderr.startswith("pjrt-scaffold: There is no C compiler `no-such-cc`.\n")


def test_cache_whose_name_ld_preload_cannot_hold(
    run: Run, client: Path, plugin: Plugin, cache: Path, tmp_path: Path
) -> None:
    spaced = tmp_path / "a cache"
    spaced.symlink_to(cache)
    done = run(client, plugin(), "2x3", env={"XDG_CACHE_HOME": str(spaced)})
    assert (done.returncode, NAMES[2] in done.stderr) == (0, True)
    done = run("true", env={"XDG_CACHE_HOME": str(spaced), "TMPDIR": str(spaced)})
    assert done.returncode == 2
    assert "a space or a colon" in done.stderr


def test_a_signal_ends_the_command_and_its_counts_are_told(
    client: Path, plugin: Plugin, cache: Path, tmp_path: Path
) -> None:
    script = f"'{client}' '{plugin()}' 2x3; touch ready; exec sleep 60"
    process = subprocess.Popen(
        [sys.executable, "-m", "pjrt_scaffold", "trace", "run", "sh", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert NAMES[2] in err
