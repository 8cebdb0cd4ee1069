"""What test_together.py runs: frameworks and the plugin in one process, loaded in a given order.

usage: together.py NAME...     names of LOAD, in the order in which they are loaded
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

PLATFORM = "mychip"
A: Any = np.arange(12, dtype=np.float32).reshape(3, 4)
PRODUCT: Any = A @ A.T


def load_plugin() -> None:
    """Load the plugin library as the system's loader does, and ask it for its functions."""
    capi = importlib.import_module("jax_plugins.mychip._capi")
    library = importlib.import_module("jax_plugins.mychip._library")
    capi.read_function_table(library.find_library())


LOAD: dict[str, Callable[[], object]] = {
    "jax": lambda: importlib.import_module("jax"),
    "tensorflow": lambda: importlib.import_module("tensorflow"),
    "torch": lambda: importlib.import_module("torch"),
    "torch_xla": lambda: importlib.import_module("torch_xla"),
    "plugin": load_plugin,
}


def use_jax() -> None:
    """Compile with the plugin and with XLA for the CPU; copy between them."""
    import jax

    for device in (jax.devices(PLATFORM)[-1], jax.devices("cpu")[0]):
        x = jax.device_put(A, device)
        y = jax.jit(lambda x: x @ x.T)(x)
        assert y.devices() == {device}
        assert np.allclose(y, PRODUCT)
    assert np.allclose(jax.device_put(x, jax.devices(PLATFORM)[0]), A)


def use_tensorflow() -> None:
    """Run eagerly, and through the XLA that TensorFlow has inside."""
    tf = importlib.import_module("tensorflow")
    x = tf.constant(A)
    assert np.allclose(tf.matmul(x, x, transpose_b=True).numpy(), PRODUCT)
    compiled = tf.function(lambda x: tf.matmul(x, x, transpose_b=True), jit_compile=True)
    assert np.allclose(compiled(x).numpy(), PRODUCT)


def use_torch() -> None:
    """A product and its gradient on the CPU."""
    torch = importlib.import_module("torch")
    x = torch.tensor(A, requires_grad=True)
    y = x @ x.T
    y.sum().backward()
    assert np.allclose(y.detach().numpy(), PRODUCT)
    assert x.grad.shape == A.shape


def use_torch_xla() -> None:
    """The same product on the plugin's device, which PJRT_DEVICE chooses."""
    torch = importlib.import_module("torch")
    x = torch.tensor(A).to("xla")
    assert np.allclose((x @ x.T).cpu().numpy(), PRODUCT)


USE: dict[str, Callable[[], None]] = {
    "jax": use_jax,
    "tensorflow": use_tensorflow,
    "torch": use_torch,
    "torch_xla": use_torch_xla,
    "plugin": lambda: None,  # what uses it is JAX and torch_xla
}


def main() -> None:
    """Load everything, then use everything twice, so that each works after each."""
    names = sys.argv[1:]
    for name in names:
        LOAD[name]()
    for name in names * 2:
        USE[name]()
    print("all work")


if __name__ == "__main__":
    main()
