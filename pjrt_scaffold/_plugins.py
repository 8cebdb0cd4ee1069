"""Find a plugin's library, and learn what it says about itself without running it in-process."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pjrt_scaffold.errors import MissingError, UsageError

_SUFFIXES = (".so", ".dylib", ".dll")
_SYMBOL = b"GetPjrtApi"
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class PluginFacts:
    """What a plugin's library says about itself."""

    library: Path
    minor: int
    struct_size: int  # bytes of the table that it declares
    null_slots: frozenset[int]
    extensions: tuple[int, ...]  # PJRT_Extension_Type values
    stablehlo: tuple[int, ...] | None  # the attribute stablehlo_current_version
    attributes_error: str | None  # what PJRT_Plugin_Attributes failed with
    takes_short_structs: bool | None  # of 24 bytes for PJRT_Plugin_Attributes; None: not learnt


def find_library(plugin: str) -> Path:
    """The library of `plugin`: a path, a distribution, or a module such as `jax_plugins.mychip`.

    Names are looked up in the Python that runs this; nothing of the plugin is imported.

    Raises:
        UsageError: no such file or installed plugin, or it has several libraries.
        MissingError: it is there, and has no library with GetPjrtApi.
    """
    path = Path(plugin)
    if path.is_file():
        return path.resolve()
    if path.is_dir():
        candidates = list(_libraries(path.rglob("*")))
    elif os.sep in plugin or "/" in plugin or path.suffix in _SUFFIXES:
        raise UsageError(f"There is no file {plugin}")
    else:
        candidates = list(_libraries(_installed(plugin)))
    if not candidates:
        raise MissingError(
            f"{plugin} has no library that exports GetPjrtApi",
            f"looked at files with the suffix {' or '.join(_SUFFIXES)}",
            "give the path of the library itself",
        )
    if len(candidates) > 1:
        found = "\n".join(str(one) for one in candidates)
        raise UsageError(f"{plugin} has several PJRT libraries", found, "give the path of one")
    return candidates[0]


def _installed(name: str) -> list[Path]:
    try:
        files = importlib.metadata.distribution(name).files or []
        return [Path(str(file.locate())) for file in files]
    except importlib.metadata.PackageNotFoundError:
        pass
    folders: list[str] = []
    for module in (name, f"jax_plugins.{name}"):
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            continue
        folders += (spec.submodule_search_locations or []) if spec else []
    if not folders:
        raise UsageError(
            f"No file and no installed plugin is named {name}",
            f"names are those of distributions (mychip-pjrt) and modules (jax_plugins.mychip) in "
            f"{sys.prefix}",
            "give the path of the library, or run pjrt-scaffold from the environment of the plugin",
        )
    return [path for folder in folders for path in Path(folder).rglob("*")]


def _libraries(paths: Any) -> Iterator[Path]:
    seen: set[Path] = set()
    for path in sorted(paths):
        if path.suffix in _SUFFIXES and path.is_file() and path.resolve() not in seen:
            seen.add(path.resolve())
            if _SYMBOL in path.read_bytes():
                yield path.resolve()


def examine(library: Path, attributes_slot: int) -> PluginFacts:
    """Load `library` in a child process and read its version, its table and its attributes.

    Raises:
        UsageError: it is no PJRT plugin, it crashes, or it hangs; the text says which.
    """
    probe = Path(__file__).with_name("_probe.py")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "facts")
        command = [sys.executable, str(probe), str(library), str(attributes_slot), str(output)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
            end = _end(done)
        except subprocess.TimeoutExpired:
            end = f"hung for {_SECONDS} seconds"
        lines = output.read_text(encoding="utf-8").splitlines() if output.is_file() else []
    facts: dict[str, Any] = {}
    for line in lines:
        facts |= json.loads(line)
    if "failure" in facts:
        raise UsageError(
            f"{library} is no PJRT plugin that this machine can load", facts["failure"]
        )
    if "minor" not in facts:
        raise UsageError(
            f"{library} could not be read", f"{facts.get('doing', 'starting Python')} {end}"
        )
    if facts["major"] != 0:
        raise UsageError(
            f"{library} speaks API version {facts['major']}.{facts['minor']}",
            "every framework speaks 0.NN",
        )
    attributes = facts.get("attributes", {"error": f"it {end}"})
    # Asked after the full size: no answer to it alone is a crash.
    short = facts.get("attributes_of_24_bytes", {"error": end} if "attributes" in facts else None)
    stated = attributes.get("versions", {}).get("stablehlo_current_version")
    return PluginFacts(
        library=library,
        minor=facts["minor"],
        struct_size=facts["struct_size"],
        null_slots=frozenset(facts["null_slots"]),
        extensions=tuple(facts["extensions"]),
        stablehlo=tuple(stated) if stated else None,
        attributes_error=attributes.get("error"),
        takes_short_structs=None if short is None else "error" not in short,
    )


def _end(done: subprocess.CompletedProcess[bytes]) -> str:
    if done.returncode < 0:
        return f"crashed with {signal.Signals(-done.returncode).name}"
    last = done.stderr.decode(errors="replace").strip().splitlines()
    return f"ended with status {done.returncode}" + (f": {last[-1]}" if last else "")
