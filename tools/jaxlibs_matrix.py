"""Which plugins run under which releases of jaxlib, and what is known not to work there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pjrt_scaffold.registry import load
from pjrt_scaffold.registry.load import read

# Beside jax and jaxlib: what jax.export needs in the older and in all releases.
PACKAGES: Final = ("absl-py", "flatbuffers")


@dataclass(frozen=True)
class Release:
    """A release of jax and jaxlib of one number, and a Python that it supports."""

    jaxlib: str
    python: str

    def requirements(self) -> tuple[str, ...]:
        """What its environment holds, before the plugin."""
        return (f"jax=={self.jaxlib}", f"jaxlib=={self.jaxlib}", *PACKAGES)


# Those that the wheel's metadata allows: the repository's own tests run with them.
TESTED: Final = tuple(Release(row["jax"], row["python"]) for row in read("jax.json")["tested"])
_MAJOR, _MINOR = TESTED[-1].jaxlib.split(".")[:2]
REQUIREMENT: Final = f"jax>={TESTED[0].jaxlib},<{_MAJOR}.{int(_MINOR) + 1}"

RELEASES: Final = (
    Release("0.4.38", "3.11"),
    Release("0.5.0", "3.11"),
    Release("0.5.3", "3.12"),
    Release("0.6.2", "3.12"),
    Release("0.7.2", "3.12"),
    Release("0.8.3", "3.13"),
    Release("0.9.2", "3.13"),
    *TESTED,
)
# Plugins of older versions meet the oldest release, one from the middle and the newest.
ENDS: Final = (RELEASES[0], RELEASES[5], RELEASES[-1])
OLDER: Final = ("0.106", "0.90", "0.81", "0.72", "0.54")
NEWEST: Final = f"0.{load().minors[-1]}"

MATRIX: Final[dict[str, tuple[Release, ...]]] = {NEWEST: RELEASES} | dict.fromkeys(OLDER, ENDS)


@dataclass(frozen=True)
class Known:
    """A program that is known to fail, and why.

    Attributes:
        program: its name.
        releases: the newest jaxlib in which it fails.
        reason: a sentence for the docs.
        newest_api: of plugins newer than this version it does not fail; "": whatever the version.
    """

    program: str
    releases: str
    reason: str
    newest_api: str = ""


KNOWN: Final[tuple[Known, ...]] = ()


def version(text: str) -> tuple[int, ...]:
    """A version as numbers that compare."""
    return tuple(map(int, text.split(".")))


def known_failure(program: str, api: str, jaxlib: str) -> Known | None:
    """Why a program fails with this plugin under this release, when that is known."""
    for known in KNOWN:
        if (
            known.program == program
            and version(jaxlib) <= version(known.releases)
            and (not known.newest_api or version(api) <= version(known.newest_api))
        ):
            return known
    return None
