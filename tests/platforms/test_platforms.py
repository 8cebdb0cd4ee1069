"""The plugin for platforms that this machine is not: cross-compiled, and run where that can be.

aarch64 Linux is built by Debian's cross compiler and its C++ tests run in qemu's user mode. macOS
on arm64 is built by the Clang of PyPI's ziglang, which brings that system's headers: it shows that
the sources compile and link there and what the library exports, not that it works.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools import plugins
from tools.wheel_checks import library_findings, read_library

pytestmark = pytest.mark.long

LIBRARY = "csrc/pjrt_plugin_mychip.so"
AARCH64 = {
    "CMAKE_SYSTEM_NAME": "Linux",
    "CMAKE_SYSTEM_PROCESSOR": "aarch64",
    "CMAKE_C_COMPILER": "aarch64-linux-gnu-gcc",
    "CMAKE_CXX_COMPILER": "aarch64-linux-gnu-g++",
}
EMULATOR = "qemu-aarch64-static"
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


def build(source: Path, folder: Path, settings: Mapping[str, str], *targets: str) -> None:
    """Configure and build with CMake."""
    definitions = [f"-D{name}={value}" for name, value in settings.items()]
    configure: list[str | Path] = ["cmake", "-S", source, "-B", folder]
    log = folder.parent / f"{folder.name}.log"
    plugins.run([*configure, "-DCMAKE_BUILD_TYPE=Release", *definitions], log)
    plugins.run(["cmake", "--build", folder, "--parallel", "2", "--target", *targets], log)


def test_linux_aarch64_exports(repository: Path, tmp_path: Path) -> None:
    require(AARCH64["CMAKE_CXX_COMPILER"], package="g++-aarch64-linux-gnu")
    build(repository, tmp_path / "aarch64", AARCH64, "pjrt_plugin_mychip")
    library = read_library((tmp_path / "aarch64" / LIBRARY).read_bytes())
    assert list(library_findings(library)) == []


def test_linux_aarch64_runs(repository: Path, tmp_path: Path) -> None:
    """Kernels for NEON too: the C++ tests run as they do on such a machine, but slowly."""
    require(AARCH64["CMAKE_CXX_COMPILER"], package="g++-aarch64-linux-gnu")
    require(EMULATOR, package="qemu-user-static")
    folder = tmp_path / "aarch64"
    settings = AARCH64 | {
        "CMAKE_CROSSCOMPILING_EMULATOR": f"{shutil.which(EMULATOR)};-L;/usr/aarch64-linux-gnu",
        "PJRT_PLUGIN_BUILD_TESTS": "ON",
        "GTest_DIR": str(googletest(tmp_path / "googletest")),
    }
    build(repository, folder, settings, "help")
    listing = ["ctest", "--test-dir", str(folder), "-N", "-R", TESTS]
    listed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    programs = re.findall(r"Test +#\d+: (\w+_test)$", listed, re.M)
    assert "kernels_gemm_test" in programs
    build(repository, folder, settings, *programs)
    plugins.run(
        ["ctest", "--test-dir", folder, "-R", TESTS, "--output-on-failure"], tmp_path / "log"
    )


def googletest(home: Path) -> Path:
    """GoogleTest for aarch64, from the sources in Debian's package. Returns its CMake folder."""
    require("apt-get", "dpkg-deb", package="dpkg apt")
    home.mkdir()
    plugins.run(["apt-get", "download", "googletest"], home / "apt.log", cwd=home)
    (package,) = home.glob("*.deb")
    plugins.run(["dpkg-deb", "-x", package, home], home / "dpkg.log")
    settings = AARCH64 | {"CMAKE_INSTALL_PREFIX": str(home / "installed")}
    build(home / "usr/src/googletest", home / "build", settings, "install")
    return home / "installed/lib/cmake/GTest"


def test_macos_arm64(repository: Path, tmp_path: Path) -> None:
    folder = tmp_path / "macos"
    settings = {
        "CMAKE_SYSTEM_NAME": "Darwin",
        "CMAKE_SYSTEM_PROCESSOR": "arm64",
        "CMAKE_CXX_COMPILER": zig(tmp_path, "c++", "-target", "aarch64-macos.14.0"),
        "CMAKE_AR": zig(tmp_path, "ar"),
        "CMAKE_RANLIB": zig(tmp_path, "ranlib"),
    }
    build(repository, folder, settings, "pjrt_plugin_mychip")
    library = read_library((folder / LIBRARY).read_bytes())
    # Zig's linker knows no list of exports and links its own C++ runtime, whose operators new and
    # delete are always public: that nothing else is says that visibility does what it should.
    runtime = re.compile(r"_Z(n|d)[aw]\w*|_Zdl\w*|_mh_dylib_header|__dso_handle")
    assert [name for name in library.exported if not runtime.fullmatch(name)] == ["GetPjrtApi"]
    assert all(name.startswith(("/usr/lib/", "/System/")) for name in library.needed)
    assert all(path.startswith("@loader_path") for path in library.search_path)


def zig(folder: Path, tool: str, *flags: str) -> str:
    """A program that is one of zig's tools: CMake wants a path."""
    script = folder / f"zig-{tool}"
    words = " ".join([f'"{sys.executable}"', "-m", "ziglang", tool, *flags])
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return str(script)
