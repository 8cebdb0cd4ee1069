"""``python -m <module>.doctor`` says what is so, and what to do when it is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from plugin_under_test import API_VERSION, config, doctor, plugin
from support import run_python

pytestmark = pytest.mark.ecosystem


def report(environ: dict[str, str | None] | None = None) -> tuple[int, dict[str, Any]]:
    code = f"import sys\nfrom {config.MODULE} import doctor\nsys.exit(doctor.main(['--json']))"
    result = run_python(code, environ)
    return result.returncode, json.loads(result.stdout)


def test_healthy() -> None:
    status, found = report()
    assert (status, found["problems"]) == (0, [])
    assert found["plugin"] == plugin.__version__
    assert found["pjrt_api_version"] == "{}.{}".format(*API_VERSION)
    assert found["registration"] == "registered"
    assert found["devices"]
    assert found["routes"]


def test_text_ends_in_a_verdict() -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"{config.MODULE}.doctor"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1].startswith("All is well")


# pitfall 77: a plugin that is not found is an unknown backend, without a reason
def test_missing_library(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.so")
    status, found = report({config.LIBRARY_PATH_VARIABLE: missing})
    assert status == 1
    assert found["environment"] == {config.LIBRARY_PATH_VARIABLE: missing}
    assert missing in found["problems"][0]
    assert config.LIBRARY_PATH_VARIABLE in found["problems"][0]


def test_library_that_the_loader_refuses(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.so"
    foreign.write_bytes(b"not a library")
    status, found = report({config.LIBRARY_PATH_VARIABLE: str(foreign)})
    assert status == 1
    assert "loader refuses" in found["problems"][0]
    assert str(foreign) in found["problems"][0]


def test_library_that_is_no_plugin() -> None:
    import _ctypes

    status, found = report({config.LIBRARY_PATH_VARIABLE: _ctypes.__file__})
    assert status == 1
    assert "exports no GetPjrtApi" in found["problems"][0]


def test_platform_left_out() -> None:
    status, found = report({"JAX_PLATFORMS": "cpu"})
    assert status == 1
    assert "unset JAX_PLATFORMS" in found["problems"][0]


def test_counts_what_waits_for_the_vendor(tmp_path: Path) -> None:
    vendor = tmp_path / "csrc" / "vendor"
    vendor.mkdir(parents=True)
    (vendor / "a.cc").write_text("// VENDOR: one\n// VENDOR: two\n")
    assert doctor.count_vendor_marks(tmp_path) == 2
    assert doctor.count_vendor_marks(None) is None
