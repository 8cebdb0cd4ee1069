"""``layout: split``: the package of Python files and the core, each with a project of its own."""

from __future__ import annotations

import re
import shlex
import shutil
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.rendering import OTHER_NAMES, Answers, Renderer, contents, label
from tests.template.test_packaging import COMPONENT, ROUTES, build, built, discovered, make_tree
from tools import wheel_checks
from tools.jaxlibs_matrix import REQUIREMENT

SPLIT: Answers = {"layout": "split"}
SOME = [
    SPLIT,
    {**OTHER_NAMES, **SPLIT, "discovery": "entry_point", "license": "MIT"},
    {**OTHER_NAMES, **SPLIT, "discovery": "namespace", "license": "proprietary"},
]
with_answers = pytest.mark.parametrize("answers", SOME, ids=label)


def project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def package(answers: Answers) -> str:
    """The folder of the Python files below src."""
    plugin = str(answers.get("plugin_name", "mychip"))
    return plugin if answers.get("discovery") == "entry_point" else f"jax_plugins/{plugin}"


@with_answers
def test_the_two_agree(answers: Answers, render: Renderer) -> None:
    tree = render(answers)
    python, core = project(tree), project(tree / "core")
    plugin = answers.get("plugin_name", "mychip")
    assert core["project"]["name"] == f"{python['project']['name']}-core"
    for field in ("license", "license-files", "authors", "requires-python"):
        assert core["project"][field] == python["project"][field]
    assert (tree / "core/LICENSE").read_bytes() == (tree / "LICENSE").read_bytes()
    # One version, one C++ tree, one place for the settings of cibuildwheel.
    version = python["tool"]["hatch"]["version"]["path"]
    assert core["tool"]["hatch"]["version"]["path"] == f"../{version}"
    assert version == f"src/{package(answers)}/_version.py"
    assert "dependencies" not in core["project"]
    assert "hooks" not in python["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert ("cibuildwheel" in python["tool"], "cibuildwheel" in core["tool"]) == (False, True)
    assert [p.parent for p in sorted(tree.rglob("hatch_build.py"))] == [tree / "core"]
    # One number.
    module = tree / f"core/src/{plugin}_core/__init__.py"
    numbers = [
        re.findall(r"^ABI: Final = (\d+)$", path.read_text(encoding="utf-8"), re.M)
        for path in (module, tree / f"src/{package(answers)}/_core.py")
    ]
    assert len(numbers[0]) == 1
    assert numbers[0] == numbers[1]


@with_answers
def test_nothing_of_it_without_it(answers: Answers, render: Renderer) -> None:
    single, split = (contents(render({**answers, "layout": n})) for n in ("single", "split"))
    shared = {
        *("Makefile", "pyproject.toml", ".copier-answers.yml", "README.md"),
        *(f"src/{package(answers)}/{name}" for name in ("_library.py", "doctor.py")),
    }
    for name in split.keys() - single.keys() - shared:
        assert name.startswith("core/") or name == "hatch_metadata.py" or "_core.py" in name, name
    assert single.keys() - split.keys() == {"hatch_build.py"}
    hook = split["core/hatch_build.py"]
    assert hook == single["hatch_build.py"]
    for name, text in single.items():
        assert b"-core" not in text or name.startswith("csrc/"), name
        assert b"_core " not in text or name.startswith("csrc/"), name


def test_no_wider_settings_of_the_build_than_one_place(render: Renderer) -> None:
    """Both layouts have the same settings of cibuildwheel but for the command of the tests."""
    single, split = (
        project(folder)["tool"]["cibuildwheel"] for folder in (render(), render(SPLIT) / "core")
    )
    assert split["test-command"].endswith(single["test-command"])
    # cibuildwheel puts the path in as it is; outside of containers, on macOS, that may have spaces.
    words = shlex.split(split["test-command"].replace("{project}", "/my sources"))
    assert {"/my sources[test]", "/my sources/tests"} < set(words)
    assert single.pop("test-extras") == ["test"]
    del split["test-command"], single["test-command"]
    assert split == single


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "editable"])
@pytest.mark.parametrize("discovery", ROUTES)
def test_found_once_by_every_route(
    render: Renderer, tmp_path: Path, discovery: str, kind: str
) -> None:
    tree = make_tree(render, tmp_path / "tree", discovery, **SPLIT)
    module = "mychip" if discovery == "entry_point" else "jax_plugins.mychip"
    wheels = [built(folder, kind) for folder in (tree / "core", tree)]
    assert discovered(tmp_path / "venv", *wheels) == [f"{module} True initialize"]


@pytest.mark.slow
@pytest.mark.parametrize("discovery", ROUTES)
def test_wheels_and_source_distributions(render: Renderer, tmp_path: Path, discovery: str) -> None:
    """What is in each; and from its source distribution alone, elsewhere, the same wheel.

    Software of others is the core's, with the text of its licence.
    """
    answers = {"layout": "split", "discovery": discovery}
    tree = make_tree(render, tmp_path / "a tree", **answers)
    (tree / "csrc/vendor").mkdir()
    (tree / "csrc/vendor/third_party.toml").write_text(COMPONENT)
    (tree / "core/LICENSE.fastmath").write_text("Do what you like.\n")
    assert build(tree / "core", "editable").returncode == 0  # its library must not get in twice
    shutil.rmtree(tree / "core/dist")
    expected = {
        "core": wheel_checks.Expected(
            "mychip_core",
            "pjrt_plugin_mychip.so",
            frozenset({"__init__.py"}),
            "",
            licences=frozenset({"LICENSE", "LICENSE.fastmath"}),
            components=frozenset({"fastmath"}),
        ),
        ".": wheel_checks.Expected(
            package(answers),
            "",
            frozenset(p.name for p in (tree / "src" / package(answers)).iterdir()),
            REQUIREMENT,
            "" if discovery == "namespace" else package(answers).replace("/", "."),
            core="mychip-pjrt-core==0.1.0",
        ),
    }
    for folder, wanted in expected.items():
        sources = built(tree / folder, "sdist")
        with tarfile.open(sources) as archive:
            assert not [name for name in archive.getnames() if name.endswith(".so")]
            archive.extractall(tmp_path / f"from {folder}", filter="data")
        sources.unlink()
        wheel = wheel_checks.read(built(tree / folder, "wheel"))
        found = wheel_checks.check(wheel, wanted)
        if folder == "core":  # built here, its tag says linux
            assert [f for f in found if "that can be uploaded" not in f] == []
        else:
            assert found == []
        (unpacked,) = (tmp_path / f"from {folder}").iterdir()
        assert wheel_checks.differences(wheel_checks.read(built(unpacked, "wheel")), wheel) == []


@pytest.mark.slow
def test_the_pin_follows_the_version(render: Renderer, tmp_path: Path) -> None:
    tree = make_tree(render, tmp_path / "tree", **SPLIT)
    version = tree / "src/jax_plugins/mychip/_version.py"
    version.write_text('"""Ours."""\n\n__version__ = "3.1.0rc2"\n')
    wheel = built(tree, "wheel")
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read("mychip_pjrt-3.1.0rc2.dist-info/METADATA").decode()
    assert "Requires-Dist: mychip-pjrt-core==3.1.0rc2\n" in metadata
    assert built(tree / "core", "wheel").name.startswith("mychip_pjrt_core-3.1.0rc2-")
