"""What is wrong is said: what happened, with what, and what would be right."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plugin_under_test import BACKEND, config
from support import run_python

pytestmark = pytest.mark.core


def client_error(options: str = "", **environment: str) -> str:
    """The failure to make a client with these create options and variables of the plugin."""
    environ = {"JAX_PLATFORMS": config.PLATFORM}
    if options:
        environ["JAX_PJRT_CLIENT_CREATE_OPTIONS"] = options
    environ |= {config.ENV_PREFIX + name: value for name, value in environment.items()}
    result = run_python("import jax\njax.devices()", environ)
    assert result.returncode == 1, result.stderr
    return result.stderr.strip().splitlines()[-1]


def test_unknown_option_lists_the_valid_ones() -> None:
    message = client_error("no_such_option:1")
    assert "INVALID_ARGUMENT" in message
    assert "no_such_option" in message
    if BACKEND != "own":
        assert "num_devices" in message


@pytest.mark.skipif(BACKEND == "own", reason="options of the skeleton")
@pytest.mark.parametrize("value", ["-1", "-3", "many", "999999", "2.5"])
def test_bad_value_of_an_option(value: str) -> None:
    message = client_error(f"num_devices:{value}")
    assert "INVALID_ARGUMENT" in message
    assert "num_devices" in message
    assert value in message


@pytest.mark.skipif(BACKEND == "own", reason="options of the skeleton")
@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("NUM_DEVICES", "many", "an integer from 0 to"),
        ("MEMORY_BYTES", "-1", "an integer of at least 0"),
    ],
)
def test_bad_value_of_a_variable(name: str, value: str, accepted: str) -> None:
    """The user did not write an option, so the message names what was written."""
    message = client_error(**{name: value})
    assert "INVALID_ARGUMENT" in message
    assert f"environment variable {config.ENV_PREFIX}{name} is" in message
    assert value in message
    assert accepted in message


@pytest.mark.skipif(BACKEND != "reference_cpu", reason="a variable of the reference backend")
def test_devices_that_there_are_not() -> None:
    message = client_error(VISIBLE_DEVICES="1,9")
    assert "INVALID_ARGUMENT" in message
    assert "visible_devices is '1,9'" in message
    assert "from 0 to" in message


@pytest.mark.skipif(BACKEND == "own", reason="options of the skeleton")
def test_options_come_as_text() -> None:
    environ = {"JAX_PJRT_CLIENT_CREATE_OPTIONS": "num_devices:3", "JAX_PLATFORMS": config.PLATFORM}
    result = run_python("import jax\nprint(len(jax.devices()))", environ)
    assert result.stdout.strip() == "3", result.stderr


@pytest.mark.skipif(BACKEND != "reference_cpu", reason="options of the reference backend")
def test_compile_options() -> None:
    """XLA's own are taken without effect; what is misspelt is not."""
    options = {"xla_embed_ir_in_executable": True, "exec_time_optimization_effort": 0.5}
    x = np.zeros(4, np.float32)
    assert jax.jit(lambda x: x + 1, compiler_options=options)(x).sum() == 4
    with pytest.raises(jax.errors.JaxRuntimeError, match="No such compile option: 'xlaa_flag'"):
        jax.jit(lambda x: x + 2, compiler_options={"xlaa_flag": True})(x)


@pytest.mark.needs_compiler
def test_operation_without_implementation_is_refused_by_name() -> None:
    call = jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct((4,), np.float32))
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        jax.jit(call)(np.zeros(4, np.float32))
    message = str(caught.value)
    assert "UNIMPLEMENTED" in message
    assert "custom_call" in message
    assert "no_such_target" in message
    assert "4xf32" in message
    assert "test_errors.py" in message  # the source location
    assert jnp.add(1, 1) == 2  # and life goes on


@pytest.mark.needs_no_compiler
def test_compiling_is_refused_clearly() -> None:
    with pytest.raises(jax.errors.JaxRuntimeError, match="UNIMPLEMENTED") as caught:
        jax.jit(lambda x: x + 1)(np.float32(1))
    assert "ompile" in str(caught.value)
    moved = jax.device_put(np.arange(3), jax.devices(config.PLATFORM)[0])
    np.testing.assert_array_equal(np.asarray(moved), [0, 1, 2])


def test_out_of_memory_is_an_error() -> None:
    """JAX gets RESOURCE_EXHAUSTED, and smaller arrays still fit. Reversed: must be copied."""
    if BACKEND == "own":
        pytest.skip("provoked by an option of the skeleton")
    code = f"""
    import jax, numpy as np
    device = jax.devices("{config.PLATFORM}")[0]
    try:
        jax.device_put(np.zeros(1 << 22, np.int8)[::-1], device).block_until_ready()
    except jax.errors.JaxRuntimeError as error:
        print(str(error).split(":")[0])
    print(int(np.asarray(jax.device_put(np.ones(1000, np.int8)[::-1], device)).sum()))
    """
    result = run_python(code, {config.ENV_PREFIX + "MEMORY_BYTES": str(1 << 21)})
    assert result.stdout.split() == ["RESOURCE_EXHAUSTED", "1000"], result.stderr


@pytest.mark.needs_compiler
@pytest.mark.skipif(BACKEND == "own", reason="provoked by an option of the skeleton")
def test_program_without_memory_for_its_result() -> None:
    """The message names the program, and what it asked for; the next program runs."""
    code = f"""
    import jax, jax.numpy as jnp
    jax.config.update("jax_default_device", jax.devices("{config.PLATFORM}")[0])
    def large():
        return jnp.ones(1 << 20)
    try:
        jax.jit(large)()
    except jax.errors.JaxRuntimeError as error:
        print(error)
    print(jax.jit(lambda: jnp.ones(2))())
    """
    result = run_python(code, {config.ENV_PREFIX + "MEMORY_BYTES": str(1 << 20)})
    assert result.returncode == 0, result.stderr
    message, after = result.stdout.splitlines()
    assert message.startswith("RESOURCE_EXHAUSTED: jit_large: ")
    assert f"cannot allocate {4 << 20} bytes" in message
    assert f"the limit is {1 << 20}" in message
    assert after == "[1. 1.]"


@pytest.mark.needs_compiler
def test_deleted_argument() -> None:
    x = jax.device_put(np.arange(3, dtype=np.float32), jax.devices(config.PLATFORM)[0])
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        jax.jit(lambda x: x + 1)(x)
