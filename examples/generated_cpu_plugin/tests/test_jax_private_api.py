"""
The names that _jax_compat.py takes from JAX's private modules are still there, and mean the same.

When a test here fails with a new jax, that release needs a change in _jax_compat.py.
"""

from __future__ import annotations

import inspect

import jax
import pytest
from jax._src import xla_bridge
from jax._src.lib import xla_client
from plugin_under_test import config, jax_compat

pytestmark = pytest.mark.ecosystem


def test_register_plugin_takes_what_we_pass() -> None:
    parameters = inspect.signature(xla_bridge.register_plugin).parameters
    assert next(iter(parameters)) == "plugin_name"
    assert {"library_path", "priority", "options"} <= set(parameters)


def test_list_of_factories() -> None:
    jax.devices(config.PLATFORM)
    assert isinstance(xla_bridge._backend_factories, dict)
    assert jax_compat.is_registered(config.PLATFORM)
    assert not jax_compat.is_registered("no_such_platform")


def test_switch_for_quiet_failure() -> None:
    jax.devices(config.PLATFORM)
    registration = xla_bridge._backend_factories[config.PLATFORM]
    assert registration.fail_quietly is True, "set by initialize()"
    assert registration.priority == config.PRIORITY
    assert jax_compat.let_it_fail_quietly(config.PLATFORM)
    assert not jax_compat.let_it_fail_quietly("no_such_platform")


def test_handlers_of_foreign_functions() -> None:
    for register in (
        xla_client.register_custom_call_handler,
        xla_client.register_custom_type_handler,
    ):
        assert list(inspect.signature(register).parameters) == ["platform", "handler"]
    # They got the platform's handlers from initialize().
    jax.devices(config.PLATFORM)
    for attribute in ("_custom_callback_handler", "_custom_type_id_handler"):
        assert config.PLATFORM in getattr(xla_client, attribute)


def test_requested_platforms() -> None:
    assert jax_compat.requested_platforms() == (jax.config.jax_platforms or "")


def test_platforms_from_environment_reads_like_jax() -> None:
    text = "one:/lib/one.so,two:/lib/two.json"
    assert jax_compat.platforms_from_environment({"PJRT_NAMES_AND_LIBRARY_PATHS": text}) == list(
        xla_bridge._get_pjrt_plugin_names_and_library_paths(text)
    )
    assert jax_compat.platforms_from_environment({}) == []
