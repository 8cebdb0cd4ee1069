"""Under which jaxlib releases a plugin can work, and why not under the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pjrt_scaffold.registry.compare import compare
from pjrt_scaffold.registry.model import Api, Registry
from pjrt_scaffold.registry.versions import Release

_HEAD = 40  # bytes of PJRT_Api before the first function
_TRUE_ATTRIBUTES = 71  # first minor whose frameworks declare all of PJRT_Plugin_Attributes_Args
_UNDERSTATED = 55  # the newest minor whose PJRT_Api_STRUCT_SIZE leaves functions out
_STATED_VERSION = 57  # first framework known to read the attribute stablehlo_current_version
_OLDEST_TABLE = 36  # PJRT_Client_TopologyDescription, which frameworks call without a look
# What every client passes; a plugin that refuses a shorter one of these runs nothing.
_EVERYDAY = (
    "PJRT_Client_Create_Args",
    "PJRT_Client_Compile_Args",
    "PJRT_ExecuteOptions",
    "PJRT_LoadedExecutable_Execute_Args",
    "PJRT_Client_BufferFromHostBuffer_Args",
)


class Plugin(Protocol):
    """What is known of a plugin's library."""

    @property
    def minor(self) -> int: ...  # noqa: D102
    @property
    def struct_size(self) -> int: ...  # noqa: D102
    @property
    def null_slots(self) -> frozenset[int]: ...  # noqa: D102
    @property
    def stablehlo(self) -> tuple[int, ...] | None: ...  # noqa: D102
    @property
    def attributes_error(self) -> str | None: ...  # noqa: D102
    @property
    def takes_short_structs(self) -> bool | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one release can use the plugin."""

    release: Release
    works: str  # yes, no, perhaps
    why: tuple[str, ...]  # reasons against it, or what it depends on
    stablehlo: str  # version of the programs that the release sends it


def judge(plugin: Plugin, releases: list[Release], registry: Registry) -> list[Verdict]:
    """A verdict for each release, oldest first."""
    held = min(max(plugin.minor, registry.minors[0]), registry.minors[-1])
    missing = _missing(plugin, registry.at(held))
    return [_verdict(plugin, release, missing, held, registry) for release in releases]


def _verdict(
    plugin: Plugin, release: Release, missing: list[str], held: int, registry: Registry
) -> Verdict:
    against = [*_refusal(plugin, release, registry), *missing]
    if plugin.attributes_error is not None:
        against.append(
            f"PJRT_Plugin_Attributes fails ({plugin.attributes_error}), which ends the process"
        )
    elif release.framework < _TRUE_ATTRIBUTES and plugin.takes_short_structs is False:
        against.append(
            "it declares 24 bytes for PJRT_Plugin_Attributes, which the plugin refuses, and aborts"
        )
    depends = [] if against else _shorter_structs(plugin, release, held, registry)
    works = "no" if against else "perhaps" if depends else "yes"
    return Verdict(release, works, tuple(against or depends), _sends(plugin, release))


def _refusal(plugin: Plugin, release: Release, registry: Registry) -> list[str]:
    if release.min_plugin is None and plugin.minor != release.framework:
        return [f"it takes plugins of its own API version only, this one is 0.{plugin.minor}"]
    if release.min_plugin is not None and plugin.minor < release.min_plugin:
        return [f"it takes plugins from 0.{release.min_plugin} on, this one is 0.{plugin.minor}"]
    if plugin.minor < _OLDEST_TABLE:
        return [f"it calls functions that came with 0.{_OLDEST_TABLE} without looking"]
    return []


def _missing(plugin: Plugin, api: Api) -> list[str]:
    """Functions that frameworks call without a look and that the table does not hold."""
    # Tables up to 0.55 declare less than they hold; frameworks go by the version.
    declared = (plugin.struct_size - _HEAD) // 8
    count = declared if plugin.minor > _UNDERSTATED else len(api.functions)
    missing = []
    for slot, function in enumerate(api.functions):
        note = function.note
        if note is None or note.default == "null" or note.level not in ("load", "run"):
            continue
        if slot in plugin.null_slots:
            missing.append(f"{function.name} is null ({note.called})")
        elif slot >= count:
            missing.append(f"the table ends before {function.name} ({note.called})")
    return missing


def _shorter_structs(plugin: Plugin, release: Release, held: int, registry: Registry) -> list[str]:
    """What a release older than the plugin passes shorter than the plugin declares it."""
    if release.framework >= held or plugin.takes_short_structs:
        return []
    oldest = max(release.framework, registry.minors[0])
    grown = {s.name: s for s in compare(registry, oldest, held).structs}
    short = [
        f"{name} ({grown[name].old_size} of {grown[name].new_size} bytes)"
        for name in _EVERYDAY
        if name in grown
    ]
    return [f"it passes a shorter {', '.join(short)}: the plugin must accept that"] if short else []


def _sends(plugin: Plugin, release: Release) -> str:
    if plugin.stablehlo is None or release.framework < _STATED_VERSION:
        return release.stablehlo or "native bytecode"
    stated = ".".join(map(str, plugin.stablehlo))
    if release.stablehlo_own is None:
        return f"{stated} or older"
    own = tuple(map(int, release.stablehlo_own.split(".")))
    return stated if plugin.stablehlo <= own else release.stablehlo_own
