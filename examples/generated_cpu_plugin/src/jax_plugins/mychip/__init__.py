"""
Mychip PJRT plugin.

JAX finds this package by itself and calls :func:`initialize`; a program has nothing to import. When
its devices do not show up, ``python -m jax_plugins.mychip.doctor`` says why.
"""

from __future__ import annotations

from ._register import initialize
from ._version import __version__

__all__ = ["__version__", "initialize"]
