"""Where the template and its registry lie: in the checkout, or in the installed package."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_BUNDLE = _PACKAGE / "_bundle"

IS_INSTALLED = _BUNDLE.is_dir()
"""Whether a wheel brought this package, and with it a template that has no history."""

TEMPLATE = _BUNDLE if IS_INSTALLED else _PACKAGE.parent
"""A folder with copier.yml, template/ and pjrt_scaffold/registry/."""

REGISTRY = TEMPLATE / "pjrt_scaffold" / "registry"
"""The registry's data; in a wheel only here, where the template includes it from."""
