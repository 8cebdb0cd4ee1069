"""The library between a client and its plugins, and what it counts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pjrt_scaffold.errors import MissingError, UsageError
from pjrt_scaffold.trace import counts, interposer
from tests.trace.conftest import CLIENT, KNOWN, REGISTRY, Compile

NAMES = [f.name for f in REGISTRY.at(REGISTRY.minors[-1]).functions]
MOST_NS = 5000  # beside less than 1000 that it costs where nothing else runs

Plugin = Callable[..., Path]


class Traced:
    """Runs the client under the library, outside of the command line."""

    def __init__(self, client: Path, cache: Path, folder: Path) -> None:
        self.client, self.folder = client, folder
        self.library = interposer.build(REGISTRY, cache / "pjrt-scaffold")

    def __call__(self, *words: str | Path, status: int = 0) -> tuple[counts.Record, ...]:
        environment = interposer.environment(self.library, self.folder, os.environ)
        done = subprocess.run([self.client, *words], env=environment, capture_output=True)
        self.err = done.stderr.decode()
        assert done.returncode == status, done
        return counts.read_all(self.folder, REGISTRY)


@pytest.fixture
def traced(client: Path, cache: Path, tmp_path: Path) -> Traced:
    return Traced(client, cache, tmp_path)


def calls(record: counts.Record) -> dict[str, int]:
    return {count.name: count.calls for count in record.counts}


@pytest.mark.parametrize("extra", [-20, 0, 7], ids=["older", "known", "newer"])
def test_counts(extra: int, plugin: Plugin, traced: Traced) -> None:
    """An older plugin has fewer functions; those beyond the registry are passed through."""
    library = plugin(extra)
    (record,) = traced(library, "2x3", "last")
    assert (record.plugin, record.processes) == (str(library), 1)
    assert record.version == f"0.{REGISTRY.minors[-1] + (1 if extra > 0 else 0)}"
    last = {} if extra > 0 else {NAMES[KNOWN + extra - 1]: 1}
    assert calls(record) == {NAMES[2]: 3, **last}
    assert all(c.nanoseconds > 0 and c.failed == c.unfinished == 0 for c in record.counts)


def test_failures(plugin: Plugin, traced: Traced) -> None:
    (record,) = traced(plugin(), "2x3", "3x2")
    assert [(c.calls, c.failed) for c in record.counts] == [(3, 0), (2, 2)]


def test_counts_outlive_a_crash(plugin: Plugin, traced: Traced) -> None:
    """The call that killed the process is told apart from those that returned."""
    (record,) = traced(plugin(), "2x3", "4x1", status=-9)
    assert [(c.name, c.calls, c.unfinished) for c in record.counts] == [
        (NAMES[2], 3, 0),
        (NAMES[4], 0, 1),
    ]
    assert f"{NAMES[4]}: 1 had not returned when the process ended" in counts.summary([record])


def test_fork_and_threads(plugin: Plugin, traced: Traced) -> None:
    """A forked process counts on, beside its parent; no call of a thread is lost."""
    (record,) = traced(plugin(), "2x1", "fork", "threads", "2x1")
    assert calls(record) == {NAMES[2]: 1 + 5 + 4000 + 1}


def test_two_plugins_and_two_processes(plugin: Plugin, traced: Traced) -> None:
    first, second = plugin(name="a.so"), plugin(-20, name="b.so")
    traced(first, "2x3", second, "2x4")
    records = traced(second, "2x5", "6x1")
    assert {r.plugin: (r.processes, calls(r)) for r in records} == {
        str(first): (1, {NAMES[2]: 3}),
        str(second): (2, {NAMES[2]: 9, NAMES[6]: 1}),
    }


def test_more_plugins_than_are_traced(plugin: Plugin, traced: Traced) -> None:
    many = [plugin(name=f"{i}.so") for i in range(interposer.PLUGINS + 1)]
    records = traced(*(word for one in many for word in (one, "2x1")))
    assert len(records) == interposer.PLUGINS
    assert f"more than {interposer.PLUGINS} plugins; {many[-1]} is not traced" in traced.err


def test_counts_that_cannot_be_written(plugin: Plugin, traced: Traced) -> None:
    """The program runs as without us, and is told."""
    traced.folder = traced.folder / "gone"
    assert traced(plugin(), "2x3") == ()
    assert "no counts can be written" in traced.err


def test_other_symbols_are_found_as_without_us(c: Compile, traced: Traced) -> None:
    """RTLD_NEXT goes by who asks, so a library must not be told what comes after ours."""
    behind = c("int answer(void) { return 42; }", "libbehind.so", "-shared", "-fPIC")
    text = """#define _GNU_SOURCE
    #include <dlfcn.h>
    int answer(void) { return ((int (*)(void))dlsym(RTLD_NEXT, "answer"))() + 1; }"""
    front = c(text, "libfront.so", "-shared", "-fPIC")
    rpath = [f"-Wl,-rpath,{front.parent}:{behind.parent},--no-as-needed"]
    libraries = [f"-L{front.parent}", f"-L{behind.parent}", "-lfront", "-lbehind"]
    main = "int answer(void); int main(void) { return answer(); }"
    traced.client = c(main, "main", *rpath, *libraries)
    traced(status=43)


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_programs_with_a_sanitizer(
    sanitizer: str, c: Compile, plugin: Plugin, traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sanitizer asks for symbols before anything of the process works, C library included."""
    monkeypatch.setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0")
    monkeypatch.setenv("PJRT_SCAFFOLD_TRACE_LOG", str(traced.folder / "log"))
    traced.client = c(CLIENT, "client", f"-fsanitize={sanitizer}")
    (record,) = traced(plugin(), "2x1", "threads")
    assert calls(record) == {NAMES[2]: 4001}
    assert (traced.folder / "log").read_bytes().count(b"\n") == 4001


