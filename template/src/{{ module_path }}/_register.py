"""What JAX calls in every process in which it starts: puts the platform on JAX's list."""

from __future__ import annotations

import logging
import os
import re

from . import _ffi, _jax_compat
from ._config import DISTRIBUTION, MODULE, PLATFORM, PRIORITY, TESTED_JAX
from ._library import find_library

_logger = logging.getLogger(MODULE)


def initialize() -> None:
    """
    Registers the platform with JAX; a second call does nothing.

    Touches no device: JAX makes the client when a program first asks for one. Does nothing where
    JAX_PLATFORMS leaves the platform out. Never raises: whatever is wrong becomes one warning, and
    JAX goes on with its other backends.
    """
    try:
        register()
    except Exception as error:  # whatever it is, it must not reach JAX's own start
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        _logger.warning(
            "%s devices are not available: %s (python -m %s.doctor says more)",
            PLATFORM,
            cause,
            MODULE,
        )


def register() -> str:
    """As :func:`initialize`, but raises what is wrong, and returns in words what was done."""
    wanted = [name.strip() for name in _jax_compat.requested_platforms().split(",") if name.strip()]
    if wanted and PLATFORM not in wanted:
        return f"not registered: JAX_PLATFORMS is {','.join(wanted)}"
    if _jax_compat.is_registered(PLATFORM):
        return "registered already"
    if PLATFORM in _jax_compat.platforms_from_environment(os.environ):
        return "left to JAX: PJRT_NAMES_AND_LIBRARY_PATHS names the platform"
    library = find_library()
    _jax_compat.register_plugin(PLATFORM, str(library), PRIORITY)
    _jax_compat.let_it_fail_quietly(PLATFORM)
    for problem in _ffi.take_foreign_functions(library):
        _logger.warning("%s: %s", PLATFORM, problem)
    _warn_of_untested_jax()
    return "registered"


def _warn_of_untested_jax() -> None:
    import jax

    if not is_tested(jax.__version__):
        oldest, below = (".".join(map(str, bound)) for bound in TESTED_JAX)
        wanted = f"jax>={oldest},<{below}"
        _logger.warning(
            "%s was tested with %s and this is jax %s; if something fails: pip install '%s'",
            DISTRIBUTION,
            wanted,
            jax.__version__,
            wanted,
        )


def is_tested(jax_version: str) -> bool:
    """Whether a version of jax, ``1.2.3`` or ``1.3.0.dev20991231``, is in the tested range."""
    release = re.match(r"\d+(\.\d+)*", jax_version)
    if release is None:
        return False
    oldest, below = TESTED_JAX
    return oldest <= tuple(map(int, release[0].split("."))) < below
