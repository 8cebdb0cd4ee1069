"""
What <PLUGIN>_JAX_PATCHES=1 changes in JAX, and that nothing changes without it.

The names that _jax_patches.py takes from JAX's private modules are pinned here too.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import jax
import pytest
from jax._src import compilation_cache, xla_bridge
from jax._src.array import ArrayImpl
from jax._src.dlpack import DLDeviceType
from jax._src.interpreters import mlir
from plugin_under_test import BACKEND, config, jax_patches
from support import output_of

pytestmark = pytest.mark.ecosystem

WITH_PATCHES = {
    "JAX_PLATFORMS": f"{config.PLATFORM},cpu",
    config.PATCHES_VARIABLE: "1",
}
WITHOUT = {"JAX_PLATFORMS": f"{config.PLATFORM},cpu"}


def test_names_are_there_and_mean_the_same() -> None:
    assert {"cpu", "tpu"} <= set(mlir._platforms_with_donation)
    parameters = inspect.signature(compilation_cache.is_cache_used).parameters
    assert list(parameters) == ["backend"]
    assert "platform" in inspect.getsource(compilation_cache.is_cache_used)
    assert "backend" in inspect.signature(xla_bridge.local_devices).parameters
    assert list(inspect.signature(xla_bridge._init_backend).parameters) == ["platform"]
    assert xla_bridge._backends is xla_bridge.backends()
    assert callable(xla_bridge._backend_lock.acquire)
    assert int(DLDeviceType.kDLCPU) == 1
    for function in (ArrayImpl.__dlpack__, ArrayImpl.__dlpack_device__):
        assert callable(function)
    assert callable(ArrayImpl.platform)


def test_nothing_is_patched_unless_asked_for() -> None:
    jax.devices(config.PLATFORM)
    for environ in ({}, {config.PATCHES_VARIABLE: "0"}, {config.PATCHES_VARIABLE: ""}):
        assert not jax_patches.wanted(environ)
    program = f"""
    import jax
    from jax._src import compilation_cache as cache
    from jax._src.array import ArrayImpl
    from jax._src.interpreters import mlir
    before = cache.is_cache_used, ArrayImpl.__dlpack__
    jax.devices({config.PLATFORM!r})
    assert before == (cache.is_cache_used, ArrayImpl.__dlpack__)
    print({config.PLATFORM!r} in mlir._platforms_with_donation)
    """
    assert output_of(program, WITHOUT) == "False"


def test_patching_twice_is_patching_once() -> None:
    program = f"""
    import jax
    from jax._src import compilation_cache as cache
    from jax._src.array import ArrayImpl
    from {config.MODULE} import _jax_patches
    jax.devices({config.PLATFORM!r})
    before = cache.is_cache_used, ArrayImpl.__dlpack__
    assert _jax_patches.apply({config.PLATFORM!r}) == []
    print(before == (cache.is_cache_used, ArrayImpl.__dlpack__))
    """
    assert output_of(program, WITH_PATCHES) == "True"


def test_jax_without_a_name_keeps_the_other_patches() -> None:
    program = f"""
    import jax
    from jax._src import compilation_cache as cache
    from jax._src.interpreters import mlir
    del mlir._platforms_with_donation
    before = cache.is_cache_used
    jax.devices({config.PLATFORM!r})
    from {config.MODULE} import _jax_patches
    print(*_jax_patches.apply({config.PLATFORM!r}))
    print(cache.is_cache_used is not before)
    """
    said, patched = output_of(program, WITH_PATCHES).splitlines()
    assert said.startswith("donation is not patched: ")
    assert patched == "True"


@pytest.mark.needs_compiler
@pytest.mark.skipif(BACKEND == "own", reason="a backend need not take over memory")
def test_donation() -> None:
    program = """
    import jax, jax.numpy as jnp
    x = jnp.arange(1000.0)
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    print(x.is_deleted(), float(y[0]))
    """
    assert output_of(program, WITH_PATCHES) == "True 1.0"


@pytest.mark.needs_compiler
@pytest.mark.skipif(BACKEND == "own", reason="a backend need not serialize its programs")
def test_compilation_cache(tmp_path: Path) -> None:
    program = f"""
    import jax, jax.numpy as jnp
    jax.config.update("jax_compilation_cache_dir", {str(tmp_path)!r})
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    hits = []
    jax.monitoring.register_event_listener(
        lambda event, **_: hits.append(event) if event.endswith("cache_hits") else None)
    result = jax.jit(lambda x: x * 2 + 1)(jnp.arange(4.0))
    print(result.tolist(), len(hits) > 0)
    """
    assert output_of(program, WITHOUT) == "[1.0, 3.0, 5.0, 7.0] False"
    assert list(tmp_path.iterdir()) == [], "only the platforms on JAX's list are cached"
    assert output_of(program, WITH_PATCHES) == "[1.0, 3.0, 5.0, 7.0] False"
    assert any("cache" in path.name for path in tmp_path.iterdir())
    assert output_of(program, WITH_PATCHES) == "[1.0, 3.0, 5.0, 7.0] True"


@pytest.mark.needs_compiler
@pytest.mark.skipif(BACKEND == "own", reason="host transfers are an optional ability of backends")
def test_callbacks_where_jax_platforms_names_no_cpu() -> None:
    program = """
    import jax
    jax.jit(lambda x: jax.debug.print("x is {}", x))(5)
    jax.effects_barrier()
    print([device.platform for device in jax.devices()][:1])
    """
    said = output_of(program, WITH_PATCHES | {"JAX_PLATFORMS": config.PLATFORM})
    assert said.splitlines() == ["x is 5", f"['{config.PLATFORM}']"]


@pytest.mark.parametrize("platforms", [f"{config.PLATFORM},cpu", config.PLATFORM])
def test_arrays_for_other_frameworks(platforms: str) -> None:
    program = """
    import jax, numpy as np
    x = jax.device_put(np.arange(6, dtype=np.float32).reshape(2, 3))
    y = np.from_dlpack(x)
    del x
    print(y.tolist(), y.dtype)
    """
    said = output_of(program, WITH_PATCHES | {"JAX_PLATFORMS": platforms})
    assert said == "[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] float32"


def test_arrays_of_other_frameworks() -> None:
    program = f"""
    import jax, numpy as np, jax.numpy as jnp
    device = jax.devices({config.PLATFORM!r})[0]
    x = jax.dlpack.from_dlpack(np.arange(3, dtype=np.int32), device=device)
    print(x.tolist(), x.devices() == {{device}})
    y = jax.dlpack.from_dlpack(jax.device_put(np.array([1, 2], jnp.bfloat16), device))
    print(y.tolist(), y.dtype, y.platform())
    """
    assert output_of(program, WITH_PATCHES).splitlines() == [
        "[0, 1, 2] True",
        "[1.0, 2.0] bfloat16 cpu",
    ]
