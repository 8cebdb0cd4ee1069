"""Whether the jax that is installed is one that the plugin was tested with."""

from __future__ import annotations

import re

from ._config import DISTRIBUTION, TESTED_JAX
from ._version import __version__

_OLDEST, _BELOW = (".".join(map(str, bound)) for bound in TESTED_JAX)
PIP_COMMAND = f'python -m pip install "jax>={_OLDEST},<{_BELOW}"'


def advice(jax_version: str) -> str:
    """What to do about a jax that was not tested, in one sentence; empty for one that was."""
    versus = _versus(jax_version)
    if not versus:
        return ""
    text = (
        f"jax {jax_version} is {versus} than {DISTRIBUTION} {__version__} was tested with; "
        f"if something fails: {PIP_COMMAND}"
    )
    if versus == "newer":
        text += f", or see whether there is a newer plugin: python -m pip install -U {DISTRIBUTION}"
    return text


def _versus(jax_version: str) -> str:
    """Where a version is: ``older``, ``newer``, ``other``, or empty for in the tested range."""
    parts = re.match(r"(\d+(?:\.\d+)*)(a|b|rc|\.?dev)?", jax_version)
    if parts is None:
        return "other"
    release = tuple(map(int, parts[1].split(".")))
    oldest, below = TESTED_JAX
    # A pre-release of the oldest one comes before it; one of the next minor release is beyond.
    if release < oldest or (parts[2] and release == oldest):
        return "older"
    return "newer" if release >= below else ""
