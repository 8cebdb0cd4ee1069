"""A jax that the plugin was not tested with is spoken of once, with the command that helps."""

from __future__ import annotations

import jax
import pytest
from plugin_under_test import config, tested_jax
from support import run_python

pytestmark = pytest.mark.ecosystem

OLDEST, BELOW = (".".join(map(str, bound)) for bound in config.TESTED_JAX)
MAJOR, NEXT = config.TESTED_JAX[1][:2]
PIP = f'python -m pip install "jax>={OLDEST},<{BELOW}"'


@pytest.mark.parametrize(
    "version",
    [
        OLDEST,
        f"{OLDEST}.1",
        f"{OLDEST}.post1",
        f"{OLDEST}+vendor.3",
        f"{MAJOR}.{NEXT - 1}.99",
        f"{MAJOR}.{NEXT - 1}.99.dev20991231+abc",
        f"{MAJOR}.{NEXT - 1}.99rc1",
    ],
)
def test_tested(version: str) -> None:
    assert tested_jax.advice(version) == ""


@pytest.mark.parametrize(
    ("version", "versus"),
    [
        (f"{MAJOR}.0.99", "older"),
        (f"{OLDEST}rc1", "older"),
        (f"{OLDEST}.dev20991231", "older"),
        (BELOW, "newer"),
        (f"{BELOW}.0", "newer"),
        (f"{BELOW}.0.dev20991231", "newer"),  # its API may be the new one already
        (f"{MAJOR + 1}.0.0", "newer"),
        ("unknown", "other"),
    ],
)
def test_untested(version: str, versus: str) -> None:
    advice = tested_jax.advice(version)
    assert advice.startswith(f"jax {version} is {versus} than {config.DISTRIBUTION} ")
    assert PIP in advice
    upgrade = f"python -m pip install -U {config.DISTRIBUTION}"
    assert (upgrade in advice) == (versus == "newer")


def warnings(version: str) -> list[str]:
    """What a program hears whose jax says that it is of this version."""
    code = f"""
    import jax
    jax.__version__ = {version!r}
    print(jax.devices("cpu"))
    """
    result = run_python(code)
    assert result.returncode == 0, result.stderr
    return [line for line in result.stderr.splitlines() if config.DISTRIBUTION in line]


@pytest.mark.parametrize("version", [f"{MAJOR}.0.99", f"{BELOW}.0", f"{BELOW}.0.dev20991231"])
def test_one_warning(version: str) -> None:
    said = warnings(version)
    assert len(said) == 1
    assert PIP in said[0]


def test_quiet_otherwise() -> None:
    assert warnings(OLDEST) == []
    if not tested_jax.advice(jax.__version__):
        assert warnings(jax.__version__) == []


def test_said_with_what_is_wrong() -> None:
    """A jax that moved what the plugin needs: one warning has both, the cause and the command."""
    code = f"""
    import jax
    from jax._src import xla_bridge
    jax.__version__ = "{BELOW}.0"
    xla_bridge.register_plugin = None
    print(jax.devices()[0].platform)
    """
    result = run_python(code)
    assert result.stdout.strip() == "cpu", result.stderr
    (said,) = result.stderr.strip().splitlines()
    assert "TypeError" in said
    assert PIP in said
