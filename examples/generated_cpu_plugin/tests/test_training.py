"""A training loop: the loss of a small network falls."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import pytest

pytestmark = [pytest.mark.core, pytest.mark.needs_compiler]

SIZES = (16, 32, 4)


def initial_parameters(key: Any) -> list[tuple[Any, Any]]:
    keys = jax.random.split(key, len(SIZES) - 1)
    return [
        (jax.random.normal(key, (m, n)) / m**0.5, jnp.zeros(n))
        for key, m, n in zip(keys, SIZES[:-1], SIZES[1:], strict=True)
    ]


def loss(parameters: Any, images: Any, labels: Any) -> Any:
    """Softmax cross entropy of a perceptron with one hidden layer."""
    *hidden, (w_last, b_last) = parameters
    activations = images
    for w, b in hidden:
        activations = jax.nn.relu(activations @ w + b)
    log_probabilities = jax.nn.log_softmax(activations @ w_last + b_last)
    return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))


def step(parameters: Any, images: Any, labels: Any) -> Any:
    value, gradients = jax.value_and_grad(loss)(parameters, images, labels)
    return value, jax.tree.map(lambda p, g: p - 0.5 * g, parameters, gradients)


def test_loss_falls() -> None:
    key_parameters, key_images = jax.random.split(jax.random.key(1))
    images = jax.random.normal(key_images, (64, SIZES[0]))
    labels = jnp.argmax(images[:, : SIZES[-1]], axis=1)
    parameters = initial_parameters(key_parameters)
    jitted = jax.jit(step)
    losses = []
    for _ in range(20):
        value, parameters = jitted(parameters, images, labels)
        losses.append(float(value))
    assert all(later < earlier for earlier, later in pairwise(losses))
    assert losses[-1] < losses[0] / 2, losses
