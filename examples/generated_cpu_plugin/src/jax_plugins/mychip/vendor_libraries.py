"""
The vendor's runtime libraries that the plugin library needs. Yours: no update touches this file.

They are loaded in this order, those first that the others need, before the plugin library. Where
one is missing, JAX goes on with its other devices, and who asks for these hears what was
looked for and where. docs/development.md says how a library is found. For example:

    VendorLibrary(
        name="libvendor_driver.so.1",
        folders=("$VENDOR_HOME/lib",),
        cure="install the driver of the device",
    ),
    VendorLibrary(
        name="libvendor_runtime.so.2",
        package="vendor_runtime",
        cure="pip install vendor-runtime",
    ),
"""

from __future__ import annotations

from typing import Final

from ._preload import VendorLibrary

VENDOR_LIBRARIES: Final[tuple[VendorLibrary, ...]] = ()
