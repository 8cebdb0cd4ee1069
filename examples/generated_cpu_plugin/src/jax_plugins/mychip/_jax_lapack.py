"""
Linear algebra: JAX's own rules for the CPU, and the LAPACK kernels that they call.

Only in plugins whose arrays lie in the host's memory, as those of the reference backend: the
kernels are foreign functions in jaxlib, which call the LAPACK of scipy. So they are those of the
very jaxlib that emits the calls, and the wheel needs no BLAS of its own. The private names of JAX
that this needs are pinned by tests/test_jax_lapack.py; where a release lacks one, JAX's own error
says that the primitive is not implemented for the platform.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Final

from ._ffi import address_of, stages_of

_TYPED_FFI: Final = 1


def take_linear_algebra(platform: str) -> None:
    """
    Registers the kernels for the platform, and the rules of the primitives that call them.

    The library must have taken the platform's foreign functions before. Raises ImportError or
    AttributeError where this JAX has other names.
    """
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg
    from jax._src.lib import lapack, xla_client

    for name, function, version in lapack.registrations()["cpu"]:
        if version == _TYPED_FFI:  # older releases have others beside them
            stages = {**stages_of(function), "instantiate": _LOAD_LAPACK}
            xla_client.register_custom_call_target(name, stages, platform, _TYPED_FFI)
    rules = mlir._platform_specific_lowerings
    for primitive in vars(linalg).values():
        if primitive in (linalg.cholesky_p, linalg.triangular_solve_p):
            continue  # these are operations of StableHLO, which the backend runs itself
        if isinstance(primitive, linalg.core.Primitive) and primitive in rules["cpu"]:
            rules[platform].setdefault(primitive, rules["cpu"][primitive])


def _load_lapack(frame: int) -> int | None:
    """
    The kernels' stage that runs when a program is compiled: lets them find scipy's LAPACK.

    JAX does so where it emits a call, which programs that come compiled, or exported, go past; a
    kernel that has no LAPACK ends the process.
    """
    # The struct begins with its size and its extension, which is there when the handler is asked
    # for its version.
    extension = ctypes.c_void_p.from_address(frame + ctypes.sizeof(ctypes.c_size_t)).value
    if extension is not None:
        answer: int | None = _any_kernel()(frame)
        return answer
    from jax._src.lib import lapack

    lapack._lapack.initialize()
    return None


_HANDLER: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_LOAD_LAPACK: Final = _HANDLER(_load_lapack)


@functools.cache
def _any_kernel() -> Any:
    """One of them, as a function of ctypes; all were compiled together."""
    from jax._src.lib import lapack

    kernel = next(f for _, f, version in lapack.registrations()["cpu"] if version == _TYPED_FFI)
    return _HANDLER(address_of(stages_of(kernel)["execute"], "a kernel of jaxlib"))
