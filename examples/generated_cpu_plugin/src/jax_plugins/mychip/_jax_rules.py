"""
Lowering rules of the platform, for primitives that JAX lowers for its own platforms only.

A rule is registered for one platform and changes nothing for others. The private names of JAX that
this needs are pinned by tests/test_jax_rules.py; where a release lacks one, the rules in question
are left out, and JAX's own error says that the primitive is not implemented for the platform.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def take_callbacks(platform: str) -> None:
    """
    Lowers what calls Python on the host: pure_callback, io_callback, debug.print, checkify.

    They become transfers to the host and back while the program runs, as on platforms that are far
    from it, so that they need a backend with host transfers and nothing of where its memory is.
    Raises ImportError or AttributeError where this JAX has other names.
    """
    from jax._src import callback, checkify, debugging
    from jax._src.interpreters import mlir

    rules: dict[Any, Callable[..., Any]] = {
        callback.pure_callback_p: callback.pure_callback_lowering,
        callback.io_callback_p: callback.io_callback_lowering,
        debugging.debug_callback_p: debugging.debug_callback_lowering,
        checkify.check_p: checkify.check_lowering_rule,
    }
    if hasattr(debugging, "debug_print_p"):  # since jax 0.8
        rules[debugging.debug_print_p] = debugging.debug_print_lowering_rule
    for primitive, rule in rules.items():
        mlir.register_lowering(
            primitive, _with_transfers(rule), platform=platform, **_cacheable(mlir)
        )


# The platform whose callbacks are transfers.
_WITH_TRANSFERS = "tpu"


def _with_transfers(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule, which sees a platform that has transfers to the host instead of ours."""

    @functools.wraps(rule)
    def lower(context: Any, *args: Any, **params: Any) -> Any:
        module = context.module_context  # of this very context, whose tokens the rule sets
        context.module_context = Disguised(module, platforms=(_WITH_TRANSFERS,))
        try:
            return rule(context, *args, **params)
        finally:
            context.module_context = module

    return lower


def _cacheable(mlir: Any) -> dict[str, bool]:
    """Each call has channels of its own, so none may be emitted for two; jax has that since 0.7."""
    return {"cacheable": False} if hasattr(mlir, "_uncacheable_primitives") else {}


class Disguised:
    """Another object, of which some attributes read otherwise."""

    def __init__(self, other: Any, **attributes: Any) -> None:
        self.__dict__.update(attributes, _other=other)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_other"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_other"], name, value)
