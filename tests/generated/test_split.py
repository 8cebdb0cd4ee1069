"""``layout: split``: two wheels that are installed together, and what happens when they do not fit.

A core of another version is the same wheel with other numbers in it.
"""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.generated.conftest import STUB, make
from tests.generated.release import publish, repair
from tests.generated.runtime import LICENCES, check_grafted, device_kinds, linked
from tests.support.rendering import Renderer
from tools import plugins, wheel_checks
from tools.jaxlibs_matrix import REQUIREMENT

pytestmark = pytest.mark.slow

LIST = "import jax\nprint(jax.default_backend(), len(jax.devices('acme')))"
GO_ON = "import jax\nprint(jax.jit(abs)(-2))"


@pytest.fixture(scope="module")
def repository(render: Renderer, stub_repository: Path, stub_wheel: Path) -> Path:
    """The skeleton's repository made one of two packages, with its wheels in dist/.

    Its library is built already: what stays the same is left alone.
    """
    assert stub_wheel.is_file()  # kept before its repository becomes another one
    (stub_repository / "hatch_build.py").unlink()
    render.fresh({**STUB, "layout": "split"}, stub_repository)
    make(stub_repository, "build")
    return stub_repository


@pytest.fixture(scope="module")
def wheels(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel of Python files, and the core's."""
    kept = tmp_path_factory.mktemp("wheels")  # others change dist/
    found = [Path(shutil.copy(path, kept)) for path in (repository / "dist").glob("*.whl")]
    python, core = sorted(found, key=lambda path: "core" in path.name)
    return python, core


@pytest.fixture(scope="module")
def python(wheels: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with both wheels, jax and pytest."""
    home = tmp_path_factory.mktemp("environment")
    return plugins.environment(home / "venv", [*wheels, "jax", "pytest"], home / "pip.log")


def run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python outside of every checkout, with nothing set that steers JAX."""
    return subprocess.run(
        [python, *arguments],
        cwd=python.parent,
        env=plugins.clean_environ(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_wheels(repository: Path, wheels: tuple[Path, Path]) -> None:
    folder = repository / "src/acme_x1"
    modules = frozenset(path.name for path in folder.iterdir() if path.is_file())
    expected = [
        wheel_checks.Expected(
            "acme_x1",
            "",
            modules,
            REQUIREMENT,
            "acme_x1",
            core="jax-acme-core==0.1.0",
        ),
        wheel_checks.Expected(
            "acme_x1_core",
            "pjrt_plugin_acme_x1.so",
            frozenset({"__init__.py"}),
            "",
            build_paths=(str(repository),),
        ),
    ]
    found = [
        finding
        for wheel, wanted in zip(wheels, expected, strict=True)
        for finding in wheel_checks.check(wheel_checks.read(wheel), wanted)
    ]
    # The tag of this machine's own is no fault: the repair for uploads is cibuildwheel's.
    assert [finding for finding in found if "that can be uploaded" not in finding] == []


def test_a_release(repository: Path) -> None:
    """Both packages, from the wheels of this machine to the index."""
    make(repository, "build", "sdist")
    (core,) = (repository / "dist").glob("*_core-*.whl")
    repair(core)
    make(repository, "check-dist", "TAG=v0.1.0")
    make(repository, "test-installed", "PYTEST=tests/test_wheel.py tests/test_core.py")
    sent = publish(repository)
    assert sent == {path.name: path.read_bytes() for path in (repository / "dist").iterdir()}
    assert len(sent) == 4


def test_a_library_that_is_grafted(repository: Path, tmp_path: Path) -> None:
    """Into the core, which alone is of a platform."""
    with linked(repository, "core", tmp_path) as folder:
        make(repository, "build")
        (core,) = (repository / "dist").glob("*_core-*.whl")
        core = repair(core, folder)
        expected = wheel_checks.Expected(
            "acme_x1_core",
            "pjrt_plugin_acme_x1.so",
            frozenset({"__init__.py"}),
            "",
            build_paths=(str(folder), str(repository)),
            licences=LICENCES,
            components=frozenset({"acmert"}),
            libraries=frozenset({"libacmert.so.2"}),
        )
        check_grafted(core, expected)
        shutil.rmtree(folder)
        installed = sorted((repository / "dist").glob("*.whl"))
        assert device_kinds(installed, tmp_path) == "{'of libacmert'}\n"
    make(repository, "build")


def test_jax_runs_on_both(python: Path, repository: Path) -> None:
    done = run(python, "-c", LIST)
    assert done.stdout == "acme 4\n", done.stderr
    checked = run(python, "-m", "pip", "check")
    assert checked.returncode == 0, checked.stdout
    log = repository.parent / "pytest.log"
    names = [f"tests/test_{name}.py" for name in ("core", "wheel", "doctor")]
    plugins.run([python, "-m", "pytest", *names], log, cwd=repository)


def test_a_core_of_another_abi(python: Path, wheels: tuple[Path, Path], tmp_path: Path) -> None:
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"]
    other = tmp_path / wheels[1].name.replace("-0.1.0-", "-0.2.0-")
    with zipfile.ZipFile(wheels[1]) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith(("/METADATA", "/RECORD")):
                data = data.replace(b"0.1.0", b"0.2.0")
            if name.endswith("/__init__.py"):
                assert b"ABI: Final = 1\n" in data
                data = data.replace(b"ABI: Final = 1\n", b"ABI: Final = 2\n")
            new.writestr(name.replace("-0.1.0.", "-0.2.0."), data)
    assert run(python, *install, str(other)).returncode == 0
    assert "jax-acme 0.1.0 has requirement" in run(python, "-m", "pip", "check").stdout
    done = run(python, "-c", GO_ON)
    assert done.stdout == "2\n", done.stderr
    (said,) = done.stderr.strip().splitlines()
    assert (
        "acme devices are not available: CoreError: jax-acme 0.1.0 (private ABI 1) and "
        "jax-acme-core 0.2.0 (private ABI 2) do not fit together; python -m pip install "
        "--force-reinstall --no-deps jax-acme==0.1.0 jax-acme-core==0.1.0" in said
    )
    asked = run(python, "-c", LIST).stderr.strip().splitlines()[-1]
    assert "jax-acme-core 0.2.0 (private ABI 2)" in asked
    doctor = run(python, "-m", "acme_x1.doctor")
    assert (doctor.returncode, doctor.stdout.count("PROBLEM: ")) == (1, 1), doctor.stdout
    # The same number in another version works; the doctor speaks of it.
    text = "import acme_x1_core\nacme_x1_core.ABI = 1\n"
    assert run(python, "-c", text + LIST).stdout == "acme 4\n"

    assert run(python, *install, str(wheels[1])).returncode == 0
    assert run(python, "-c", LIST).stdout == "acme 4\n"


def test_without_the_core(python: Path, wheels: tuple[Path, Path]) -> None:
    pip = ["-m", "pip", "--quiet"]
    assert run(python, *pip, "uninstall", "--yes", "jax-acme-core").returncode == 0
    done = run(python, "-c", GO_ON)
    assert done.stdout == "2\n", done.stderr
    (said,) = done.stderr.strip().splitlines()
    assert "jax-acme-core 0.1.0, which is not installed" in said
    assert "python -m pip install jax-acme-core==0.1.0" in said
    assert run(python, *pip, "install", "--no-deps", str(wheels[1])).returncode == 0
