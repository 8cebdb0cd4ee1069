"""The names that the answers gave, and the versions of jax that the plugin was tested with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

# The name under which JAX knows the devices. The library says the same; a test compares them.
PLATFORM: Final = "mychip"
MODULE: Final = "jax_plugins.mychip"
DISTRIBUTION: Final = "mychip-pjrt"
DISCOVERY: Final[str] = "both"  # namespace, entry_point or both
# In JAX's choice of the default backend: cpu has 0, cuda and rocm 200, tpu 300.
PRIORITY: Final = 500

# From the first version to below the second, as in pyproject.toml; a test compares.
TESTED_JAX: Final = ((0, 10, 2), (0, 13))

PACKAGE_FOLDER: Final = Path(__file__).resolve().parent
LIBRARY_SUFFIX: Final = ".dll" if sys.platform == "win32" else ".so"
LIBRARY_NAME: Final = "pjrt_plugin_mychip" + LIBRARY_SUFFIX

ENV_PREFIX: Final = "MYCHIP_"
LIBRARY_PATH_VARIABLE: Final = ENV_PREFIX + "LIBRARY_PATH"
RUNTIME_PATH_VARIABLE: Final = ENV_PREFIX + "RUNTIME_PATH"
PATCHES_VARIABLE: Final = ENV_PREFIX + "JAX_PATCHES"
# All variables that the plugin reads, with what they do. The doctor shows those in force.
ENVIRONMENT: Final = {
    LIBRARY_PATH_VARIABLE: "path of another build of the plugin library",
    PATCHES_VARIABLE: "1: change JAX where it does things for platforms on its own lists only",
    RUNTIME_PATH_VARIABLE: "folders of the vendor's runtime libraries, instead of all other places",
    ENV_PREFIX + "NUM_DEVICES": "how many devices the simulated machine has",
    ENV_PREFIX + "MEMORY_BYTES": "bytes of memory of each simulated device",
    ENV_PREFIX + "VISIBLE_DEVICES": "ids of the devices to show, separated by commas",
    ENV_PREFIX + "DUMP": "folder into which each compiled program is written",
    ENV_PREFIX + "TRACE": "file into which each call of the plugin is written",
    ENV_PREFIX + "FORCE_ISA": "instruction set of the CPU kernels instead of the best one",
}
