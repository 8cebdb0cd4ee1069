"""The plugin for platforms that this machine is not: cross-compiled, and run where that can be.

aarch64 Linux is built by Debian's cross compiler and its C++ tests run in qemu's user mode. macOS
on arm64 and Windows on x86-64 are built by the Clang of PyPI's ziglang, which brings those
systems' headers, and packed by the repository's build hook. For macOS that shows that the sources
compile and link and what the library exports, not that it works. Wine, which is not Windows, loads
the library for Windows; nothing more is run there. This machine's own platform is compiled by
Clangs, and not unity-built, for all else here is made by GCC.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools import plugins
from tools.jaxlibs_matrix import REQUIREMENT
from tools.wheel_checks import Expected, Wheel, check, library_findings, read, read_library

pytestmark = pytest.mark.long

LIBRARY = "csrc/pjrt_plugin_mychip.so"
CLANGS = ("14", "19")  # the oldest that is supported, and the newest that Debian 12 has
AARCH64 = {
    "CMAKE_SYSTEM_NAME": "Linux",
    "CMAKE_SYSTEM_PROCESSOR": "aarch64",
    "CMAKE_C_COMPILER": "aarch64-linux-gnu-gcc",
    "CMAKE_CXX_COMPILER": "aarch64-linux-gnu-g++",
}
EMULATOR = "qemu-aarch64-static"
WINE = "/usr/lib/wine/wine64"
# Those of C++ that have code of their own for a processor, or depend on its memory model: an
# emulated processor is slow, and the rest is the same everywhere.
TESTS = "^(kernels|reference|backend)_"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("platforms") / "mychip-pjrt"
    plugins.render(path)
    return path


def require(*programs: str, package: str) -> None:
    """Fail, and say how to get them, when programs are not there."""
    if lacking := [name for name in programs if shutil.which(name) is None]:
        pytest.fail(f"{' and '.join(lacking)} not found: apt install {package}", pytrace=False)


@dataclass(frozen=True)
class System:
    """A system whose headers and libraries zig has.

    Attributes:
        target: zig's name for it.
        cmake: CMake's, and the version of the kernel, by which it knows what the linker can.
        processor: its processor, as CMake has it.
        python: what Python calls it, which is how an environment of a cross build says it.
        tag: the wheel's.
        library: the file of the plugin.
    """

    target: str
    cmake: tuple[str, str]
    processor: str
    python: str
    tag: str
    library: str

    def settings(self, folder: Path) -> dict[str, str]:
        """CMake's, with the tools as programs in the folder."""
        return {
            "CMAKE_SYSTEM_NAME": self.cmake[0],
            "CMAKE_SYSTEM_VERSION": self.cmake[1],
            "CMAKE_SYSTEM_PROCESSOR": self.processor,
            "CMAKE_C_COMPILER": zig(folder, "cc", "-target", self.target),
            "CMAKE_CXX_COMPILER": zig(folder, "c++", "-target", self.target),
            "CMAKE_AR": zig(folder, "ar"),
            "CMAKE_RANLIB": zig(folder, "ranlib"),
            # The linker strips what holds paths, for this machine's strip knows no such files.
            "CMAKE_STRIP": "",
            "CMAKE_SHARED_LINKER_FLAGS": "-s" if self.cmake[0] == "Darwin" else "",
        }


