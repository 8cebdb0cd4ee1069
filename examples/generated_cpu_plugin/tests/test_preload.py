"""The vendor's runtime libraries: where they are looked for, in which order, and what is said."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from plugin_under_test import config, preload
from support import output_of, run_python

pytestmark = [
    pytest.mark.ecosystem,
    pytest.mark.skipif(sys.platform != "linux", reason="builds and loads ELF libraries"),
]

VARIABLE = config.RUNTIME_PATH_VARIABLE
DRIVER, RUNTIME = "libpreload_driver.so.1", "libpreload_runtime.so.2"


@dataclass(frozen=True)
class Machine:
    """Folders with a library each: ``plugin`` needs RUNTIME, which needs DRIVER, wherever."""

    driver: Path
    runtime: Path
    plugin: Path

    def run(self, *libraries: str, **environ: str) -> str:
        """What a program prints that preloads these, each ``name, package=...``, and the plugin."""
        listed = ", ".join(f"VendorLibrary({library})" for library in libraries)
        program = (
            "import ctypes\n"
            f"from {config.MODULE}._preload import VendorLibrary, preload\n"
            f"print(*preload([{listed}]))\n"
            f"print(ctypes.CDLL({str(self.plugin / 'plugin.so')!r}).answer())\n"
            "print(hasattr(ctypes.CDLL(None), 'runtime_version'))\n"
        )
        return output_of(program, environ)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")
    home = tmp_path_factory.mktemp("machine")
    there = Machine(home / "driver", home / "runtime", home / "plugin")

    def build(library: Path, source: str, needed: Path | None = None) -> Path:
        library.parent.mkdir()
        (home / "source.c").write_text(source)
        command = [compiler, "-shared", "-fPIC", f"-Wl,-soname,{library.name}", "-o", str(library)]
        command += [str(home / "source.c"), "-Wl,--allow-shlib-undefined"]
        subprocess.run([*command, *([str(needed)] if needed else [])], check=True)
        return library

    driver = build(there.driver / DRIVER, "int driver_version(void) { return 41; }")
    source = "int driver_version(void);\nint runtime_version(void) { return driver_version() + 1; }"
    runtime = build(there.runtime / RUNTIME, source, driver)
    source = "int runtime_version(void);\nint answer(void) { return runtime_version(); }"
    build(there.plugin / "plugin.so", source, runtime)
    return there


def libraries_in(machine: Machine) -> tuple[str, str]:
    """Both libraries, the one that the other needs first, in folders of an installer."""
    return (
        f"{DRIVER!r}, folders=({str(machine.driver)!r},)",
        f"{RUNTIME!r}, folders=({str(machine.runtime)!r},)",
    )


# pitfall 37: the vendor's runtime lies where the plugin library does not look
def test_preloaded_libraries_serve_the_plugin_and_nobody_else(machine: Machine) -> None:
    with pytest.raises(OSError, match=RUNTIME):
        ctypes.CDLL(str(machine.plugin / "plugin.so"))
    assert machine.run(*libraries_in(machine)).splitlines() == [
        f"{machine.driver / DRIVER} {machine.runtime / RUNTIME}",
        "42",
        "False",
    ]


def test_wrong_order_names_the_library_that_is_missing(machine: Machine) -> None:
    library = preload.VendorLibrary(RUNTIME, folders=(str(machine.runtime),))
    with pytest.raises(preload.VendorLibraryError, match=f"{machine.runtime / RUNTIME}: {DRIVER}"):
        preload.preload([library], {})


def test_package_is_looked_up_and_not_imported(machine: Machine, tmp_path: Path) -> None:
    """A package that runs nothing, and one in a namespace that several packages share."""
    whole, part = tmp_path / "preload_driver", tmp_path / "preload_shared" / "runtime"
    shutil.copytree(machine.driver, whole / "lib")
    (whole / "__init__.py").write_text("raise SystemExit('imported')")
    shutil.copytree(machine.runtime, part / "native" / "lib64")
    (part / "__init__.py").touch()
    printed = machine.run(
        f"{DRIVER!r}, package='preload_driver'",
        f"{RUNTIME!r}, package='preload_shared.runtime', folder='native/lib64'",
        PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    )
    assert printed.splitlines()[:2] == [
        f"{whole / 'lib' / DRIVER} {part / 'native/lib64' / RUNTIME}",
        "42",
    ]


def test_system_path_and_variables_of_the_vendor(machine: Machine) -> None:
    printed = machine.run(
        f"{DRIVER!r}, folders=('/nowhere', '$PRELOAD_HOME/driver')",
        f"{RUNTIME!r}, package='no_such_package', folders=('$PRELOAD_NOT_SET/lib',)",
        PRELOAD_HOME=str(machine.driver.parent),
        LD_LIBRARY_PATH=str(machine.runtime),
    )
    assert printed.splitlines()[:2] == [f"{machine.driver / DRIVER} {RUNTIME}", "42"]


def test_environment_rules_alone(machine: Machine) -> None:
    """Whoever names folders wants the libraries in them or an error."""
    folders = os.pathsep.join([str(machine.driver), str(machine.runtime)])
    printed = machine.run(repr(DRIVER), repr(RUNTIME), **{VARIABLE: folders})
    assert printed.splitlines()[:2] == [
        f"{machine.driver / DRIVER} {machine.runtime / RUNTIME}",
        "42",
    ]
    library = preload.VendorLibrary(DRIVER, folders=(str(machine.driver),))
    with pytest.raises(preload.VendorLibraryError) as caught:
        preload.preload([library], {VARIABLE: f"/nowhere{os.pathsep}/neither"})
    assert searched(caught.value) == [
        f"{VARIABLE}: /nowhere/{DRIVER}",
        f"{VARIABLE}: /neither/{DRIVER}",
    ]


def searched(error: Exception) -> list[str]:
    """The lines of a message between the first and the last, without the loader's own words."""
    lines = [line.strip() for line in str(error).splitlines()[1:-1]]
    return [re.sub(r"(?<=\.so\.\d): .*", "", line) for line in lines]


