"""The devices and memories that JAX sees."""

from __future__ import annotations

import jax
import pytest
from plugin_under_test import API_VERSION, capi, config, library

pytestmark = pytest.mark.foundational


# pitfall 75: the names in registration, client and lowering differ
def test_one_name_everywhere() -> None:
    """JAX_PLATFORMS, the client and its devices go by the name that the answers gave."""
    devices = jax.devices(config.PLATFORM)
    assert devices
    assert {device.platform for device in devices} == {config.PLATFORM}
    assert devices[0].client.platform == config.PLATFORM


def test_ids_are_unique_and_ascend() -> None:
    ids = [device.id for device in jax.devices(config.PLATFORM)]
    assert ids == sorted(set(ids))
    assert [device.process_index for device in jax.local_devices()] == [0] * len(ids)


def test_devices_describe_themselves() -> None:
    for device in jax.devices(config.PLATFORM):
        assert device.device_kind
        assert str(device.id) in str(device)
        assert repr(device)


def test_version_says_what_it_is() -> None:
    """For people, and part of the key of JAX's compilation cache."""
    version = jax.devices(config.PLATFORM)[0].client.platform_version
    assert version.strip()
    assert version not in ("0.0.0", "git", "unknown")


def test_memories() -> None:
    for device in jax.devices(config.PLATFORM):
        kinds = [memory.kind for memory in device.addressable_memories()]
        assert len(kinds) == len(set(kinds))
        assert device.default_memory().kind == kinds[0] == "device"
        assert all(str(memory) and repr(memory) for memory in device.addressable_memories())


def test_memory_stats() -> None:
    stats = jax.devices(config.PLATFORM)[0].memory_stats()
    if stats is not None:  # a device may keep none
        assert stats["bytes_in_use"] >= 0
        assert all(isinstance(value, int) for value in stats.values())


def test_library_reports_the_api_it_was_built_for() -> None:
    table = capi.read_function_table(library.find_library())
    assert table.api_version == API_VERSION
    assert len(table.slots) > 100
