"""JAX finds the plugin by itself, once, at no cost, and lives on when the plugin cannot serve."""

from __future__ import annotations

from pathlib import Path

import pytest
from plugin_under_test import BACKEND, DEFAULT_NUM_DEVICES, config, jax_compat, plugin, register
from support import output_of, run_python

pytestmark = pytest.mark.foundational

VARIABLE = config.LIBRARY_PATH_VARIABLE

# Notes in `loaded` each time that JAX loads our library from here on.
COUNT_LOADS = f"""
from jax._src import xla_bridge
loaded = []
load = xla_bridge.xla_client.load_pjrt_plugin_dynamically
def counting(name, path):
    if name == "{config.PLATFORM}":
        loaded.append(name)
    return load(name, path)
xla_bridge.xla_client.load_pjrt_plugin_dynamically = counting
"""


def test_found_and_registered_once() -> None:
    code = COUNT_LOADS + "import jax\njax.devices('cpu')\nprint(loaded)"
    assert output_of(code) == f"['{config.PLATFORM}']"


def test_default_backend_follows_priority() -> None:
    result = run_python("import jax\nprint(jax.default_backend())")
    assert result.stdout.strip() == (config.PLATFORM if config.PRIORITY > 0 else "cpu")


def test_number_of_devices_as_answered() -> None:
    if BACKEND == "own":
        pytest.skip("a backend of your own may have any number")
    code = f"import jax\nprint(len(jax.devices('{config.PLATFORM}')))"
    assert output_of(code) == str(DEFAULT_NUM_DEVICES)


# pitfall 24: the plugin is registered twice, under two names
def test_initialize_is_idempotent_and_makes_no_client() -> None:
    code = COUNT_LOADS + (
        f"import {config.MODULE} as plugin\n"
        "plugin.initialize()\n"
        "plugin.initialize()\n"
        "xla_bridge.discover_pjrt_plugins()\n"
        "print(loaded, len(xla_bridge._backends))"
    )
    result = run_python(code)
    assert result.stdout.strip() == f"['{config.PLATFORM}'] 0"
    assert result.stderr == ""


def test_import_is_cheap() -> None:
    code = f"import sys, {config.MODULE}\nprint('jax' in sys.modules, 'numpy' in sys.modules)"
    assert output_of(code) == "False False"


# pitfall 27: the hardware is touched although another platform was asked for
def test_jax_platforms_without_us_leaves_the_library_alone() -> None:
    code = COUNT_LOADS + "import jax\nprint(jax.devices()[0].platform, loaded)"
    assert output_of(code, {"JAX_PLATFORMS": "cpu"}) == "cpu []"


def test_platforms_set_by_the_program_count_too() -> None:
    code = COUNT_LOADS + (
        "import jax\njax.config.update('jax_platforms', 'cpu')\njax.devices()\nprint(loaded)"
    )
    assert output_of(code) == "[]"


def test_registration_by_environment_is_left_to_jax() -> None:
    from plugin_under_test import library

    code = COUNT_LOADS + "import jax\nprint(jax.devices()[0].platform, loaded)"
    environ = {
        "PJRT_NAMES_AND_LIBRARY_PATHS": f"{config.PLATFORM}:{library.find_library()}",
        "JAX_PLATFORMS": config.PLATFORM,
    }
    result = run_python(code, environ)
    assert result.stdout.strip() == f"{config.PLATFORM} ['{config.PLATFORM}']"
    assert "ALREADY_EXISTS" not in result.stderr


# pitfall 26: a missing vendor library breaks every program
def test_missing_library_leaves_the_cpu_working(tmp_path: Path) -> None:
    code = "import jax, jax.numpy as jnp\nprint(jax.default_backend(), int(jnp.add(1, 1)))"
    missing = str(tmp_path / "missing.so")
    result = run_python(code, {VARIABLE: missing})
    assert result.stdout.strip() == "cpu 2", result.stderr
    warnings = [line for line in result.stderr.splitlines() if missing in line]
    assert len(warnings) == 1, result.stderr
    assert f"python -m {config.MODULE}.doctor" in warnings[0]
    assert "Traceback" not in result.stderr
    asked = run_python(f"import jax\njax.devices('{config.PLATFORM}')", {VARIABLE: missing})
    assert missing in asked.stderr.strip().splitlines()[-1], "who asks hears the cause"


def test_foreign_library_leaves_the_cpu_working(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.so"
    foreign.write_bytes(b"not a library")
    code = "import jax\nprint(jax.default_backend())"
    result = run_python(code, {config.LIBRARY_PATH_VARIABLE: str(foreign)})
    assert result.stdout.strip() == "cpu", result.stderr
    assert "Traceback" not in result.stderr


# pitfall 25: where there is no device, programs on the CPU fail too
@pytest.mark.skipif(BACKEND == "own", reason="provoked by an option of the skeleton")
@pytest.mark.parametrize(
    ("devices", "cause"),
    [("0", "found no device"), ("none", config.ENV_PREFIX + "NUM_DEVICES")],
    ids=["no device", "no client"],
)
def test_no_device_leaves_the_cpu_working_and_quiet(devices: str, cause: str) -> None:
    environ = {config.ENV_PREFIX + "NUM_DEVICES": devices}
    code = "import jax\nprint(jax.devices()[0].platform, int(jax.jit(abs)(-2)))"
    result = run_python(code, environ)
    assert (result.stdout, result.stderr) == ("cpu 2\n", "")
    result = run_python(f"import jax\njax.devices('{config.PLATFORM}')", environ)
    assert result.returncode != 0
    verdict = result.stderr.strip().splitlines()[-1]
    assert f"Backend '{config.PLATFORM}' failed to initialize" in verdict
    assert cause in verdict


@pytest.mark.skipif(BACKEND == "own", reason="provoked by an option of the skeleton")
@pytest.mark.parametrize("devices", ["0", "none"])
def test_failure_is_loud_when_the_platform_is_asked_for(devices: str) -> None:
    environ = {
        config.ENV_PREFIX + "NUM_DEVICES": devices,
        "JAX_PLATFORMS": f"{config.PLATFORM},cpu",
    }
    result = run_python("import jax\njax.devices()", environ)
    assert result.returncode != 0
    assert f"Unable to initialize backend '{config.PLATFORM}'" in result.stderr


def test_experimental_is_said_only_of_devices_that_are_there() -> None:
    """JAX says so of every platform that it does not know, before it knows whether there is one."""
    said = f"Platform '{config.PLATFORM}' is experimental"
    result = run_python("import jax\njax.devices()", {"JAX_PLATFORMS": config.PLATFORM})
    assert result.returncode == 0, result.stderr
    assert [said in line for line in result.stderr.splitlines()] == [True]


@pytest.mark.parametrize("jax_takes_it", [True, False])
def test_initialize_never_raises(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, jax_takes_it: bool
) -> None:
    told: list[str] = []

    def explode() -> str:
        raise RuntimeError("the cause,\non two lines")

    def tell(platform: str, priority: int, cause: str) -> None:
        if not jax_takes_it:
            raise AttributeError("a private name that is gone")
        told.append(cause)

    monkeypatch.setattr(register, "register", explode)
    monkeypatch.setattr(jax_compat, "register_failure", tell)
    plugin.initialize()
    assert len(caplog.records) == 1
    assert "RuntimeError: the cause, on two lines" in caplog.text
    assert told == ["RuntimeError: the cause,\non two lines"] * jax_takes_it
