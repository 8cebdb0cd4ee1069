"""Names of API versions: `0.112`, or the jaxlib release that speaks it, `jaxlib==0.10.2`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pjrt_scaffold.errors import UsageError
from pjrt_scaffold.registry.load import FOLDER, read


@dataclass(frozen=True, slots=True)
class Release:
    """A jaxlib release as a PJRT framework."""

    version: str  # "0.10.2"
    framework: int  # minor of the API that it was built with: 112
    min_plugin: int | None  # oldest minor that it accepts; None: only its own
    stablehlo: str | None  # artifact version sent to a plugin that states none; None: bytecode
    stablehlo_own: str | None  # newest artifact version that it can send; None: not known
    observed: bool  # seen in a running jaxlib; else derived from the XLA that it was built from


def releases(folder: Path = FOLDER) -> list[Release]:
    """Every jaxlib release that the registry knows, oldest first."""
    return [
        Release(
            version=version,
            framework=_minor(one["framework"]),
            min_plugin=None if one["min_plugin"] == "exact" else _minor(one["min_plugin"]),
            stablehlo=one["stablehlo"],
            stablehlo_own=one["stablehlo_own"],
            observed=one["observed"],
        )
        for version, one in read("jaxlib.json", folder)["releases"].items()
    ]


def resolve(text: str, minors: tuple[int, ...], known: Iterable[Release]) -> int:
    """The API minor that `text` names: `0.NN`, or `jaxlib==X`.

    Raises:
        UsageError: `text` is neither, or names a version that the registry does not hold.
    """
    jaxlib = re.fullmatch(r"jaxlib==(\d+(?:\.\d+)*)", text)
    direct = re.fullmatch(r"0\.(0|[1-9]\d*)", text)
    held = f"the registry holds 0.{minors[0]} to 0.{minors[-1]}"
    if jaxlib is not None:
        frameworks = {release.version: release.framework for release in known}
        if jaxlib[1] not in frameworks:
            raise UsageError(
                f"jaxlib {jaxlib[1]} is not in the registry",
                f"known releases: {', '.join(frameworks)}",
                "pjrt-scaffold compat lists them; name an API version (0.NN) otherwise",
            )
        minor = frameworks[jaxlib[1]]
        if minor not in minors:
            raise UsageError(f"jaxlib {jaxlib[1]} speaks API version 0.{minor}", held)
        return minor
    if direct is None:
        raise UsageError(
            f"'{text}' is no version",
            "a version is an API version, for example 0.112, or a jaxlib release, for example "
            "jaxlib==0.10.2",
        )
    if int(direct[1]) not in minors:
        raise UsageError(f"API version {text} is not in the registry", held)
    return int(direct[1])


def _minor(text: str) -> int:
    return int(text.split(".")[1])