SYSTEMS = {
    "macos_arm64": System(
        target="aarch64-macos.14.0",
        cmake=("Darwin", "23.0"),
        processor="arm64",
        python="macosx-14.0-arm64",
        tag="macosx_14_0_arm64",
        library="pjrt_plugin_mychip.so",
    ),
    "windows_amd64": System(
        target="x86_64-windows-gnu",
        cmake=("Windows", "10.0"),
        processor="AMD64",
        python="win-amd64",
        tag="win_amd64",
        library="pjrt_plugin_mychip.dll",
    ),
}
LOADER = """
#include <windows.h>

#include <cstdio>

#include "generated/pjrt_c_api.h"

int main(int, char** arguments) {
  const HMODULE library = LoadLibraryA(arguments[1]);
  if (library == nullptr) return std::printf("Windows' error %lu", GetLastError());
  void* const symbol = reinterpret_cast<void*>(GetProcAddress(library, "GetPjrtApi"));
  const PJRT_Api* const api = reinterpret_cast<const PJRT_Api* (*)()>(symbol)();
  std::printf("%d.%d", api->pjrt_api_version.major_version, api->pjrt_api_version.minor_version);
}
"""
# Zig's linker knows no list of exports and links its own C++ runtime, whose operators new and
# delete are always public on macOS: that nothing else is says that visibility does what it should.
RUNTIME = re.compile(r"_Z(n|d)[aw]\w*|_Zdl\w*|_mh_dylib_header|__dso_handle")


def build(source: Path, folder: Path, settings: Mapping[str, str], *targets: str) -> None:
    """Configure and build with CMake."""
    definitions = [f"-D{name}={value}" for name, value in settings.items()]
    configure: list[str | Path] = ["cmake", "-S", source, "-B", folder]
    log = folder.parent / f"{folder.name}.log"
    plugins.run([*configure, "-DCMAKE_BUILD_TYPE=Release", *definitions], log)
    plugins.run(["cmake", "--build", folder, "--parallel", "2", "--target", *targets], log)


@pytest.mark.parametrize("version", CLANGS)
def test_clang(repository: Path, version: str, tmp_path: Path) -> None:
    """Each source by itself, without a warning, beside the C++ library of this machine's GCC."""
    require(f"clang++-{version}", package=f"--no-install-recommends clang-{version}")
    settings = {
        "CMAKE_C_COMPILER": f"clang-{version}",
        "CMAKE_CXX_COMPILER": f"clang++-{version}",
        "CMAKE_CXX_FLAGS": "-O0",
        "PJRT_PLUGIN_UNITY": "OFF",
        "PJRT_PLUGIN_WERROR": "ON",
    }
    build(repository, tmp_path / "clang", settings, "pjrt_plugin_mychip")


def test_linux_aarch64_exports(repository: Path, tmp_path: Path) -> None:
    require(AARCH64["CMAKE_CXX_COMPILER"], package="g++-aarch64-linux-gnu")
    build(repository, tmp_path / "aarch64", AARCH64, "pjrt_plugin_mychip")
    library = read_library((tmp_path / "aarch64" / LIBRARY).read_bytes())
    assert list(library_findings(library)) == []


def test_linux_aarch64_runs(repository: Path, tmp_path: Path) -> None:
    """Kernels for NEON too: the C++ tests run as they do on such a machine, but slowly."""
    require(AARCH64["CMAKE_CXX_COMPILER"], package="g++-aarch64-linux-gnu")
    require(EMULATOR, package="qemu-user-static")
    settings = AARCH64 | {
        "CMAKE_CROSSCOMPILING_EMULATOR": f"{shutil.which(EMULATOR)};-L;/usr/aarch64-linux-gnu",
        "PJRT_PLUGIN_BUILD_TESTS": "ON",
        "GTest_DIR": str(googletest(tmp_path / "googletest", AARCH64)),
    }
    run_tests(repository, tmp_path / "aarch64", settings, TESTS)


def run_tests(repository: Path, folder: Path, settings: Mapping[str, str], pattern: str) -> None:
    """Build the C++ tests whose names match, and run them."""
    build(repository, folder, settings, "help")
    listing = ["ctest", "--test-dir", str(folder), "-N", "-R", pattern]
    listed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    programs = re.findall(r"Test +#\d+: (\w+_test)$", listed, re.M)
    assert "kernels_gemm_test" in programs
    targets = [name for name in programs if name != "kernels_isa_symbols_test"]
    build(repository, folder, settings, *targets)
    log = folder.parent / "ctest.log"
    plugins.run(["ctest", "--test-dir", folder, "-R", pattern, "--output-on-failure"], log)


