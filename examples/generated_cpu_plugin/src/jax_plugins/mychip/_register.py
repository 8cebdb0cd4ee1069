"""What JAX calls in every process in which it starts: puts the platform on JAX's list."""

from __future__ import annotations

import logging
import os

from . import (
    _ffi,
    _jax_compat,
    _jax_lapack,
    _jax_patches,
    _jax_rules,
    _tested_jax,
    vendor_libraries,
)
from ._config import MODULE, PLATFORM, PRIORITY
from ._library import find_library
from ._preload import VendorLibraryError, preload

_logger = logging.getLogger(MODULE)


def initialize() -> None:
    """
    Registers the platform with JAX; a second call does nothing.

    Touches no device: JAX makes the client when a program first asks for one. Does nothing where
    JAX_PLATFORMS leaves the platform out. Never raises: JAX goes on with its other backends, and
    who asks for the devices hears the cause. That a runtime library of the vendor is missing is
    how a machine without the device looks, so nothing is said of it before; whatever else is wrong
    becomes one warning.
    """
    try:
        register()
    except Exception as error:  # whatever it is, it must not reach JAX's own start
        cause = f"{type(error).__name__}: {error}"
        if isinstance(error, VendorLibraryError):
            _logger.info("%s", cause)
        else:
            _logger.warning(
                "%s devices are not available: %s (python -m %s.doctor says more)",
                PLATFORM,
                " ".join("; ".join(filter(None, (cause, _advice()))).split()),
                MODULE,
            )
        try:
            _jax_compat.register_failure(PLATFORM, PRIORITY, cause)
        except Exception as failure:  # then JAX knows nothing of the platform, and says so
            _logger.info("%s is not on JAX's list: %s", PLATFORM, failure)


def register() -> str:
    """As :func:`initialize`, but raises what is wrong, and returns in words what was done."""
    wanted = [name.strip() for name in _jax_compat.requested_platforms().split(",") if name.strip()]
    if wanted and PLATFORM not in wanted:
        return f"not registered: JAX_PLATFORMS is {','.join(wanted)}"
    if _jax_compat.is_registered(PLATFORM):
        return "registered already"
    preload(vendor_libraries.VENDOR_LIBRARIES)
    if PLATFORM in _jax_compat.platforms_from_environment(os.environ):
        return "left to JAX: PJRT_NAMES_AND_LIBRARY_PATHS names the platform"
    library = find_library()
    _jax_compat.register_plugin(PLATFORM, str(library), PRIORITY)
    _jax_compat.let_it_fail_quietly(PLATFORM)
    for problem in _ffi.take_foreign_functions(library):
        _logger.warning("%s: %s", PLATFORM, problem)
    _take_rules()
    if _jax_patches.wanted(os.environ):
        for problem in _jax_patches.apply(PLATFORM):
            _logger.warning("%s: %s", PLATFORM, problem)
    if advice := _advice():
        _logger.warning("%s", advice)
    return "registered"


def _take_rules() -> None:
    """Registers lowering rules; those that this release of JAX has no place for are left out."""
    rules = [_jax_rules.take_callbacks]
    rules.append(_jax_lapack.take_linear_algebra)
    for take in rules:
        try:
            take(PLATFORM)
        except (ImportError, AttributeError) as error:
            _logger.info("%s: %s is left out: %s", PLATFORM, take.__name__, error)


def _advice() -> str:
    try:
        import jax
    except ImportError:
        return ""
    return _tested_jax.advice(jax.__version__)
