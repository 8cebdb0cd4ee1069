"""
Functions in foreign code that programs call: jax.ffi, from registration to results.

The functions, in foreign_functions.cc, are compiled here against the headers in jaxlib, as users
compile theirs.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plugin_under_test import BACKEND, config
from support import output_of

pytestmark = [
    pytest.mark.ecosystem,
    pytest.mark.skipif(BACKEND != "reference_cpu", reason="the reference backend calls functions"),
]

SOURCE = Path(__file__).with_name("foreign_functions.cc")
HANDLERS = (
    "Saxpy",
    "Attributes",
    "Fail",
    "Throw",
    "BumpFirst",
    "InMemoryOrder",
    "Later",
    "Context",
)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library with the functions."""
    compiler = next(filter(shutil.which, (os.environ.get("CXX", "c++"), "g++", "clang++")), None)
    if compiler is None:
        pytest.skip("there is no C++ compiler: set CXX or install one")
    target = tmp_path_factory.mktemp("foreign") / "foreign_functions.so"
    command = [
        compiler,
        "-std=c++17",
        "-O1",
        "-shared",
        "-fPIC",
        f"-isystem{jax.ffi.include_dir()}",
    ]
    done = subprocess.run(
        [*command, str(SOURCE), "-o", str(target)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="session")
def functions(built: Path) -> ctypes.CDLL:
    """The library, its functions registered."""
    loaded = ctypes.CDLL(str(built))
    jax.devices(config.PLATFORM)
    for name in HANDLERS:
        handler = jax.ffi.pycapsule(getattr(loaded, f"{name}Handler"))
        jax.ffi.register_ffi_target(f"test_{name}", handler, platform=config.PLATFORM)
    for symbol in ("CounterTypeId", "CounterTypeInfo"):
        getattr(loaded, symbol).restype = ctypes.c_void_p
    registration: Any = {
        "type_id": jax.ffi.pycapsule(loaded.CounterTypeId()),
        "type_info": jax.ffi.pycapsule(loaded.CounterTypeInfo()),
    }
    jax.ffi.register_ffi_type("test_Counter", registration, platform=config.PLATFORM)
    stages = {
        "instantiate": jax.ffi.pycapsule(loaded.MakeCounterHandler),
        "execute": jax.ffi.pycapsule(loaded.CountHandler),
    }
    jax.ffi.register_ffi_target("test_Count", stages, platform=config.PLATFORM)
    return loaded


def like(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def saxpy(a: float, x: Any, y: Any) -> Any:
    call = jax.ffi.ffi_call("test_Saxpy", like(x), vmap_method="sequential")
    return call(x, y, a=np.float32(a))


@pytest.mark.usefixtures("functions")
def test_call_inside_of_a_program() -> None:
    f = jax.jit(lambda x, y: saxpy(3.0, x * 2, y.T) + 1)

    x, y = jnp.arange(6.0).reshape(2, 3), jnp.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(f(x, y), 3 * (x * 2) + y.T + 1)


@pytest.mark.usefixtures("functions")
def test_call_under_vmap_and_in_a_loop() -> None:
    x, y = jnp.arange(12.0).reshape(3, 4), jnp.ones((3, 4))
    batched = jax.vmap(lambda x, y: saxpy(2.0, x, y))(x, y)
    np.testing.assert_array_equal(batched, 2 * x + y)
    looped = jax.lax.fori_loop(0, 5, lambda _, y: saxpy(1.0, x, y), y)
    np.testing.assert_array_equal(looped, 5 * x + y)


@pytest.mark.usefixtures("functions")
def test_call_on_every_device_from_many_threads() -> None:
    devices = jax.devices(config.PLATFORM)
    f = jax.jit(lambda x, y: saxpy(2.0, x, y))

    def run(i: int) -> np.ndarray[Any, Any]:
        x = jax.device_put(np.full(100, i, np.float32), devices[i % len(devices)])
        return np.asarray(f(x, x))

    with ThreadPoolExecutor(8) as threads:
        for i, result in enumerate(threads.map(run, range(64))):
            np.testing.assert_array_equal(result, np.full(100, 3.0 * i))


@pytest.mark.usefixtures("functions")
def test_attributes_of_all_kinds() -> None:
    with jax.enable_x64(True):
        call = jax.ffi.ffi_call("test_Attributes", jax.ShapeDtypeStruct((12,), np.int64))
        seen = call(
            i32=np.int32(-3),
            i64=np.int64(1 << 40),
            u8=np.uint8(200),
            f32=np.float32(1.5),
            f64=np.float64(0.25),
            yes=True,
            text="five!",
            list=np.array([1, 1, 1], np.int32),
            floats=np.array([], np.float32),
            inner={"b": "xy", "a": np.int64(7)},
        )
        assert np.asarray(seen).tolist() == [-3, 1 << 40, 200, 3, 1, 1, 5, 3, 3, 0, 7, 2]


@pytest.mark.usefixtures("functions")
def test_attribute_that_functions_cannot_take() -> None:
    call = jax.ffi.ffi_call("test_Fail", jax.ShapeDtypeStruct((), np.float32))
    with pytest.raises(jax.errors.JaxRuntimeError, match="attribute message is neither a number"):
        jax.block_until_ready(call(message=(1, "two")))


@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize(
    ("name", "attributes", "message"),
    [
        ("Fail", {"message": "the gauge is empty"}, "FAILED_PRECONDITION.*the gauge is empty"),
        ("Throw", {}, "threw an exception: thrown on purpose"),
        ("Fail", {}, "Wrong number of attributes"),
        ("Unheard", {}, "no FFI handler 'test_Unheard'.*registered are: .*test_Saxpy"),
    ],
)
def test_failures_become_errors_of_jax(name: str, attributes: Any, message: str) -> None:
    call = jax.ffi.ffi_call(f"test_{name}", jax.ShapeDtypeStruct((2,), np.float32))
    with pytest.raises(jax.errors.JaxRuntimeError, match=message):
        jax.block_until_ready(call(**attributes))
    assert float(jnp.float32(1) + 1) == 2, "and the device goes on"


@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize("keep", [False, True])
def test_result_in_the_memory_of_an_argument(keep: bool) -> None:
    def f(x: Any) -> Any:
        y = x * 2
        call = jax.ffi.ffi_call("test_BumpFirst", like(x), input_output_aliases={0: 0})
        z = call(y)
        return (z, y) if keep else (z, x)

    x = jnp.arange(5.0)
    z, other = jax.jit(f)(x)
    np.testing.assert_array_equal(z, [100, 2, 4, 6, 8])
    np.testing.assert_array_equal(other, x * 2 if keep else x)
    np.testing.assert_array_equal(x, np.arange(5.0))


@pytest.mark.usefixtures("functions")
def test_layouts_of_arguments_and_results() -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    columns = jax.ffi.ffi_call(
        "test_InMemoryOrder", jax.ShapeDtypeStruct((6,), np.float32), input_layouts=[(1, 0)]
    )
    np.testing.assert_array_equal(jax.jit(columns)(x), [0, 3, 1, 4, 2, 5])
    out = jax.ffi.ffi_call("test_InMemoryOrder", like(x), output_layouts=(1, 0))
    np.testing.assert_array_equal(jax.jit(out)(x.ravel()), [[0, 2, 4], [1, 3, 5]])


@pytest.mark.usefixtures("functions")
def test_state_from_the_stage_instantiate() -> None:
    with jax.enable_x64(True):
        call = jax.ffi.ffi_call("test_Count", jax.ShapeDtypeStruct((1,), np.int64))
        assert int(call(start=np.int64(41))[0]) == 42
        with pytest.raises(jax.errors.JaxRuntimeError, match="start is negative"):
            call(start=np.int64(-1))


@pytest.mark.usefixtures("functions")
def test_function_that_ends_later() -> None:
    x = jnp.arange(1000.0)
    call = jax.ffi.ffi_call("test_Later", like(x))
    np.testing.assert_array_equal(jax.jit(lambda x: call(x, fail=False) * 2)(x), -2 * x)
    with pytest.raises(jax.errors.JaxRuntimeError, match="failed later"):
        jax.block_until_ready(call(x, fail=True))


@pytest.mark.usefixtures("functions")
def test_what_the_context_offers() -> None:
    device = jax.devices(config.PLATFORM)[1]
    with jax.enable_x64(True), jax.default_device(device):
        call = jax.ffi.ffi_call("test_Context", jax.ShapeDtypeStruct((3,), np.int64))
        assert np.asarray(jax.jit(call)()).tolist() == [7, 1, device.local_hardware_id]


def test_registration_refuses_what_is_no_handler(functions: ctypes.CDLL) -> None:
    register = jax.ffi.register_ffi_target
    with pytest.raises(TypeError, match="is a int; give a capsule"):
        register("test_int", 5, platform=config.PLATFORM)
    with pytest.raises(ValueError, match="'run' is no stage"):
        register("test_stage", {"run": functions.FailHandler}, platform=config.PLATFORM)
    with pytest.raises(RuntimeError, match="version 1, the typed FFI"):
        register("test_old", functions.FailHandler, platform=config.PLATFORM, api_version=0)
    with pytest.raises(RuntimeError, match="another FFI handler has the name test_Fail"):
        register("test_Fail", functions.ThrowHandler, platform=config.PLATFORM)
    register("test_Fail", functions.FailHandler, platform=config.PLATFORM)  # the same once more


def test_functions_registered_before_the_plugin_is_there(built: Path) -> None:
    program = f"""
        import ctypes, jax, numpy as np
        loaded = ctypes.CDLL({str(built)!r})
        handler = jax.ffi.pycapsule(loaded.SaxpyHandler)
        jax.ffi.register_ffi_target("early", handler, platform={config.PLATFORM!r})
        x = np.ones(3, np.float32)
        call = jax.ffi.ffi_call("early", jax.ShapeDtypeStruct(x.shape, x.dtype))
        print(call(x, x, a=np.float32(4)))
    """
    assert output_of(program, {"JAX_PLATFORMS": config.PLATFORM}) == "[5. 5. 5.]"
