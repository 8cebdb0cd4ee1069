"""What tests/generated/test_two_plugins.py runs: two plugins serve one process at the same time.

usage: two_plugins.py FIRST SECOND [--names-taken]

FIRST and SECOND are platforms, `mychip` or `acme`, in the order in which their libraries are
loaded. With --names-taken both libraries are loaded before JAX in the way that makes everybody's
what they export, as a careless host program would.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

MODULES = {"mychip": "jax_plugins.mychip", "acme": "acme_x1"}
COMPILES = "mychip"
ROUNDS = 20


def load(order: list[str], *, globally: bool) -> None:
    """Load the libraries in this order and register both platforms."""
    modules = {platform: importlib.import_module(MODULES[platform]) for platform in order}
    if globally:
        for module in modules.values():
            (library,) = Path(str(module.__file__)).parent.glob("pjrt_plugin_*.so")
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    for module in modules.values():
        module.initialize()


def check_devices(jax: Any, order: list[str]) -> None:
    """Each platform has its own number of devices, which the environment gave, and its own name."""
    for platform in order:
        devices = jax.devices(platform)
        assert len(devices) == {"mychip": 2, "acme": 3}[platform], devices
        assert {device.platform for device in devices} == {platform}
        assert {device.client.platform for device in devices} == {platform}
    assert len({id(jax.devices(platform)[0].client) for platform in order}) == 2


def check_transfers(jax: Any, first: Any, second: Any) -> None:
    """Arrays go from one plugin's device to the other's and back, and stay what they were."""
    given: Any = np.arange(1 << 16, dtype=np.float32).reshape(256, 256)
    there = jax.device_put(jax.device_put(given, first), second)
    back = jax.device_put(there, first)
    assert there.devices() == {second}
    assert back.devices() == {first}
    assert np.array_equal(there, given)
    assert np.array_equal(back, given)


def check_programs(jax: Any, arrays: dict[str, Any]) -> None:
    """One plugin runs the program; the other says that it is the other, and that it cannot."""
    double = jax.jit(lambda x: x @ x * 2)
    for platform, x in arrays.items():
        if platform == COMPILES:
            assert np.array_equal(double(x), np.asarray(x) @ np.asarray(x) * 2)
            continue
        try:
            double(x)
        except jax.errors.JaxRuntimeError as error:
            assert "UNIMPLEMENTED" in str(error), error  # noqa: PT017
            assert COMPILES not in str(error), error  # noqa: PT017
        else:
            raise AssertionError(f"{platform} compiled a program")


def main() -> None:
    """Run everything in this thread, then in one thread for each plugin, then leave work behind."""
    order = sys.argv[1:3]
    load(order, globally="--names-taken" in sys.argv)
    import jax

    check_devices(jax, order)
    first, second = (jax.devices(platform)[-1] for platform in order)
    check_transfers(jax, first, second)
    x: Any = np.eye(64, dtype=np.float32)
    check_programs(jax, {p: jax.device_put(x, jax.devices(p)[0]) for p in order})

    failures: list[BaseException] = []

    def repeat(one: Any, other: Any) -> None:
        try:
            for _ in range(ROUNDS):
                check_transfers(jax, one, other)
                check_programs(jax, {d.platform: jax.device_put(x, d) for d in (one, other)})
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=repeat, args=pair) for pair in ((first, second), (second, first))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures

    # Nobody lets go of these: both plugins end with the process.
    main.kept = [jax.device_put(x, device) for device in (first, second)]  # type: ignore[attr-defined]
    print("both work")


if __name__ == "__main__":
    main()
