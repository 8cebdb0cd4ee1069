"""The package under test, and the answers on which what it must do depends."""

from __future__ import annotations

from typing import Final

import jax_plugins.mychip as plugin
from jax_plugins.mychip import _capi as capi
from jax_plugins.mychip import _config as config
from jax_plugins.mychip import _jax_compat as jax_compat
from jax_plugins.mychip import _jax_patches as jax_patches
from jax_plugins.mychip import _jax_rules as jax_rules
from jax_plugins.mychip import _library as library
from jax_plugins.mychip import _preload as preload
from jax_plugins.mychip import _register as register
from jax_plugins.mychip import _tested_jax as tested_jax
from jax_plugins.mychip import doctor

# reference_cpu runs programs, stub does not, own may do either.
BACKEND: Final[str] = "reference_cpu"
DEFAULT_NUM_DEVICES: Final = 4
API_VERSION: Final = (0, 116)

__all__ = [
    "API_VERSION",
    "BACKEND",
    "DEFAULT_NUM_DEVICES",
    "capi",
    "config",
    "doctor",
    "jax_compat",
    "jax_patches",
    "jax_rules",
    "library",
    "plugin",
    "preload",
    "register",
    "tested_jax",
]
