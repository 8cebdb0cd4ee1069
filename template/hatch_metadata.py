"""
Metadata hook: the wheel of Python files requires the core, in the version that it has itself.

So the version stays in one place, ``_version.py``.
"""

from __future__ import annotations

from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class PinnedCore(MetadataHookInterface):
    """Adds the core to the dependencies that pyproject.toml lists."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fills in ``dependencies``. Not called where a source distribution has them already."""
        pin = f"{self.config['core']}=={metadata['version']}"
        metadata["dependencies"] = [*self.config["dependencies"], pin]