def googletest(home: Path, settings: Mapping[str, str]) -> Path:
    """GoogleTest from the sources in Debian's package, compiled so. Returns its CMake folder."""
    require("apt-get", "dpkg-deb", package="dpkg apt")
    home.mkdir()
    plugins.run(["apt-get", "download", "googletest"], home / "apt.log", cwd=home)
    (package,) = home.glob("*.deb")
    plugins.run(["dpkg-deb", "-x", package, home], home / "dpkg.log")
    prefix = {"CMAKE_INSTALL_PREFIX": str(home / "installed")}
    build(home / "usr/src/googletest", home / "build", {**settings, **prefix}, "install")
    return home / "installed/lib/cmake/GTest"


@pytest.mark.parametrize("backend", ["reference_cpu", "stub"])
@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_wheel(system: System, backend: str, tmp_path: Path) -> None:
    """The build hook makes it, as on the system itself; all is compiled without a warning."""
    repository = tmp_path / "mychip-pjrt"
    plugins.render(repository, {"backend": backend})
    settings = system.settings(tmp_path) | {"PJRT_PLUGIN_WERROR": "ON"}
    definitions = [f"-D{name}={value}" for name, value in settings.items()]
    environ = os.environ | {
        "_PYTHON_HOST_PLATFORM": system.python,
        "CXX": settings["CMAKE_CXX_COMPILER"],
        "CMAKE_ARGS": shlex.join(definitions),
        "CMAKE_BUILD_PARALLEL_LEVEL": "2",
    }
    code = "from hatchling.build import build_wheel; build_wheel('dist')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repository, env=environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    wheel = read(repository / "dist" / f"mychip_pjrt-0.1.0-py3-none-{system.tag}.whl")
    assert [text for text in findings(wheel, system, repository) if text] == []


def findings(wheel: Wheel, system: System, repository: Path) -> list[str]:
    """What is wrong with a wheel, but for the names that zig's C++ runtime exports."""
    package = "jax_plugins/mychip"
    sources = (repository / "src" / package).rglob("*")
    modules = {path.name for path in sources if path.is_file() and path.suffix != ".pyc"}
    expected = Expected(
        package,
        system.library,
        frozenset(modules - {system.library}),
        REQUIREMENT,
        "jax_plugins.mychip",
        (str(repository),),
    )
    library = read_library(wheel.contents[f"{package}/{system.library}"])
    exported = [name for name in library.exported if not RUNTIME.fullmatch(name)]
    found = check(wheel, expected)
    if exported == ["GetPjrtApi"]:
        return [text for text in found if not text.startswith("the library exports")]
    return found


def test_windows_library_loads_in_wine(repository: Path, tmp_path: Path) -> None:
    """Its loader takes it, and the C++ runtime starts: GetPjrtApi gives the table."""
    require(WINE, package="--no-install-recommends wine64")
    settings = SYSTEMS["windows_amd64"].settings(tmp_path)
    build(repository, tmp_path / "windows", settings, "pjrt_plugin_mychip")
    version = wine_version(tmp_path / "windows/csrc/pjrt_plugin_mychip.dll", repository, settings)
    assert re.fullmatch(r"0\.\d{3}", version)


def wine_version(library: Path, repository: Path, settings: Mapping[str, str]) -> str:
    """The version of the C API that a program in Wine reads from a plugin library."""
    folder = library.parent
    (folder / "load.cc").write_text(LOADER, encoding="utf-8")
    compiler = [settings["CMAKE_CXX_COMPILER"], "-std=c++20", f"-I{repository / 'csrc'}"]
    program = folder / "load.exe"
    plugins.run([*compiler, folder / "load.cc", "-o", program], folder / "load.log")
    environ = os.environ | {"WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all"}
    command = [WINE, str(program), "Z:" + str(library).replace("/", "\\")]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def zig(folder: Path, tool: str, *flags: str) -> str:
    """A program that is one of zig's tools: CMake wants a path."""
    script = folder / f"zig-{tool}"
    words = " ".join([f'"{sys.executable}"', "-m", "ziglang", tool, *flags])
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return str(script)
