"""
Tests of your own devices. This folder is yours: no update touches it.

VENDOR: write here what your hardware must do beyond the common tests, and remove this sample.
"""

from __future__ import annotations

import jax
import pytest
from plugin_under_test import config

pytestmark = pytest.mark.core


def test_device_kind() -> None:
    assert {device.device_kind for device in jax.devices(config.PLATFORM)}
