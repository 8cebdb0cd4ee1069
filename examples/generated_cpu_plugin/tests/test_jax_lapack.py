"""
Linear algebra on the devices, beside numpy.

The names that _jax_lapack.py takes from JAX's private modules are pinned here too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.interpreters import mlir
from jax._src.lax import linalg
from jax._src.lib import lapack, xla_client
from plugin_under_test import config
from support import output_of

pytestmark = pytest.mark.ecosystem

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


@pytest.fixture(autouse=True)
def _64_bits() -> Any:
    with jax.enable_x64(True):
        yield


def matrix(dtype: Any, *shape: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(0)
    real = random.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        return (real + 1j * random.standard_normal(shape)).astype(dtype)
    return real.astype(dtype)


def agree(got: Any, want: Any) -> None:
    assert got.dtype == want.dtype
    tolerance = 1e-4 if np.finfo(want.dtype).bits == 32 else 1e-10
    np.testing.assert_allclose(got, want, atol=tolerance, rtol=tolerance)


def test_names_are_there_and_mean_the_same() -> None:
    jax.devices(config.PLATFORM)
    rows = lapack.registrations()["cpu"]
    assert any(name == "lapack_sgetrf_ffi" and version == 1 for name, _, version in rows)
    assert callable(lapack._lapack.initialize)
    assert callable(xla_client.register_custom_call_target)
    rules = mlir._platform_specific_lowerings
    assert isinstance(linalg.eigh_p, linalg.core.Primitive)
    assert rules[config.PLATFORM][linalg.eigh_p] is rules["cpu"][linalg.eigh_p]
    for primitive in (linalg.cholesky_p, linalg.triangular_solve_p):
        assert primitive in rules["cpu"]
        assert primitive not in rules[config.PLATFORM]


def test_lapack_is_not_looked_for_before_it_is_needed() -> None:
    program = """
    import sys, jax.numpy as jnp
    jnp.arange(3) + 1
    print("scipy.linalg.cython_lapack" in sys.modules)
    jnp.linalg.eigvalsh(jnp.eye(2))
    print("scipy.linalg.cython_lapack" in sys.modules)
    """
    said = output_of(program, {"JAX_PLATFORMS": config.PLATFORM})
    assert said.split() == ["False", "True"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_decompositions_give_the_matrix_back(dtype: Any) -> None:
    a = matrix(dtype, 2, 5, 3)
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    agree((u * s[:, None, :].astype(u.dtype)) @ vh, a)
    q, r = jnp.linalg.qr(a)
    agree(q @ r, a)
    square = matrix(dtype, 2, 4, 4)
    p, low, up = jax.scipy.linalg.lu(square[0])
    agree(p.astype(low.dtype) @ low @ up, square[0])
    symmetric = square + np.conj(np.swapaxes(square, 1, 2))
    w, v = jnp.linalg.eigh(symmetric)
    agree((v * w[:, None, :]) @ jnp.conj(v.mT), symmetric)
    positive = square @ np.conj(np.swapaxes(square, 1, 2)) + np.eye(4, dtype=dtype)
    c = jnp.linalg.cholesky(positive)
    agree(c @ jnp.conj(c.mT), positive)
    t, z = jax.scipy.linalg.schur(square[0])
    agree(z @ t @ jnp.conj(z.T), square[0])
    h, z = jax.scipy.linalg.hessenberg(square[0], calc_q=True)
    agree(z @ h @ jnp.conj(z.T), square[0])
    q, r, order = jax.scipy.linalg.qr(a[0], pivoting=True, mode="economic")
    agree(q @ r, a[0][:, np.asarray(order)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_of_a_general_matrix(dtype: Any) -> None:
    a = matrix(dtype, 4, 4)
    w, v = jnp.linalg.eig(a)
    agree(a @ v, np.asarray(v * w))


@pytest.mark.parametrize("dtype", DTYPES)
def test_solutions(dtype: Any) -> None:
    a, b = matrix(dtype, 2, 4, 4), matrix(dtype, 2, 4, 3)
    agree(jnp.linalg.solve(a, b), np.linalg.solve(a, b))
    low = np.tril(a) + 4 * np.eye(4, dtype=dtype)
    solved = jax.lax.linalg.triangular_solve(low, b, left_side=True, lower=True, transpose_a=True)
    agree(solved, np.linalg.solve(np.swapaxes(low, 1, 2), b))
    dl, d, du = (matrix(dtype, 2, 4) + 4 * k for k in (0, 1, 0))
    dl[:, 0] = du[:, -1] = 0
    dense = np.zeros((2, 4, 4), dtype)
    for i in range(4):
        dense[:, i, i] = d[:, i]
        if i:
            dense[:, i, i - 1], dense[:, i - 1, i] = dl[:, i], du[:, i - 1]
    agree(jax.lax.linalg.tridiagonal_solve(dl, d, du, b), np.linalg.solve(dense, b))


def test_gradient_and_vmap() -> None:
    a = matrix(np.float64, 3, 4, 4)
    gradient = jax.grad(lambda a: jnp.linalg.slogdet(a)[1].sum())(a)
    agree(gradient, np.swapaxes(np.linalg.inv(a), 1, 2))
    agree(jax.vmap(jnp.linalg.inv)(a), np.linalg.inv(a))


@pytest.mark.parametrize("shape", [(0, 0), (3, 0, 0), (0, 2, 2), (1, 1)])
def test_small_and_empty(shape: tuple[int, ...]) -> None:
    a = matrix(np.float32, *shape)
    assert jnp.linalg.inv(a).shape == shape
    assert jnp.linalg.eig(a)[1].shape == shape
    assert jnp.linalg.eigh(a)[1].shape == shape
    assert jnp.linalg.qr(a)[0].shape == shape


def test_program_that_comes_exported(tmp_path: Path) -> None:
    """Nothing emits its calls in the process that runs it, so nothing has loaded LAPACK there."""
    pytest.importorskip("flatbuffers")
    allowed = [jax.export.DisabledSafetyCheck.custom_call("lapack_dgetrf_ffi")]
    export = jax.export.export(jax.jit(jnp.linalg.inv), disabled_checks=allowed)
    exported = export(jax.ShapeDtypeStruct((2, 2), np.float64))
    file = tmp_path / "inverse"
    file.write_bytes(bytes(exported.serialize()))
    program = f"""
    import jax, numpy as np
    jax.config.update("jax_enable_x64", True)
    inverse = jax.export.deserialize(bytearray(open({str(file)!r}, "rb").read()))
    print(inverse.call(2 * np.eye(2)).tolist())
    """
    said = output_of(program, {"JAX_PLATFORMS": config.PLATFORM})
    assert said == "[[0.5, 0.0], [0.0, 0.5]]"
