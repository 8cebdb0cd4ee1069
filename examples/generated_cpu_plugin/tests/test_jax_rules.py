"""
Calls of Python from programs: pure_callback, io_callback, jax.debug and checkify.

The names that _jax_rules.py takes from JAX's private modules are pinned here too.
"""

from __future__ import annotations

import inspect
import logging
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import callback, checkify, debugging
from jax._src.interpreters import mlir
from jax.experimental import io_callback
from plugin_under_test import BACKEND, config, jax_rules, register
from support import output_of

pytestmark = pytest.mark.ecosystem
runs_callbacks = pytest.mark.skipif(
    BACKEND != "reference_cpu", reason="host transfers are an optional ability of backends"
)


def test_primitives_and_their_rules() -> None:
    jax.devices(config.PLATFORM)
    ours = mlir._platform_specific_lowerings[config.PLATFORM]
    for primitive in (
        callback.pure_callback_p,
        callback.io_callback_p,
        debugging.debug_callback_p,
        debugging.debug_print_p,
        checkify.check_p,
    ):
        assert primitive in ours, primitive
    for rule in (
        callback.pure_callback_lowering,
        callback.io_callback_lowering,
        debugging.debug_callback_lowering,
        debugging.debug_print_lowering_rule,
        checkify.check_lowering_rule,
    ):
        assert next(iter(inspect.signature(rule).parameters)) == "ctx"
    assert {"platform", "cacheable"} <= set(inspect.signature(mlir.register_lowering).parameters)
    assert isinstance(mlir._uncacheable_primitives, set)
    assert "module_context" in inspect.signature(mlir.LoweringRuleContext).parameters
    assert "platforms" in inspect.signature(mlir.ModuleContext).parameters


def test_jax_without_the_names_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr(callback, "io_callback_p")
    with caplog.at_level(logging.INFO):
        register._take_rules()
    assert "take_callbacks is left out" in caplog.text
    assert "io_callback_p" in caplog.text


def test_disguise() -> None:
    class Thing:
        a, b = 1, 2

    thing = Thing()
    seen: Any = jax_rules.Disguised(thing, a=3)
    seen.b = 4
    assert (seen.a, seen.b, thing.a, thing.b) == (3, 4, 1, 4)


@runs_callbacks
def test_pure_callback() -> None:
    def double(x: Any) -> Any:
        return jax.pure_callback(
            lambda x: 2 * np.asarray(x),
            jax.ShapeDtypeStruct(x.shape, x.dtype),
            x,
            vmap_method="sequential",
        )

    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(jax.jit(lambda x: double(x.T + 1) + 1)(x), 2 * x.T + 3)
    np.testing.assert_array_equal(jax.vmap(double)(x), 2 * x)
    looped = jax.lax.fori_loop(0, 3, lambda _, x: double(x), x)
    np.testing.assert_array_equal(looped, 8 * x)


@runs_callbacks
@pytest.mark.parametrize("dtype", [jnp.bool_, jnp.int8, jnp.bfloat16, jnp.uint32, jnp.complex64])
@pytest.mark.parametrize("shape", [(), (0, 2), (3,)])
def test_types_and_shapes_of_callbacks(dtype: Any, shape: tuple[int, ...]) -> None:
    x = jnp.ones(shape, dtype)
    y = jax.jit(lambda x: jax.pure_callback(lambda x: x, x, x))(x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


@runs_callbacks
@pytest.mark.parametrize("ordered", [False, True])
def test_io_callback(ordered: bool) -> None:
    seen: list[int] = []

    def count(x: Any) -> Any:
        for i in range(3):
            io_callback(lambda x, i=i: seen.append(10 * i + int(x)), None, x, ordered=ordered)
        return x + 1

    f = jax.jit(count)
    assert int(f(f(jnp.int32(1)))) == 3
    jax.effects_barrier()
    assert sorted(seen) == [1, 2, 11, 12, 21, 22]
    if ordered:
        assert seen == [1, 11, 21, 2, 12, 22]


@runs_callbacks
def test_ordered_prints_in_control_flow(capsys: pytest.CaptureFixture[str]) -> None:
    def count(n: Any) -> Any:
        def body(i: Any) -> Any:
            jax.debug.print("step {}", i, ordered=True)
            return i + 1

        jax.lax.cond(n > 2, lambda: jax.debug.print("many", ordered=True), lambda: None)
        return jax.lax.while_loop(lambda i: i < n, body, 0)

    jax.jit(count)(3)
    jax.effects_barrier()
    assert capsys.readouterr().out.splitlines() == ["many", "step 0", "step 1", "step 2"]


@runs_callbacks
def test_exceptions_reach_the_user() -> None:
    def refuse(x: Any) -> Any:
        raise ValueError("the gauge is empty")

    x = jnp.arange(3.0)
    with pytest.raises(jax.errors.JaxRuntimeError, match="the gauge is empty"):
        jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(refuse, x, x))(x))
    assert float(x.sum()) == 3, "and the device goes on"


@runs_callbacks
def test_checks_that_were_not_functionalized() -> None:
    from jax.experimental import checkify

    with pytest.raises(ValueError, match="not functionalized"):
        jax.jit(lambda x: checkify.check(x > 0, "x is negative"))(1)


@runs_callbacks
def test_callbacks_on_every_device() -> None:
    devices = jax.devices(config.PLATFORM)
    f = jax.jit(lambda x: jax.pure_callback(lambda x: np.asarray(x) + 1, x, x))
    for i, device in enumerate(devices):
        assert float(f(jax.device_put(np.float32(i), device))) == i + 1


@runs_callbacks
def test_prints_of_a_program_that_ends_at_once() -> None:
    program = """
    import jax
    jax.jit(lambda x: jax.debug.print("x is {}", x))(5)
    """
    assert output_of(program, {"JAX_PLATFORMS": f"{config.PLATFORM},cpu"}) == "x is 5"
