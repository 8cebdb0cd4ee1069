"""``jax.profiler.trace``: what the profile shows of the plugin's devices."""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.profiler import ProfileData
from plugin_under_test import BACKEND, config

pytestmark = [pytest.mark.core, pytest.mark.needs_compiler]

PLANE = f"/device:CUSTOM:{config.PLATFORM}:"


@dataclass(frozen=True)
class Event:
    """One event of a line: nanoseconds since the profile's start, and its numbers and texts."""

    name: str
    start_ns: float
    duration_ns: float
    stats: dict[str, Any] = field(default_factory=dict)

    @property
    def end_ns(self) -> float:
        return self.start_ns + self.duration_ns


@dataclass(frozen=True)
class Profile:
    """The planes by name, each a dict of lines by name."""

    planes: dict[str, dict[str, list[Event]]]
    wall_ns: int
    folder: Path

    def device(self, number: int) -> dict[str, list[Event]]:
        return self.planes[PLANE + str(number)]


def doubled_and_summed(x: jax.Array) -> jax.Array:
    return (x @ x).sum()


def take(folder: Path, options: Any = None, run: Any = None) -> Profile:
    """A profile of one transfer to device 0, and one run there."""
    device = jax.devices(config.PLATFORM)[0]
    arguments = {} if options is None else {"profiler_options": options}
    begin = time.time_ns()
    with jax.profiler.trace(str(folder), **arguments):
        x = jax.device_put(np.ones((48, 48), np.float32), device)  # too small to be shared
        total = (run or jax.jit(doubled_and_summed))(x)
        assert float(np.asarray(total)) == 48.0**3
    wall = time.time_ns() - begin
    (path,) = folder.rglob("*.xplane.pb")
    planes: dict[str, dict[str, list[Event]]] = {}
    for plane in ProfileData.from_file(str(path)).planes:
        lines = planes.setdefault(plane.name or "", {})
        for line in plane.lines:
            lines.setdefault(line.name or "", []).extend(
                Event(event.name, event.start_ns, event.duration_ns, dict(event.stats))
                for event in line.events
            )
    return Profile(planes, wall, path.parent)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return take(tmp_path_factory.mktemp("profile"))


def test_shows_the_program_on_its_device(profile: Profile) -> None:
    names = [event.name for event in profile.device(0)["XLA Modules"]]
    assert "jit_doubled_and_summed" in names
    assert PLANE + "1" not in profile.planes  # nothing ran there


def test_shows_transfers_with_their_sizes(profile: Profile) -> None:
    sizes = {
        (event.name, event.stats["bytes_transferred"]) for event in profile.device(0)["Transfers"]
    }
    assert sizes == {("host to device", 48 * 48 * 4)}


def test_shows_compilations_on_the_host(profile: Profile) -> None:
    host = [event.name for line in profile.planes["/host:CPU"].values() for event in line]
    assert "compile jit_doubled_and_summed" in host


def test_times_lie_within_the_profile(profile: Profile) -> None:
    """Same clock as the framework's: the run is inside of the call that made it."""
    events = [event for line in profile.device(0).values() for event in line]
    first = min(event.start_ns for line in profile.planes["/host:CPU"].values() for event in line)
    last = max(event.end_ns for line in profile.planes["/host:CPU"].values() for event in line)
    slack = 1e6
    assert last - first <= profile.wall_ns
    for event in events:
        assert event.duration_ns >= 0
        assert first - slack <= event.start_ns <= event.end_ns <= last + slack


@pytest.mark.skipif(BACKEND != "reference_cpu", reason="what the reference backend records")
def test_shows_what_runs_inside_of_a_program(profile: Profile) -> None:
    (run,) = (e for e in profile.device(0)["XLA Modules"] if e.name == "jit_doubled_and_summed")
    inside = [
        event
        for event in profile.device(0)["XLA Ops"]
        if run.start_ns <= event.start_ns and event.end_ns <= run.end_ns
    ]
    assert any(event.name.startswith("dot_general") for event in inside)


def test_trace_viewers_get_the_device_too(profile: Profile) -> None:
    (path,) = profile.folder.glob("*.trace.json.gz")
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
    shown = {event["name"] for event in events if processes.get(event.get("pid")) == PLANE + "0"}
    assert {"jit_doubled_and_summed", "host to device"} <= shown


@pytest.mark.skipif(BACKEND != "reference_cpu", reason="what the reference backend records")
def test_trace_viewers_get_the_line_of_the_program(profile: Profile) -> None:
    (path,) = profile.folder.glob("*.trace.json.gz")
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    dots = [e for e in events if e.get("name", "").startswith("dot_general tensor")]
    assert dots
    assert all("test_profiler.py:" in dot["args"]["source"] for dot in dots)


def test_a_second_profile_shows_only_itself(tmp_path: Path) -> None:
    run = jax.jit(doubled_and_summed)
    first = take(tmp_path / "first", run=run)
    second = take(tmp_path / "second", run=run)
    for profile in (first, second):
        assert [e.name for e in profile.device(0)["XLA Modules"]] == ["jit_doubled_and_summed"]


def test_the_host_level_turns_the_host_off(tmp_path: Path) -> None:
    options = jax.profiler.ProfileOptions()
    options.host_tracer_level = 0
    planes = take(tmp_path, options).planes
    assert PLANE + "0" in planes
    host = [event.name for line in planes.get("/host:CPU", {}).values() for event in line]
    assert not [name for name in host if name.startswith("compile ")]


def test_a_profile_takes_no_more_memory_than_it_may(tmp_path: Path) -> None:
    options = jax.profiler.ProfileOptions()
    options.advanced_configuration = {f"{config.PLATFORM}_profile_bytes": 0}
    assert PLANE + "0" not in take(tmp_path, options).planes


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="AddressSanitizer keeps freed memory")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not say what was used at most")
def test_memory_does_not_grow_while_no_profile_is_taken() -> None:
    """pitfalls row 81: a profiler that is always on fills the host's memory."""
    import resource

    run = jax.jit(lambda x: x + 1)
    x = run(np.float32(0))
    unit = 1024 if sys.platform == "darwin" else 1

    def calls(count: int) -> int:
        y = x
        for _ in range(count):
            y = run(y)
        y.block_until_ready()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit

    before = calls(2000)
    grown = calls(20000) - before
    assert grown < 20000 * 72 / 1024 / 2, f"{grown} KiB more after 20000 calls"
