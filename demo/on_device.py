"""What the demo runs on the generated plugin. Needs the plugin's wheel and jax, nothing else.

usage: on_device.py RESULT.json
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

PLATFORM = "mychip"
Params = list[tuple[jax.Array, jax.Array]]


def show(expression: str, value: object) -> None:
    """Print a program beside its value."""
    print(f"      {expression:52} {value}", flush=True)


def check(condition: bool, message: str) -> None:
    """End the demo with a message when something is not as it should be."""
    if not condition:
        sys.exit(f"on_device.py: {message}")


def show_devices() -> None:
    """The devices, and that JAX chose them by itself."""
    chosen = jax.default_backend()
    check(chosen == PLATFORM, f"JAX runs on '{chosen}' instead of '{PLATFORM}'")
    show("jax.devices()", jax.devices())


def run_guide() -> None:
    """The three programs with which JAX's plugin guide begins."""
    two = jnp.add(1, 1)
    show("jnp.add(1, 1)", two)
    check(int(two) == 2, f"1 + 1 is {two}")

    doubled = jax.jit(lambda x: x * 2)(1.0)
    show("jit(lambda x: x * 2)(1.)", doubled)
    check(float(doubled) == 2.0, f"1. * 2 is {doubled}")

    summed = jax.pmap(lambda x: x + jax.lax.psum(x, "i"), axis_name="i")(jnp.arange(4))
    show("pmap(lambda x: x + psum(x, 'i'), 'i')(arange(4))", summed)
    check(np.array_equal(summed, [6, 7, 8, 9]), f"psum gives {summed} instead of [6 7 8 9]")


def init(key: jax.Array, sizes: tuple[int, ...]) -> Params:
    """Weights (in, out) with variance 2/in, and biases (out,), of every layer; float32."""
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        (jax.random.normal(k, (m, n)) * jnp.sqrt(2.0 / m), jnp.zeros(n))
        for k, (m, n) in zip(keys, pairwise(sizes), strict=True)
    ]


def loss(params: Params, x: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean softmax cross entropy of inputs x (batch, in) and labels (batch,)."""
    for weight, bias in params[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = params[-1]
    log_probabilities = jax.nn.log_softmax(x @ weight + bias)
    return -jnp.mean(log_probabilities[jnp.arange(labels.shape[0]), labels])


@jax.jit
def train_step(params: Params, x: jax.Array, labels: jax.Array) -> tuple[Params, jax.Array]:
    """One step of gradient descent. Returns the new parameters and the loss before the step."""
    value, gradient = jax.value_and_grad(loss)(params, x, labels)
    return jax.tree.map(lambda p, g: p - 0.2 * g, params, gradient), value


def train(steps: int = 200) -> tuple[float, float, float]:
    """Train on three noisy spirals. Returns the first and last loss and a step's median ms."""
    rng = np.random.default_rng(0)
    labels: np.ndarray = np.repeat(np.arange(3), 128)
    radius = np.tile(np.linspace(0.1, 1.0, 128), 3)
    angle = radius * 4 + labels * 2 * np.pi / 3 + rng.normal(0, 0.1, labels.size)
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype(np.float32)

    params = init(jax.random.key(0), (2, 64, 64, 3))
    losses, times = [], []
    for index in range(steps):
        begin = time.perf_counter()
        params, value = train_step(params, x, labels)
        losses.append(float(value))
        times.append((time.perf_counter() - begin) * 1e3)
        if index % 40 == 0 or index == steps - 1:
            show(f"training step {index}", f"loss {losses[-1]:.4f}")
    return losses[0], losses[-1], statistics.median(times[1:])


def main() -> None:
    """Run everything and write what was measured to the path given."""
    show_devices()
    run_guide()
    first, last, step_ms = train()
    check(last < first / 2, f"the loss fell from {first:.3f} to {last:.3f} only")
    result = {
        "jax": jax.__version__,
        "devices": ", ".join(map(str, jax.devices())),
        "first_loss": first,
        "last_loss": last,
        "step_ms": step_ms,
    }
    Path(sys.argv[1]).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
