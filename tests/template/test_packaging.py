"""Packaging of a rendered repository: build hook, wheel, editable, sdist, discovery, errors.

The C++ is a stand-in of a few lines, so that a case takes seconds; the generated tests do the rest.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.rendering import Renderer

pytestmark = pytest.mark.slow

ROUTES = ("namespace", "entry_point", "both")
STAND_IN_CMAKE = "pjrt_plugin_module(SOURCES entry.cc)\n"
STAND_IN_SOURCE = """\
extern "C" __attribute__((visibility("default"))) const void* GetPjrtApi() { return nullptr; }
extern "C" __attribute__((visibility("default"))) int Hidden() { return 1; }
"""
# As JAX discovers plugins: names of modules, from the namespace package and from entry points.
DISCOVER = """\
import importlib, pkgutil, sys
from importlib.metadata import entry_points
names = {entry.value for entry in entry_points(group="jax_plugins")}
try:
    import jax_plugins
    names |= {m.name for m in pkgutil.iter_modules(jax_plugins.__path__, "jax_plugins.")}
except ModuleNotFoundError:
    pass
for name in names:
    library = importlib.import_module(name + "._library").find_library()
    print(name, library.stat().st_size > 1000, importlib.import_module(name).initialize.__name__)
"""


def make_tree(render: Renderer, dest: Path, discovery: str = "both", **answers: str) -> Path:
    """A rendering with the stand-in for its C++."""
    shutil.copytree(render({"discovery": discovery, **answers}), dest)
    shutil.rmtree(dest / "csrc")
    (dest / "csrc").mkdir()
    (dest / "csrc" / "CMakeLists.txt").write_text(STAND_IN_CMAKE)
    (dest / "csrc" / "entry.cc").write_text(STAND_IN_SOURCE)
    return dest


def build(
    tree: Path, kind: str, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a build of hatchling's (wheel, editable or sdist) into dist/."""
    (tree / "dist").mkdir(exist_ok=True)
    code = f"from hatchling.build import build_{kind}; build_{kind}('dist')"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=tree,
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
    )


def built(tree: Path, kind: str) -> Path:
    """The file that the build made."""
    done = build(tree, kind)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = (tree / "dist").iterdir()
    return made


