"""Time a handful of JAX programs on one PJRT plugin, in this process alone.

usage: measure.py PLATFORM [LIBRARY]

PLATFORM is a platform that JAX finds by itself, or, with LIBRARY, the name under which that plugin
library is registered. Prints one line of JSON: seconds by program.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

SAMPLE_SECONDS = 0.05
SAMPLES = 9


def per_call(function: Callable[[], Any]) -> float:
    """Median seconds of a call over SAMPLES samples of many calls; the last result is awaited."""
    jax.block_until_ready(function())
    calls = 1
    while (once := _sample(function, calls)) < SAMPLE_SECONDS:
        calls = max(calls * 2, int(calls * SAMPLE_SECONDS / max(once, 1e-9)))
    return statistics.median(_sample(function, calls) / calls for _ in range(SAMPLES))


def _sample(function: Callable[[], Any], calls: int) -> float:
    begin = time.perf_counter()
    result = None
    for _ in range(calls):
        result = function()
    jax.block_until_ready(result)
    return time.perf_counter() - begin


def normal(*shape: int) -> jax.Array:
    """Standard normal float32 values, the same ones for every plugin."""
    return jnp.asarray(np.random.default_rng(0).standard_normal(shape, dtype=np.float32))


def matmul() -> float:
    """Seconds of a product of two float32 matrices of 512 by 512."""
    a, b = normal(512, 512), normal(512, 512)
    product = jax.jit(jnp.matmul)
    return per_call(lambda: product(a, b))


def cheap_chain() -> float:
    """Seconds of seven additions and products in a row over 2**20 float32 values."""
    chain = jax.jit(lambda x, y: ((x * 2 + 1) * x - 3) * y + x - y)
    x = normal(1 << 20)
    y = x[::-1] + 0
    return per_call(lambda: chain(x, y))


def elementwise() -> float:
    """Seconds of a chain of ten elementwise operations over 2**20 float32 values."""

    @jax.jit
    def chain(x: jax.Array) -> jax.Array:
        y = jnp.tanh(x) * 0.5 + jnp.exp(-x * x)
        return jnp.maximum(y, 0.0) * jnp.cos(x) - jnp.abs(x)

    x = normal(1 << 20)
    return per_call(lambda: chain(x))


def scalar_add() -> float:
    """Seconds of a call of a jitted addition of two float32 scalars: what a call costs."""
    add = jax.jit(lambda x, y: x + y)
    one = jnp.float32(1.0)
    return per_call(lambda: add(one, one))


Params = list[tuple[jax.Array, jax.Array]]


def _loss(params: Params, x: jax.Array, labels: jax.Array) -> jax.Array:
    for weight, bias in params[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = params[-1]
    log_probabilities = jax.nn.log_softmax(x @ weight + bias)
    return -jnp.mean(log_probabilities[jnp.arange(labels.shape[0]), labels])


def _step(params: Params, x: jax.Array, labels: jax.Array) -> Params:
    gradient = jax.grad(_loss)(params, x, labels)
    updated: Params = jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradient)
    return updated


def _network() -> tuple[Params, jax.Array, jax.Array]:
    """An MLP 784-256-256-10 and a batch of 128."""
    sizes = (784, 256, 256, 10)
    params = [(normal(m, n) * 0.05, jnp.zeros(n)) for m, n in pairwise(sizes)]
    return params, normal(128, 784), jnp.asarray(np.arange(128) % 10)


def training_step() -> float:
    """Seconds of one training step of the MLP, forward, backward and update."""
    params, x, labels = _network()
    step = jax.jit(_step)
    return per_call(lambda: step(params, x, labels))


def compilation() -> float:
    """Seconds of compiling the training step, lowering to StableHLO not counted."""
    arguments = _network()

    def once() -> float:
        jax.clear_caches()
        lowered = jax.jit(_step).lower(*arguments)
        begin = time.perf_counter()
        lowered.compile()
        return time.perf_counter() - begin

    once()
    return statistics.median(once() for _ in range(5))


PROGRAMS: dict[str, Callable[[], float]] = {
    "matmul": matmul,
    "elementwise": elementwise,
    "cheap_chain": cheap_chain,
    "scalar_add": scalar_add,
    "training_step": training_step,
    "compilation": compilation,
}


def main() -> None:
    """Measure every program on the first device of the platform."""
    platform = sys.argv[1]
    if len(sys.argv) > 2:
        from jax._src import xla_bridge

        xla_bridge.register_plugin(platform, library_path=sys.argv[2])
    jax.config.update("jax_default_device", jax.devices(platform)[0])
    print(json.dumps({name: measure() for name, measure in PROGRAMS.items()}))


if __name__ == "__main__":
    main()
