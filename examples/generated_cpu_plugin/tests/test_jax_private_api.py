"""
The names that _jax_compat.py takes from JAX's private modules are still there, and mean the same.

When a test here fails with a new jax, that release needs a change in _jax_compat.py. The other
modules that take such names are named like it, and have tests of their own.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import jax
import pytest
from jax._src import xla_bridge
from jax._src.lib import xla_client
from plugin_under_test import config, jax_compat
from support import run_python

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


def test_registration_of_a_failure() -> None:
    """A platform that cannot be used fails with its cause, and only for who asks for it."""
    parameters = inspect.signature(xla_bridge.register_backend_factory).parameters
    assert list(parameters)[:2] == ["name", "factory"]
    assert {"priority", "fail_quietly"} <= set(parameters)
    code = """
    import jax
    from {module} import _jax_compat
    _jax_compat.register_failure("no_such_platform", 999, "the cause")
    print(jax.devices()[0].platform)
    jax.devices("no_such_platform")
    """
    result = run_python(code.format(module=config.MODULE), {config.ENV_PREFIX + "NUM_DEVICES": "1"})
    assert result.stdout.strip() in (config.PLATFORM, "cpu")
    assert "'no_such_platform' failed to initialize: the cause" in result.stderr


def test_warning_of_experimental_platforms_waits_for_a_client() -> None:
    jax.devices(config.PLATFORM)
    registration = xla_bridge._backend_factories[config.PLATFORM]
    assert registration.experimental is False, "set by initialize(), which warns itself"
    assert callable(registration.factory)


def test_private_names_are_used_where_tests_pin_them() -> None:
    """In the modules _jax_*.py, each name in the test of its module."""
    package = Path(jax_compat.__file__).parent
    users = [path.stem for path in package.glob("*.py") if "jax._src" in path.read_text("utf-8")]
    assert [name for name in users if not name.startswith("_jax_")] == []
    for name in users:
        code = (package / f"{name}.py").read_text("utf-8")
        test = Path(__file__).with_name(f"test{name}.py")
        pinned = (test if test.exists() else Path(__file__)).read_text("utf-8")
        modules = re.findall(r"from jax\._src[\w.]* import ([\w, ]+)", code)
        imported = {part.split(" as ")[-1] for line in modules for part in line.split(", ")}
        used = re.findall(rf"\b(?:{'|'.join(sorted(imported))})\.(\w+)", code)
        assert used != []
        assert [one for one in used if one not in pinned] == [], name


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
