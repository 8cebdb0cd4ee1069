"""
The plugin layer on an accelerator that is not there.

The C++ tests build a plugin library whose devices keep their memory out of the host's reach, work
on threads of their own, and fail when told to (csrc/testing/accelerator); underneath, programs are
compiled and run by the reference backend. Each test runs JAX on it, in a process of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from plugin_under_test import BACKEND, config
from support import output_of

BUILD = Path(__file__).parents[1] / "build"
NAME = f"pjrt_accelerator_plugin{config.LIBRARY_SUFFIX}"
LIBRARY = BUILD / "wheel" / "csrc" / "testing" / "accelerator" / NAME

pytestmark = [
    pytest.mark.ecosystem,
    pytest.mark.skipif(BACKEND != "reference_cpu", reason="the accelerator runs on the reference"),
    pytest.mark.skipif(not LIBRARY.is_file(), reason=f"{LIBRARY} is not built: make test does"),
]

START = """
import jax, jax.numpy as jnp, numpy as np
devices = jax.devices()
"""


def run(code: str, **options: str | int) -> str:
    """What a program prints that has JAX, NumPy and the accelerator's devices."""
    environ = {config.ENV_PREFIX + name.upper(): str(value) for name, value in options.items()}
    environ |= {
        config.LIBRARY_PATH_VARIABLE: str(LIBRARY),
        config.ENV_PREFIX + "NUM_DEVICES": "4",
        "JAX_PLATFORMS": config.PLATFORM,
    }
    return output_of(START + code, environ)


def test_programs_and_transfers() -> None:
    code = """
x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
f = jax.jit(lambda x: jnp.sin(x) @ x.T)
for device in devices:
    y = jax.device_put(x, device)
    np.testing.assert_allclose(f(y), np.sin(x) @ x.T, rtol=1e-5)
    np.testing.assert_array_equal(jax.device_put(y.T, devices[1]), x.T)
    np.testing.assert_array_equal(jax.device_put(x.T, device), x.T)
print(jax.grad(lambda x: (x**3).sum())(jnp.float32(2)))
"""
    assert run(code, copy_us=500, launch_us=500) == "12.0"


def test_the_host_sees_copies_only() -> None:
    """NumPy must not look at device memory: reading it would end the process."""
    code = """
x = jnp.arange(100000.0)
view = np.asarray(x)
print(view[5], x.unsafe_buffer_pointer() != view.ctypes.data)
"""
    assert run(code) == "5.0 True"


def test_host_memory_is_shared_with_the_host() -> None:
    code = """
host = jax.sharding.SingleDeviceSharding(devices[0], memory_kind="pinned_host")
x = jax.device_put(np.arange(5.0), host)
y = jax.device_put(x, jax.sharding.SingleDeviceSharding(devices[0], memory_kind="device"))
print(np.asarray(x).sum(), np.asarray(y * 2).sum())
"""
    assert run(code) == "10.0 20.0"


def test_programs_of_two_devices_overlap() -> None:
    """Each launch waits for the other one to begin, so one after the other would fail."""
    code = """
x = [jax.device_put(np.ones(3, np.float32), device) for device in devices[:2]]
f = jax.jit(lambda x: x + 1)
results = [f(one) for one in x]
print([float(np.asarray(one).sum()) for one in results])
"""
    assert run(code, meet=2) == "[6.0, 6.0]"


def test_program_of_several_devices() -> None:
    code = """
mesh = jax.sharding.Mesh(np.array(devices), ("x",))
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
x = jax.device_put(np.arange(16.0, dtype=np.float32), sharding)
for _ in range(10):
    total = jax.jit(lambda x: (x - x.mean()).sum() + x.sum())(x)
print(float(total))
"""
    assert run(code, launch_us=200) == "120.0"


@pytest.mark.parametrize("when", ["at_start", "at_end"])
def test_fault_of_a_program_travels_to_its_reader(when: str) -> None:
    code = """
x = jax.device_put(np.ones(3, np.float32), devices[0])
f = jax.jit(lambda x: x + 1)
y = f(x)
z = f(y)
try:
    np.asarray(z)
except jax.errors.JaxRuntimeError as error:
    print(error)
print(np.asarray(f(x)))
"""
    lines = run(code, faults=f"launch 1 {when} DATA_LOSS").splitlines()
    assert lines == ["DATA_LOSS: injected fault: launch 1 on device 0", "[2. 2. 2.]"]


def test_lost_device_leaves_the_others() -> None:
    code = """
x = [jax.device_put(np.ones(3, np.float32), device) for device in devices[:2]]
f = jax.jit(lambda x: x + 1)
for one in x:
    for _ in range(2):
        try:
            print(np.asarray(f(one)))
        except (jax.errors.JaxRuntimeError, ValueError) as error:  # of reading, of launching
            print(str(error)[:30])
"""
    lines = run(code, faults="launch 1 on 0 lost").splitlines()
    assert lines[0].startswith("UNAVAILABLE: injected fault")
    assert lines[1].startswith("UNAVAILABLE: ")
    assert lines[2:] == ["[2. 2. 2.]"] * 2


def test_out_of_memory_has_the_numbers_of_the_device() -> None:
    code = """
x = jax.device_put(np.ones(1 << 18, np.float32), devices[0])
try:
    jax.device_put(np.ones(1 << 19, np.float32), devices[0]).block_until_ready()
except jax.errors.JaxRuntimeError as error:
    print(error)
print(devices[0].memory_stats()["bytes_in_use"], devices[0].memory_stats()["bytes_limit"])
del x
y = jax.device_put(np.ones(1 << 19, np.float32), devices[0])
print(float(y.sum()))
"""
    first, second, third = run(code, memory_bytes=2_500_000).splitlines()
    assert first.startswith("RESOURCE_EXHAUSTED: ")
    assert "cannot allocate 2097152 bytes: 1048576 bytes are in use" in first
    assert "the limit is 2500000" in first
    assert second == "1048576 2500000"
    assert third == "524288.0"


def test_process_ends_with_work_under_way() -> None:
    code = """
x = jax.device_put(np.ones(3, np.float32), devices[0])
f = jax.jit(lambda x: x + 1)
for _ in range(10):
    x = f(x)
print("leaving")
"""
    assert run(code, launch_us=50_000) == "leaving"
