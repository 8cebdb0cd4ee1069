"""
Changes to JAX itself, for a process that asks for them by <PLUGIN>_JAX_PATCHES=1.

JAX does some things only for the platforms on lists of its own, which no public function extends.
Each patch here puts the platform beside them and leaves all others as they were. The private names
that this needs are pinned by tests/test_jax_patches.py; a patch whose names a release of JAX lacks
is left out. Nothing here imports jax before it is called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from ._config import PATCHES_VARIABLE
from ._jax_rules import Disguised


def wanted(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for the patches."""
    return environ.get(PATCHES_VARIABLE, "0") not in ("", "0")


def apply(platform: str) -> list[str]:
    """Applies all patches that are not there already. Returns what stands in the way of some."""
    problems = []
    for patch in PATCHES:
        try:
            patch(platform)
        except (ImportError, AttributeError) as error:
            problems.append(f"{patch.__name__} is not patched: {error}")
    return problems


def donation(platform: str) -> None:
    """Lets donate_argnums donate: elsewhere JAX warns and copies."""
    from jax._src.interpreters import mlir

    if platform not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(platform)


def compilation_cache(platform: str) -> None:
    """Lets the persistent compilation cache keep programs for the platform."""
    from jax._src import compilation_cache as cache

    is_cache_used = cache.is_cache_used
    if _is_patched(is_cache_used, platform):
        return

    def patched(backend: Any) -> bool:
        if backend.platform == platform:
            backend = Disguised(backend, platform="cpu")
        return bool(is_cache_used(backend))

    cache.is_cache_used = _mark(patched, is_cache_used, platform)


def cpu_for_callbacks(platform: str) -> None:
    """
    Makes JAX's client for the CPU where a callback needs one that JAX_PLATFORMS leaves out.

    JAX calls Python functions with arrays of its CPU, and looks for it as local_devices does.
    """
    from jax._src import xla_bridge

    local_devices = xla_bridge.local_devices
    if _is_patched(local_devices, platform):
        return

    def patched(*args: Any, **options: Any) -> Any:
        if options.get("backend") == "cpu" and "cpu" not in xla_bridge.backends():
            with xla_bridge._backend_lock:
                if "cpu" not in xla_bridge._backends:  # unless another thread made it meanwhile
                    xla_bridge._backends["cpu"] = xla_bridge._init_backend("cpu")
        return local_devices(*args, **options)

    xla_bridge.local_devices = _mark(patched, local_devices, platform)


def dlpack(platform: str) -> None:
    """
    Lets other frameworks take arrays by __dlpack__, in the host's memory.

    Where the backend's memory is that of the host, they are not copied.
    """
    from jax._src.array import ArrayImpl
    from jax._src.dlpack import DLDeviceType

    export, device = ArrayImpl.__dlpack__, ArrayImpl.__dlpack_device__
    if _is_patched(export, platform):
        return

    def is_ours(array: Any) -> bool:
        return bool(array.platform() == platform and len(array.sharding.device_set) == 1)

    def patched_export(self: Any, **options: Any) -> Any:
        return _on_host(self).__dlpack__(**options) if is_ours(self) else export(self, **options)

    def patched_device(self: Any) -> tuple[Any, int]:
        return (DLDeviceType.kDLCPU, 0) if is_ours(self) else device(self)

    ArrayImpl.__dlpack__ = _mark(patched_export, export, platform)
    ArrayImpl.__dlpack_device__ = _mark(patched_device, device, platform)


def _on_host(array: Any) -> Any:
    """The same memory as an array of JAX's CPU, or of numpy, which has fewer types, without one."""
    import jax
    import numpy as np

    view = np.asarray(array)
    try:
        cpu = jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        return view
    return jax.device_put(view, cpu)


_PATCHED_FOR: Final = "_pjrt_patched_for"  # platforms: several plugins may patch one function


def _mark(function: Any, original: Callable[..., Any], platform: str) -> Any:
    """The function, looking like the original that it stands for."""
    marked = functools.wraps(original)(function)
    setattr(marked, _PATCHED_FOR, {*getattr(original, _PATCHED_FOR, ()), platform})
    return marked


def _is_patched(function: Any, platform: str) -> bool:
    return platform in getattr(function, _PATCHED_FOR, ())


PATCHES: Final = (donation, compilation_cache, cpu_for_callbacks, dlpack)