def discovered(venv: Path, *wheels: Path) -> list[str]:
    """What discovery finds where only these wheels are installed."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    python = venv / "bin" / "python"
    install = ["install", "--quiet", "--no-deps", "--no-index", *map(str, wheels)]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    done = subprocess.run(
        [python, "-c", DISCOVER], cwd=venv, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("kind", ["wheel", "editable"])
@pytest.mark.parametrize("discovery", ROUTES)
def test_found_once_by_every_route(
    render: Renderer, tmp_path: Path, discovery: str, kind: str
) -> None:
    tree = make_tree(render, tmp_path / "tree", discovery)
    module = "mychip" if discovery == "entry_point" else "jax_plugins.mychip"
    found = discovered(tmp_path / "venv", built(tree, kind))
    assert found == [f"{module} True initialize"]


def test_wheel_holds_the_package_and_its_library(render: Renderer, tmp_path: Path) -> None:
    wheel = built(make_tree(render, tmp_path / "tree"), "wheel")
    assert wheel.name.startswith("mychip_pjrt-0.1.0-py3-none-")
    assert "any" not in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert "jax_plugins/mychip/pjrt_plugin_mychip.so" in names
    assert "jax_plugins/mychip/doctor.py" in names
    assert "jax_plugins/__init__.py" not in names
    assert not [name for name in names if not name.startswith(("jax_plugins/mychip/", "mychip_"))]


def test_library_exports_one_symbol_and_no_path(render: Renderer, tmp_path: Path) -> None:
    tree = make_tree(render, tmp_path / "tree")
    with zipfile.ZipFile(built(tree, "wheel")) as wheel:
        library = wheel.read("jax_plugins/mychip/pjrt_plugin_mychip.so")
    assert b"GetPjrtApi" in library
    assert b"Hidden" not in library
    assert str(tree).encode() not in library


COMPONENT = """\
[[component]]
name = "fastmath"
version = "1.2.3"
license = "BSD-3-Clause"
license-files = ["LICENSE.fastmath"]
"""


def test_software_of_others(render: Renderer, tmp_path: Path) -> None:
    """Its licence and its entry in the SBOM are in the wheel, from the sdist as well."""
    tree = make_tree(render, tmp_path / "tree")
    (tree / "csrc" / "vendor").mkdir()
    (tree / "csrc" / "vendor" / "third_party.toml").write_text(COMPONENT)
    done = build(tree, "wheel")
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "error: Component 1 in csrc/vendor/third_party.toml: its licence file" in said
    assert "docs/wheels.md" in said
    assert "Traceback" not in said
    assert "Configuring" not in said  # before anything is compiled

    (tree / "LICENSE.fastmath").write_text("Do what you like.\n")
    with tarfile.open(built(tree, "sdist")) as archive:
        archive.extractall(tmp_path / "from", filter="data")
    (unpacked,) = (tmp_path / "from").iterdir()
    for wheel in (built(_without_dist(tree), "wheel"), built(unpacked, "wheel")):
        archived = zipfile.ZipFile(wheel)
        info = "mychip_pjrt-0.1.0.dist-info"
        assert archived.read(f"{info}/licenses/LICENSE.fastmath") == b"Do what you like.\n"
        bill = json.loads(archived.read(f"{info}/sboms/mychip-pjrt.cdx.json"))
        assert [component["name"] for component in bill["components"]] == ["fastmath"]
        assert b"License-File: LICENSE.fastmath" in archived.read(f"{info}/METADATA")


def test_sdist_builds_the_same_wheel(render: Renderer, tmp_path: Path) -> None:
    tree = make_tree(render, tmp_path / "tree")
    assert build(tree, "editable").returncode == 0  # leaves a library that must not get in
    shutil.rmtree(tree / "dist")
    with tarfile.open(built(tree, "sdist")) as archive:
        archive.extractall(tmp_path / "from", filter="data")
    (unpacked,) = (tmp_path / "from").iterdir()
    names = {path.relative_to(unpacked).parts[0] for path in unpacked.rglob("*")}
    assert {"csrc", "cmake", "tests", "src", "LICENSE", "README.md"} <= names
    assert not list(unpacked.rglob("*.so"))
    direct = set(zipfile.ZipFile(built(_without_dist(tree), "wheel")).namelist())
    assert set(zipfile.ZipFile(built(unpacked, "wheel")).namelist()) == direct


def _without_dist(tree: Path) -> Path:
    shutil.rmtree(tree / "dist")
    return tree


def test_build_folder_survives_a_move(render: Renderer, tmp_path: Path) -> None:
    tree = make_tree(render, tmp_path / "tree")
    built(tree, "wheel")
    moved = _without_dist(tree.rename(tmp_path / "moved"))
    done = build(moved, "wheel")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the checkout has moved" in done.stdout + done.stderr


def test_missing_compiler(render: Renderer, tmp_path: Path) -> None:
    tree = make_tree(render, tmp_path / "tree")
    done = build(tree, "wheel", {"CXX": "no-such-compiler"})
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "CXX=no-such-compiler names no program" in said
    assert "apt install g++" in said
    assert "Traceback" not in said
    assert not list((tree / "dist").iterdir())


def test_broken_compiler(render: Renderer, tmp_path: Path) -> None:
    tree = make_tree(render, tmp_path / "tree")
    broken = tmp_path / "broken-c++"
    broken.write_text("#!/bin/sh\necho this compiler is broken >&2\nexit 3\n")
    broken.chmod(0o755)
    done = build(tree, "editable", {"CXX": str(broken)})
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "this compiler is broken" in said
    assert "error: CMake could not configure" in said
    assert "Traceback" not in said
    assert not list((tree / "dist").iterdir())
    assert not list((tree / "src").rglob("*.so"))
    built(tree, "wheel")  # and a good compiler afterwards needs no cleaning


def test_source_that_does_not_compile(render: Renderer, tmp_path: Path) -> None:
    tree = make_tree(render, tmp_path / "tree")
    (tree / "csrc" / "entry.cc").write_text("this is no C++\n")
    done = build(tree, "wheel")
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "entry.cc:1" in said
    assert "pjrt_plugin_mychip.so does not compile" in said
    assert "Traceback" not in said
    assert not list((tree / "dist").iterdir())
