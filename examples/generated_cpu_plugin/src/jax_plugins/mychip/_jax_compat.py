"""
Everything that this package takes from JAX's private modules, and nothing else.

JAX has no public way to register a plugin. Each name below is pinned by
tests/test_jax_private_api.py, so that a release of JAX that moves one fails a test and not a user's
program. Nothing here imports jax before it is called.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

_logger = logging.getLogger(__name__)


def register_plugin(platform: str, library: str, priority: int) -> None:
    """Loads the library into this process and puts the platform on JAX's list. Makes no client."""
    from jax._src import xla_bridge

    # Options that are None, unlike empty ones, make JAX drop JAX_PJRT_CLIENT_CREATE_OPTIONS in
    # distributed programs.
    xla_bridge.register_plugin(platform, library_path=library, priority=priority, options={})


def is_registered(platform: str) -> bool:
    """Whether JAX has the platform on its list already, whoever put it there."""
    from jax._src import xla_bridge

    return platform in xla_bridge._backend_factories


def let_it_fail_quietly(platform: str) -> bool:
    """
    Makes JAX go on with its other backends, silently, when no client of the platform can be made.

    JAX registers plugins such that a missing device ends every program, those for the CPU too,
    unless JAX_PLATFORMS is set. With JAX_PLATFORMS naming the platform the failure stays loud.
    JAX's warning that the platform is experimental waits until there is a client.
    Returns whether this JAX has the switch.
    """
    from jax._src import xla_bridge

    registration: Any = getattr(xla_bridge, "_backend_factories", {}).get(platform)
    if not hasattr(registration, "fail_quietly"):
        return False
    registration.fail_quietly = True
    if getattr(registration, "experimental", False):
        registration.experimental = False
        registration.factory = _warning_afterwards(platform, registration.factory)
    return True


def _warning_afterwards(platform: str, make_client: Callable[[], Any]) -> Callable[[], Any]:
    def make() -> Any:
        client = make_client()
        _logger.warning("Platform '%s' is experimental: JAX may not support all of it", platform)
        return client

    return make


def register_failure(platform: str, priority: int, cause: str) -> None:
    """
    Puts a platform that cannot be used on JAX's list, so that who asks for it is told the cause.

    JAX goes on with its other backends unless JAX_PLATFORMS names the platform.
    """
    from jax._src import xla_bridge

    def make_client() -> Any:
        raise RuntimeError(cause)

    if platform not in xla_bridge._backend_factories:
        xla_bridge.register_backend_factory(
            platform, make_client, priority=priority, fail_quietly=True
        )


def take_foreign_functions(
    platform: str,
    register_target: Callable[..., None],
    register_type: Callable[..., None],
) -> None:
    """
    Makes jax.ffi.register_ffi_target and register_ffi_type of the platform call the two functions.

    With what programs have registered before, they are called here. A platform that has such
    functions already keeps them.
    """
    from jax._src.lib import xla_client

    xla_client.register_custom_call_handler(platform, register_target)
    xla_client.register_custom_type_handler(platform, register_type)


def requested_platforms() -> str:
    """JAX_PLATFORMS, or what the program set in jax.config: names with commas, or nothing."""
    import jax

    return jax.config.jax_platforms or ""


def platforms_from_environment(environ: Mapping[str, str]) -> list[str]:
    """The platforms that JAX will register by itself, from PJRT_NAMES_AND_LIBRARY_PATHS."""
    entries = environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "").split(",")
    return [entry.split(":")[0].strip() for entry in entries if entry.strip()]