def test_a_counted_call_is_cheap(client: Path, plugin: Plugin, traced: Traced) -> None:
    library = plugin()
    environment = interposer.environment(traced.library, traced.folder, os.environ)
    command: list[str | Path] = [client, library, "measure"]
    took = [
        float(subprocess.run(command, env=env, capture_output=True, check=True).stdout)
        for env in (environment, dict(os.environ))
    ]
    assert took[0] - took[1] < MOST_NS


def test_bad_records(plugin: Plugin, traced: Traced) -> None:
    traced(plugin(), "2x3")
    (path,) = traced.folder.iterdir()
    good = path.read_bytes()
    for data, says in (
        (b"", "no record"),
        (good[:100], "cut off"),
        (good[:8] + b"\xff" + good[9:], "newer"),
    ):
        path.write_bytes(data)
        with pytest.raises(UsageError, match=says):
            counts.read(path, REGISTRY)


def test_no_compiler(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no C compiler"):
        interposer.build(REGISTRY, tmp_path, "no-such-compiler")


def test_compiler_that_fails(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"(?s)could not compile.*no-such-option"):
        interposer.build(REGISTRY, tmp_path, "cc --no-such-option")


def test_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MissingError, match="XDG_CACHE_HOME"):
        interposer.build(REGISTRY, tmp_path / "file" / "cache")


@pytest.mark.parametrize("system", [("darwin", ""), ("win32", ""), ("linux", "")])
def test_other_platforms(system: tuple[str, str]) -> None:
    with pytest.raises(MissingError, match="on Linux with the GNU C library only"):
        interposer.require_platform(*system)


def test_the_library_compiles_without_warnings(tmp_path: Path) -> None:
    interposer.build(REGISTRY, tmp_path, "cc -Werror")


def test_return_types_stay_with_their_slots() -> None:
    """One thunk serves every version, so no version may give a slot another return type."""
    newest = [f.returns for f in REGISTRY.at(REGISTRY.minors[-1]).functions]
    for minor in REGISTRY.minors:
        for slot, function in enumerate(REGISTRY.at(minor).functions):
            assert (function.returns == "void") == (newest[slot] == "void"), (minor, slot)
