"""Small real programs from public libraries, on the plugin and on JAX's own CPU: do they agree?

Runs as a script in an environment that holds the libraries and the plugin, and nothing of this
project.

    python programs.py          the names of the programs, one a line
    python programs.py NAME     runs it on both, and fails where the results differ
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

Tree = Any


@dataclass(frozen=True)
class Program:
    """A function without arguments whose result is a tree of arrays, and how near it must be."""

    run: Callable[[], Tree]
    rtol: float
    atol: float


PROGRAMS: dict[str, Program] = {}


def program(
    rtol: float = 1e-4, atol: float = 1e-5
) -> Callable[[Callable[[], Tree]], Callable[[], Tree]]:
    """List a function as a program. Programs that amplify rounding ask for less agreement."""

    def add(function: Callable[[], Tree]) -> Callable[[], Tree]:
        PROGRAMS[function.__name__] = Program(function, rtol, atol)
        return function

    return add


def numbers(*shape: int, seed: int = 0) -> jax.Array:
    """Normally distributed float32 of this shape, the same ones on every device."""
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape, np.float32))


def labels(count: int, kinds: int) -> jax.Array:
    """Numbers of classes."""
    return jnp.asarray(np.random.default_rng(1).integers(0, kinds, count), jnp.int32)


def trained(loss: Callable[[Tree], jax.Array], params: Tree, optimizer: Any, steps: int) -> Tree:
    """The losses of some steps of training, and the parameters after them."""
    import optax

    @jax.jit
    def step(params: Tree, state: Tree) -> tuple[Tree, Tree, jax.Array]:
        value, gradients = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    state = optimizer.init(params)
    losses = []
    for _ in range(steps):
        params, state, value = step(params, state)
        losses.append(value)
    return {"losses": jnp.stack(losses), "params": params}


@program(rtol=2e-3, atol=2e-4)
def flax_convolutional_network() -> Tree:
    import optax
    from flax import linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: jax.Array) -> jax.Array:
            for features in (8, 16):
                x = nn.relu(nn.Conv(features, (3, 3))(x))
                x = nn.max_pool(x, (2, 2), strides=(2, 2))
            x = nn.LayerNorm()(x.reshape(len(x), -1))
            return nn.Dense(10)(x)

    net, images, classes = Net(), numbers(16, 12, 12, 3), labels(16, 10)
    params = net.init(random.key(0), images)

    def loss(params: Tree) -> jax.Array:
        logits = net.apply(params, images)
        return optax.softmax_cross_entropy_with_integer_labels(logits, classes).mean()

    result = trained(loss, params, optax.sgd(0.1, momentum=0.9), 8)
    assert result["losses"][-1] < result["losses"][0]
    return result


@program(rtol=2e-3, atol=2e-4)
def flax_nnx_attention() -> Tree:
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, rngs: nnx.Rngs) -> None:
            self.attention = nnx.MultiHeadAttention(4, 32, decode=False, rngs=rngs)
            self.norm = nnx.LayerNorm(32, rngs=rngs)
            self.linear = nnx.Linear(32, 32, rngs=rngs)

        def __call__(self, x: jax.Array) -> jax.Array:
            x = x + self.attention(self.norm(x), mask=nnx.make_causal_mask(x[..., 0]))
            return nnx.gelu(self.linear(x))

    block, x = Block(nnx.Rngs(0)), numbers(2, 16, 32)
    value, gradients = nnx.value_and_grad(lambda block: (block(x) ** 2).mean())(block)
    return value, jax.tree.leaves(nnx.state(gradients))


@program()
def optax_optimizers() -> Tree:
    import optax

    x, y = numbers(64, 8), numbers(64, seed=1)
    params = {"w": numbers(8, seed=2), "b": jnp.zeros(())}

    def loss(params: Tree) -> jax.Array:
        return ((x @ params["w"] + params["b"] - y) ** 2).mean()

    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 5, 30)
    optimizers = {
        "adamw": optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule)),
        "lamb": optax.lamb(1e-2),
        "lion": optax.lion(1e-3),
        "adafactor": optax.adafactor(1e-2),
        "rmsprop": optax.rmsprop(1e-2),
    }
    return {name: trained(loss, params, one, 30) for name, one in optimizers.items()}


@program(rtol=1e-3)
def equinox_ensemble() -> Tree:
    import equinox as eqx
    import optax

    x, y = numbers(32, 2), numbers(32, 1, seed=1)

    @eqx.filter_vmap
    def make(key: jax.Array) -> Any:
        return eqx.nn.MLP(2, 1, width_size=16, depth=2, key=key)

    ensemble = make(random.split(random.key(0), 4))
    params, static = eqx.partition(ensemble, eqx.is_array)

    def loss(params: Tree) -> jax.Array:
        def one(model: Any) -> jax.Array:
            return ((jax.vmap(model)(x) - y) ** 2).mean()

        return eqx.filter_vmap(one)(eqx.combine(params, static)).mean()

    return trained(loss, params, optax.adam(1e-2), 10)


@program(rtol=1e-3)
def diffrax_adaptive_steps() -> Tree:
    import diffrax

    def field(t: Any, y: jax.Array, args: jax.Array) -> jax.Array:
        a, b, c, d = args
        prey, predators = y
        return jnp.array([a * prey - b * prey * predators, c * prey * predators - d * predators])

    def solve(args: jax.Array) -> jax.Array:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            diffrax.Tsit5(),
            t0=0.0,
            t1=4.0,
            dt0=0.05,
            y0=jnp.array([10.0, 5.0]),
            args=args,
            saveat=diffrax.SaveAt(ts=jnp.linspace(0, 4, 9)),
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-5),
        )
        return solution.ys

    args = jnp.array([1.1, 0.4, 0.1, 0.4])
    return jax.jit(solve)(args), jax.grad(lambda args: solve(args)[-1].sum())(args)


@program(rtol=1e-2, atol=1e-3)
def numpyro_variational_inference() -> Tree:
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import SVI, Trace_ELBO, autoguide

    x = numbers(64, 3)
    y = x @ jnp.array([1.0, -2.0, 0.5]) + 0.3

    def model() -> None:
        weights = numpyro.sample("weights", dist.Normal(jnp.zeros(3), 1.0).to_event(1))
        noise = numpyro.sample("noise", dist.HalfNormal(1.0))
        with numpyro.plate("data", len(x)):
            numpyro.sample("y", dist.Normal(x @ weights, noise), obs=y)

    guide = autoguide.AutoNormal(model)
    svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
    result = svi.run(random.key(0), 200, progress_bar=False)
    return result.params, result.losses[::20]


@program(rtol=0.2, atol=0.2)
def numpyro_sampling() -> Tree:
    """Chains part company after some steps; what they estimate must not."""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    y = 1.5 + 0.5 * numbers(50)

    def model() -> None:
        mean = numpyro.sample("mean", dist.Normal(0.0, 5.0))
        numpyro.sample("y", dist.Normal(mean, 0.5), obs=y)

    mcmc = MCMC(NUTS(model), num_warmup=100, num_samples=200, progress_bar=False)
    mcmc.run(random.key(0))
    return mcmc.get_samples()["mean"].mean()


@program(rtol=2e-3, atol=2e-4)
def haiku_recurrent_network() -> Tree:
    import haiku as hk
    import optax

    x, y = numbers(12, 4, 3), numbers(12, 4, 1, seed=1)  # time, batch, features

    def net(x: jax.Array) -> jax.Array:
        core = hk.LSTM(16)
        outputs, _ = hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))
        return hk.BatchApply(hk.Linear(1))(outputs)

    transformed = hk.without_apply_rng(hk.transform(net))
    params = transformed.init(random.key(0), x)
    return trained(
        lambda params: ((transformed.apply(params, x) - y) ** 2).mean(), params, optax.adam(1e-2), 8
    )


@program(rtol=1e-2, atol=1e-3)
def jaxopt_solvers() -> Tree:
    import jaxopt

    x, y = numbers(60, 5), labels(60, 2)

    def logistic(w: jax.Array) -> jax.Array:
        return jaxopt.objective.binary_logreg(w, (x, y)) + 0.05 * (w**2).sum()

    regularized = jaxopt.LBFGS(logistic, maxiter=50)
    simplex = jaxopt.ProjectedGradient(
        lambda w: ((x @ w - y) ** 2).mean(),
        projection=lambda w, _: jaxopt.projection.projection_simplex(w),
        maxiter=100,
    )
    root = jaxopt.Bisection(lambda t: t**3 - t - 1.0, 1.0, 2.0)
    return (
        regularized.run(jnp.zeros(5)).params,
        simplex.run(jnp.full(5, 0.2), None).params,
        root.run().params,
    )


@program()
def chex_states_in_loops() -> Tree:
    import chex

    @chex.dataclass(frozen=True)
    class State:
        position: jax.Array
        velocity: jax.Array

    def step(state: State, _: None) -> tuple[State, jax.Array]:
        velocity = state.velocity - 0.01 * state.position
        state = State(position=state.position + 0.01 * velocity, velocity=velocity)
        return state, (state.position**2).sum()

    start = State(position=numbers(8), velocity=numbers(8, seed=1))
    end, energies = jax.jit(lambda s: lax.scan(step, s, None, length=100))(start)
    chex.assert_tree_all_finite(end)
    chex.assert_shape(energies, (100,))
    chex.assert_trees_all_equal_shapes(start, end)
    return end.position, end.velocity, energies


@program(rtol=1e-3)
def distrax_distributions() -> Tree:
    import distrax

    flow = distrax.Transformed(
        distrax.MultivariateNormalDiag(jnp.zeros(3), jnp.ones(3)),
        distrax.Block(distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(0.5, 2.0)]), 1),
    )
    samples, log_probs = flow.sample_and_log_prob(seed=random.key(0), sample_shape=(32,))
    mixture = distrax.MixtureSameFamily(
        distrax.Categorical(jnp.array([0.1, 1.2, -0.3])),
        distrax.Normal(jnp.array([-1.0, 0.0, 2.0]), jnp.array([0.5, 1.0, 0.2])),
    )
    gamma = distrax.Gamma(2.0, 3.0)
    return (
        samples,
        log_probs,
        mixture.log_prob(numbers(16)),
        jax.grad(lambda x: mixture.log_prob(x).sum())(numbers(16)),
        gamma.log_prob(jnp.linspace(0.1, 3.0, 8)),
        distrax.Beta(2.0, 5.0).entropy(),
        distrax.Categorical(numbers(5)).sample(seed=random.key(1), sample_shape=(64,)),
    )


@program(rtol=1e-2, atol=1e-3)
def blackjax_steps() -> Tree:
    import blackjax

    def log_density(x: jax.Array) -> jax.Array:
        return -0.5 * (x**2 / jnp.arange(1.0, 5.0)).sum()

    sampler = blackjax.hmc(
        log_density, step_size=0.1, inverse_mass_matrix=jnp.ones(4), num_integration_steps=5
    )

    def step(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        state, _ = sampler.step(key, state)
        return state, state.position

    keys = random.split(random.key(0), 20)
    return lax.scan(step, sampler.init(jnp.ones(4)), keys)[1]


@program(rtol=1e-3, atol=1e-4)
def lineax_and_optimistix_solve() -> Tree:
    import lineax as lx
    import optimistix as optx

    a = numbers(6, 6) + 6 * jnp.eye(6)
    spd = lx.MatrixLinearOperator(a @ a.T, lx.positive_semidefinite_tag)
    b = numbers(6, seed=1)
    cg = lx.linear_solve(spd, b, lx.CG(rtol=1e-6, atol=1e-6)).value
    lu = lx.linear_solve(lx.MatrixLinearOperator(a), b, lx.LU()).value
    qr = lx.linear_solve(lx.MatrixLinearOperator(numbers(9, 4)), numbers(9, seed=1), lx.QR()).value
    newton = optx.root_find(
        lambda y, _: y - jnp.cos(y), optx.Newton(rtol=1e-6, atol=1e-6), jnp.array(0.5)
    ).value
    return cg, lu, qr, newton


def agree(name: str) -> None:
    """Run a program on the plugin and on JAX's CPU, and compare all arrays of the results."""
    program = PROGRAMS[name]
    results = []
    for platform in (os.environ["PLUGIN_PLATFORM"], "cpu"):
        with jax.default_device(jax.devices(platform)[0]):
            result = jax.block_until_ready(program.run())
        for leaf in jax.tree.leaves(result):
            assert {device.platform for device in jnp.asarray(leaf).devices()} == {platform}
        results.append(jax.tree.map(np.asarray, result))
    ours, theirs = results
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    leaves = zip(jax.tree_util.tree_leaves_with_path(theirs), jax.tree.leaves(ours), strict=True)
    for (path, expected), actual in leaves:
        np.testing.assert_allclose(
            actual,
            expected,
            rtol=program.rtol,
            atol=program.atol,
            err_msg=f"{name}{jax.tree_util.keystr(path)}",
        )


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print("\n".join(PROGRAMS))
    for argument in sys.argv[1:]:
        agree(argument)
