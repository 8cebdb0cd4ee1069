"""
PyTorch/XLA finds the plugin library and runs on it.

The way to the library is tested with a stand-in for torch_xla, the rest where torch_xla itself is
installed, with its torch: ``pip install "torch_xla==2.9.*" "torch==2.9.*"``.
"""

from __future__ import annotations

import importlib.util
from importlib import metadata

import pytest
from plugin_under_test import config, library
from support import output_of

pytestmark = pytest.mark.ecosystem

needs_torch_xla = pytest.mark.skipif(
    importlib.util.find_spec("torch_xla") is None, reason="torch_xla is not installed"
)

STAND_IN = """
import os, sys, types

class Base:
    pass

for name in ("torch_xla", "torch_xla.experimental", "torch_xla.experimental.plugins"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["torch_xla.experimental"].plugins = sys.modules["torch_xla.experimental.plugins"]
sys.modules["torch_xla.experimental.plugins"].DevicePlugin = Base
"""

USE = f"""
from importlib import metadata

(entry,) = [
    entry for entry in metadata.entry_points(group="torch_xla.plugins")
    if entry.name == {config.PLATFORM!r}
]
plugin = entry.load()()
assert "jax" not in sys.modules
assert "XLA_STABLEHLO_COMPILE" not in os.environ
"""

ON_DEVICE = {"PJRT_DEVICE": config.PLATFORM.upper()}


def test_entry_point() -> None:
    entries = metadata.entry_points(group="torch_xla.plugins")
    (entry,) = (entry for entry in entries if entry.name == config.PLATFORM)
    assert entry.value == f"{config.MODULE}.pytorch_xla:DevicePlugin"


def test_path_of_the_library() -> None:
    asked = "print(plugin.library_path(), os.environ['XLA_STABLEHLO_COMPILE'])"
    assert output_of(STAND_IN + USE + asked) == f"{library.find_library()} 1"


def test_choice_of_the_user_stays() -> None:
    asked = "os.environ['XLA_STABLEHLO_COMPILE'] = '0'; plugin.library_path()\n"
    asked += "print(os.environ['XLA_STABLEHLO_COMPILE'])"
    assert output_of(STAND_IN + USE + asked) == "0"


def test_one_device_for_a_process() -> None:
    variable = config.ENV_PREFIX + "VISIBLE_DEVICES"
    alone = f"plugin.configure_single_process(); print(os.environ[{variable!r}])"
    assert output_of(STAND_IN + USE + alone) == "0"
    second = f"plugin.configure_multiprocess(1, 2); print(os.environ[{variable!r}])"
    assert output_of(STAND_IN + USE + second) == "1"
    only = f"plugin.configure_multiprocess(0, 1); print(os.environ.get({variable!r}))"
    assert output_of(STAND_IN + USE + only) == "None"


@needs_torch_xla
def test_arrays_come_and_go() -> None:
    code = """
import torch, torch_xla

x = torch.arange(6.0).reshape(2, 3).to("xla")
print(torch_xla.runtime.device_type(), x.device.type, x.cpu().tolist())
"""
    said = output_of(code, ON_DEVICE)
    assert said == f"{config.PLATFORM.upper()} xla [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]"


@needs_torch_xla
@pytest.mark.needs_compiler
@pytest.mark.parametrize("devices", [1, 2])
def test_a_network_learns(devices: int) -> None:
    code = """
import torch, torch_xla

torch.manual_seed(0)
layers = torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)
model = torch.nn.Sequential(*layers).to("xla")
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
x, labels = torch.randn(32, 8).to("xla"), torch.randint(0, 3, (32,)).to("xla")
losses = []
for _ in range(20):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    optimizer.step()
    torch_xla.sync()
    losses.append(loss.item())
print(losses[-1] < losses[0] / 2)
"""
    environ = {**ON_DEVICE, config.ENV_PREFIX + "NUM_DEVICES": str(devices)}
    assert output_of(code, environ) == "True"


@needs_torch_xla
@pytest.mark.needs_compiler
def test_one_program_on_several_devices() -> None:
    code = """
import numpy as np
import torch, torch_xla
import torch_xla.distributed.spmd as spmd

torch_xla.runtime.use_spmd()
count = torch_xla.runtime.global_runtime_device_count()
x = torch.arange(32.0).reshape(8, 4).to("xla")
spmd.mark_sharding(x, spmd.Mesh(np.arange(count), (count,), ("rows",)), ("rows", None))
print(count, (x @ torch.ones(4, 3).to("xla")).sum().item())
"""
    environ = {**ON_DEVICE, config.ENV_PREFIX + "NUM_DEVICES": "4"}
    assert output_of(code, environ) == "4 1488.0"
