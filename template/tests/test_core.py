"""The core, which holds the plugin library: it fits this package, or the user hears what to do."""

from __future__ import annotations

import json
import re
from importlib import import_module, metadata
from pathlib import Path

import pytest
from plugin_under_test import config, core, library, plugin
from support import run_python

pytestmark = pytest.mark.ecosystem

CHECKOUT = Path(__file__).resolve().parents[1]
NOT_THERE = f"import sys\nsys.modules['{core.MODULE}'] = None\n"
OF_ANOTHER_ABI = f"import {core.MODULE}\n{core.MODULE}.ABI = 99\n"
PINS = [f"{name}=={plugin.__version__}" for name in (config.DISTRIBUTION, core.CORE_DISTRIBUTION)]
CASES = pytest.mark.parametrize(
    ("code", "said"),
    [
        (NOT_THERE, [core.CORE_DISTRIBUTION, "is not installed", PINS[1]]),
        (
            OF_ANOTHER_ABI,
            [
                f"{config.DISTRIBUTION} {plugin.__version__} (private ABI {core.ABI})",
                f"{core.CORE_DISTRIBUTION} {core.version()} (private ABI 99)",
                f"pip install --force-reinstall --no-deps {' '.join(PINS)}",
            ],
        ),
    ],
    ids=["not there", "another ABI"],
)


def test_both_have_the_same_number() -> None:
    """A change of what the two expect of each other raises the number in both."""
    assert import_module(core.MODULE).ABI == core.ABI
    assert core.version() == plugin.__version__
    assert core.advice() == ""


def test_pinned() -> None:
    required = metadata.distribution(config.DISTRIBUTION).requires or []
    assert PINS[1] in [requirement.replace(" ", "") for requirement in required]


def test_wheel() -> None:
    distribution = metadata.distribution(core.CORE_DISTRIBUTION)
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        pytest.skip("installed as editable")
    tags = re.findall(r"^Tag: (.*)$", distribution.read_text("WHEEL") or "", re.M)
    assert tags
    assert all(re.fullmatch(r"py3-none-(manylinux|linux|macosx|win).*", tag) for tag in tags), tags
    files = {str(file) for file in distribution.files or []}
    assert any(file.endswith("licenses/LICENSE") for file in files)
    assert any(file.endswith(f"/sboms/{core.CORE_DISTRIBUTION}.cdx.json") for file in files)
    # Beside the metadata and the module there is only what auditwheel grafts.
    beside = re.compile(r"[^/]+\.(dist-info|libs)/|.*__pycache__")
    assert {file for file in files if not beside.match(file)} == {
        f"{core.MODULE}/__init__.py",
        f"{core.MODULE}/{config.LIBRARY_NAME}",
    }


@pytest.mark.skipif(not (CHECKOUT / "core").is_dir(), reason="not in a checkout")
def test_licences() -> None:
    """The core's wheel carries what the other one does, and can take it from core/ alone."""
    texts = {path.name: path.read_bytes() for path in CHECKOUT.glob("LICENSE*")}
    assert "LICENSE" in texts
    copies = {path.name: path.read_bytes() for path in (CHECKOUT / "core").glob("LICENSE*")}
    other = [name for name, text in texts.items() if copies.get(name) != text]
    assert not other, f"run: cp {' '.join(other)} core/"


@CASES
def test_the_cpu_goes_on_and_the_user_hears_it(code: str, said: list[str]) -> None:
    result = run_python(code + "import jax\nprint(jax.devices()[0].platform)")
    assert result.stdout.strip() == "cpu", result.stderr
    (line,) = result.stderr.strip().splitlines()
    assert f"{config.PLATFORM} devices are not available: CoreError: " in line
    assert [words for words in said if words not in line] == []
    asked = run_python(code + f"import jax\njax.devices('{config.PLATFORM}')")
    assert said[-1] in asked.stderr.strip().splitlines()[-1], "who asks hears the cause"


@CASES
def test_doctor(code: str, said: list[str]) -> None:
    code += f"from {config.MODULE} import doctor\nraise SystemExit(doctor.main([]))"
    result = run_python(code)
    assert result.returncode == 1
    (line,) = (x for x in result.stdout.splitlines() if x.startswith("PROBLEM: "))
    assert [words for words in said if words not in line] == []


def test_doctor_speaks_of_another_version() -> None:
    code = f"""
    from {config.MODULE} import _core, doctor
    _core.version = lambda: "0.0.1"
    raise SystemExit(doctor.main([]))
    """
    result = run_python(code)
    assert result.returncode == 1, result.stdout
    (line,) = (x for x in result.stdout.splitlines() if x.startswith("PROBLEM: "))
    assert "0.0.1" in line
    assert " ".join(PINS) in line


def test_a_library_of_the_users_needs_no_core() -> None:
    code = NOT_THERE + f"import jax\nprint(jax.devices('{config.PLATFORM}')[0].platform)"
    named = {config.LIBRARY_PATH_VARIABLE: str(library.find_library())}
    assert run_python(code, named).stdout.strip() == config.PLATFORM
