"""
What PyTorch/XLA asks to find the plugin library, through the entry point ``torch_xla.plugins``.

``PJRT_DEVICE``, set to the platform's name in capitals, makes a program run on the devices. Nothing
here is imported by JAX, and importing ``torch_xla`` alone loads no library and touches no device.
"""

from __future__ import annotations

import os

from torch_xla.experimental import plugins

from . import vendor_libraries
from ._config import ENV_PREFIX
from ._library import find_library
from ._preload import preload

_VISIBLE_DEVICES = ENV_PREFIX + "VISIBLE_DEVICES"


class DevicePlugin(plugins.DevicePlugin):  # type: ignore[misc]  # torch_xla has no types
    """
    The platform's devices for PyTorch/XLA.

    One process drives all devices of the machine, as JAX does: ``torch_xla.runtime.use_spmd()``
    spreads a program over them.
    """

    def library_path(self) -> str:
        """
        Returns the path of the plugin library. Called once, before the client is made.

        Raises LibraryNotFoundError or VendorLibraryError.
        """
        # PyTorch/XLA compiles from HLO unless this says StableHLO, which is what the plugin reads.
        # It is read at each compilation. A value that the user has set stays.
        os.environ.setdefault("XLA_STABLEHLO_COMPILE", "1")
        preload(vendor_libraries.VENDOR_LIBRARIES)
        return str(find_library())

    def configure_single_process(self) -> None:
        """Leaves one device to a process that is to be alone, for debugging."""
        os.environ.setdefault(_VISIBLE_DEVICES, "0")

    def configure_multiprocess(self, local_rank: int, local_world_size: int) -> None:
        """Gives each process of ``torchrun`` a device of its own."""
        if local_world_size > 1:
            os.environ.setdefault(_VISIBLE_DEVICES, str(local_rank))