def test_message_lists_every_place(tmp_path: Path) -> None:
    (tmp_path / "libpreload_text.so.1").write_text("no library")
    library = preload.VendorLibrary(
        "libpreload_text.so.1",
        package="no_such.package",
        folders=("$PRELOAD_NOT_SET/lib", str(tmp_path), "/nowhere"),
        cure="pip install preload-runtime",
    )
    with pytest.raises(preload.VendorLibraryError) as caught:
        preload.preload([library], {})
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"{config.PLATFORM} devices need libpreload_text.so.1")
    assert searched(caught.value) == [
        f"{VARIABLE}: not set",
        "package no_such.package: not installed in this Python",
        "$PRELOAD_NOT_SET/lib: not set",
        f"{tmp_path}: {tmp_path}/libpreload_text.so.1",
        "/nowhere: /nowhere/libpreload_text.so.1",
        "the system's search path: libpreload_text.so.1",
    ]
    assert "No such file" in lines[5]
    assert "No such file" not in lines[4], "a file that is no library is another matter"
    assert lines[-1].strip() == (
        f"pip install preload-runtime, or name the folder of one in {VARIABLE}"
    )


# pitfall 38: a vendor's runtime of another version is found and crashes
def test_library_of_a_wrong_version(machine: Machine) -> None:
    def too_old(library: ctypes.CDLL) -> str:
        found = library.driver_version()
        return "" if found >= 50 else f"its version is {found}, at least 50 is needed"

    library = preload.VendorLibrary(
        DRIVER, folders=(str(machine.driver),), cure="install driver 50", check=too_old
    )
    with pytest.raises(preload.VendorLibraryError) as caught:
        preload.preload([library], {})
    assert str(caught.value) == (
        f"{config.PLATFORM} devices cannot use {machine.driver / DRIVER} ({machine.driver}): its "
        "version is 41, at least 50 is needed; install driver 50, or name the folder of another "
        f"one in {VARIABLE}"
    )


# ---- In JAX ----

WITHOUT_RUNTIME = f"""
from {config.MODULE} import vendor_libraries
from {config.MODULE}._preload import VendorLibrary
vendor_libraries.VENDOR_LIBRARIES = (
    VendorLibrary("libno_such_runtime.so.7", package="no_such_runtime", cure="install it"),
)
"""
PLACES = ("package no_such_runtime: not installed", "system's search path", f"{VARIABLE}: not set")


# pitfall 25: where there is no device, programs on the CPU fail too
# pitfall 26: a missing vendor library breaks every program
def test_jax_on_a_machine_without_the_runtime_is_quiet() -> None:
    code = WITHOUT_RUNTIME + "import jax\nprint(jax.devices()[0].platform, int(jax.jit(abs)(-2)))"
    result = run_python(code)
    assert (result.stdout, result.stderr) == ("cpu 2\n", "")


def test_who_asks_for_the_devices_hears_what_is_missing() -> None:
    code = WITHOUT_RUNTIME + f"import jax\njax.devices('{config.PLATFORM}')"
    for environ in ({}, {"JAX_PLATFORMS": config.PLATFORM}):
        result = run_python(code, environ)
        assert result.returncode != 0
        verdict = result.stderr[result.stderr.rindex("RuntimeError: ") :]
        assert f"'{config.PLATFORM}'" in verdict.splitlines()[0]
        assert "libno_such_runtime.so.7" in verdict.splitlines()[0]
        assert all(place in verdict for place in PLACES), verdict


def test_nothing_is_loaded_for_who_leaves_the_platform_out() -> None:
    code = WITHOUT_RUNTIME + (
        f"from {config.MODULE} import _register\n"
        "def preload(libraries):\n    raise SystemExit('loaded')\n"
        "_register.preload = preload\n"
        "import jax\nprint(jax.devices()[0].platform)"
    )
    assert output_of(code, {"JAX_PLATFORMS": "cpu"}) == "cpu"


def test_doctor_lists_what_was_searched() -> None:
    code = (
        WITHOUT_RUNTIME + f"from {config.MODULE} import doctor\nraise SystemExit(doctor.main([]))"
    )
    result = run_python(code)
    assert result.returncode == 1
    assert "PROBLEM: " in result.stdout
    assert all(place in result.stdout for place in PLACES), result.stdout


def test_variable_is_listed() -> None:
    """The doctor shows those that are set."""
    assert VARIABLE in config.ENVIRONMENT
