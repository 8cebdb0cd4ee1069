"""The plugin beside jax, TensorFlow, torch and torch_xla in one environment and in one process."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from tests.frameworks.conftest import output_of
from tools import plugins

pytestmark = pytest.mark.long

PROGRAM = Path(__file__).with_name("together.py")
NAMES = ("jax", "tensorflow", "torch", "plugin")
WITH_TORCH_XLA = ("jax", "torch_xla", "plugin")
ON_DEVICE = {"PJRT_DEVICE": "MYCHIP"}

ALONE = """
import sys
import tensorflow as tf
from tensorflow.python.framework import load_library
from jax_plugins.mychip import _library

load_library.load_pluggable_device_library(str(_library.find_library()))
print([device.device_type for device in tf.config.list_physical_devices()])
"""


def test_pip_check(python: Path) -> None:
    assert output_of(python, ["-m", "pip", "check"]) == "No broken requirements found."


# pitfall 42: symbols of the plugin and of another library in the process take each other's place
@pytest.mark.parametrize("order", permutations(NAMES), ids="-".join)
def test_every_order(order: tuple[str, ...], python: Path) -> None:
    assert output_of(python, [PROGRAM, *order]).endswith("all work")


def test_tensorflow_shows_no_devices_of_the_library_alone(python: Path) -> None:
    """When this fails, TensorFlow has learnt to use a PJRT plugin: docs/frameworks.md says no."""
    assert output_of(python, ["-c", ALONE]) == "['CPU']"


def test_pip_check_with_torch_xla(python_with_torch_xla: Path) -> None:
    said = output_of(python_with_torch_xla, ["-m", "pip", "check"])
    assert said == "No broken requirements found."


# pitfall 42: symbols of the plugin and of another library in the process take each other's place
@pytest.mark.parametrize("order", permutations(WITH_TORCH_XLA), ids="-".join)
def test_every_order_with_torch_xla(order: tuple[str, ...], python_with_torch_xla: Path) -> None:
    """JAX and PyTorch/XLA each make a client of the same library."""
    said = output_of(python_with_torch_xla, [PROGRAM, *order], ON_DEVICE)
    assert said.endswith("all work")


def test_the_repositorys_own_tests(
    repository: Path, python_with_torch_xla: Path, tmp_path: Path
) -> None:
    """Its tests of PyTorch/XLA, none of them skipped."""
    tests: list[str | Path] = [python_with_torch_xla, "-m", "pytest", "tests/test_pytorch_xla.py"]
    log = tmp_path / "pytest.log"
    plugins.run(tests, log, cwd=repository)
    assert "skipped" not in log.read_text(encoding="utf-8").splitlines()[-1]
