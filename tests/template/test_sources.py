"""What a file of the generated C++ may include, and how long it may be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.rendering import ROOT, Renderer, files

CONFIG = "generated/config.h"
MAY_INCLUDE = {
    "generated": ["generated/"],
    "backend": ["backend/", CONFIG],
    "program": [
        "program/",
        "backend/status.h",
        "backend/dtype.h",
        "backend/layout.h",
        CONFIG,
    ],
    "plugin": ["plugin/", "backend/", "generated/"],
    "reference": ["reference/", "program/", "backend/", CONFIG],
    "vendor": ["vendor/", "backend/", "program/", CONFIG],
    "testing": ["testing/", "backend/", CONFIG],
}
# The seams: the library's entry takes the table of the vendor's overrides, which stand on the
# plugin layer; vendor/backend.cc hands over to a backend.
EXTRA = {
    "plugin/entry.cc": ["vendor/overrides.h"],
    "vendor/overrides.h": ["plugin/", "generated/"],
    "vendor/overrides.cc": ["plugin/", "generated/"],
    "vendor/backend.cc": ["reference/driver.h"],
    "testing/accelerator/library.cc": ["plugin/", "generated/", "program/", "reference/driver.h"],
}
SYSTEMS = {"backend/platform.cc", "testing/pages.h", "plugin/fork_test.cc"}
"""The files that know what operating systems there are."""
C_HEADERS = {"math.h", "string.h", "stdbool.h", "stddef.h", "stdint.h"}
LIMIT = 600
LONGER: dict[str, str] = {}
"""Hand-written files that may be longer than LIMIT lines, with the reason."""


@pytest.fixture(scope="module", params=["reference_cpu", "stub", "own"])
def csrc(request: pytest.FixtureRequest, render: Renderer) -> Path:
    return render({"backend": request.param}) / "csrc"


def sources(csrc: Path) -> list[Path]:
    found = [p for p in files(csrc) if p.suffix in {".h", ".cc", ".inl", ".inc"}]
    assert len(found) > 30
    return found


def test_includes_follow_the_arrows(csrc: Path) -> None:
    wrong = []
    for path in sources(csrc):
        name = path.relative_to(csrc).as_posix()
        allowed = MAY_INCLUDE[name.split("/")[0]] + EXTRA.get(name, [])
        if re.search(r"_test(_util)?$|^testing_", path.stem):
            allowed = [*allowed, "testing/"]
            if name.startswith("testing/accelerator/"):  # tests of the layer, on an accelerator
                allowed = [*allowed, "plugin/", "generated/"]
        for included in re.findall(r'^\s*#\s*include "(.*)"', path.read_text(), re.MULTILINE):
            if not included.startswith(tuple(allowed)):
                wrong.append(f"{name} includes {included}")
            assert (csrc / included).is_file(), f"{name} includes {included}, which is not there"
    assert wrong == []


def test_headers_of_one_system_are_in_few_places(csrc: Path) -> None:
    """Every other file compiles for Linux, macOS and Windows alike; tests may say where not."""
    wrong = []
    for path in sources(csrc):
        name = path.relative_to(csrc).as_posix()
        if name not in SYSTEMS:
            text = path.read_text()
            if path.stem.endswith("_test"):
                text = re.sub(r"^#if !defined\(_WIN32\).*?^#endif", "", text, flags=re.M | re.S)
            found = re.findall(r"^\s*#\s*include <(\S+\.h)>", text, re.MULTILINE)
            known = {*C_HEADERS, "gtest/gtest.h"}
            wrong += [f"{name} includes <{header}>" for header in found if header not in known]
    assert wrong == []


def test_every_source_is_built(csrc: Path) -> None:
    """Source lists are explicit, so a file that no list names would never be compiled."""
    lists = {p: _expanded(p) for p in [*csrc.rglob("CMakeLists.txt"), *csrc.rglob("*.cmake")]}
    for path in sources(csrc):
        if path.suffix == ".cc":
            named = any(
                path.is_relative_to(at.parent)
                and re.search(
                    rf"(^|[\s\"/}}]){re.escape(str(path.relative_to(at.parent)))}\b", text
                )
                for at, text in lists.items()
            )
            assert named, f"{path.relative_to(csrc)} is in no CMakeLists.txt"


def _expanded(path: Path) -> str:
    """A CMake file with the names that its loops over ITEMS make."""

    def loop(match: re.Match[str]) -> str:
        variable, items, body = match.groups()
        return "\n".join(body.replace(f"${{{variable}}}", item) for item in items.split())

    pattern = r"foreach\((\w+) IN ITEMS ([^)]*)\)(.*?)endforeach\(\)"
    return re.sub(pattern, loop, path.read_text(), flags=re.DOTALL)


def test_files_are_short(csrc: Path) -> None:
    long = {
        name: lines
        for path in sources(csrc)
        if not (name := path.relative_to(csrc).as_posix()).startswith("generated/")
        if (lines := path.read_text().count("\n")) > LIMIT and name not in LONGER
    }
    assert long == {}


def test_only_generated_cpp_is_a_template() -> None:
    """So that the rest of csrc reads and compiles as C++ in the template itself."""
    wrong = [
        path.name
        for path in (ROOT / "template/csrc").rglob("*.jinja")
        if path.parent.name != "generated" and path.with_suffix("").suffix != ".cmake"
    ]
    assert wrong == []


def test_each_folder_says_what_it_is(csrc: Path) -> None:
    lacking = [
        folder.name
        for folder in sorted(csrc.iterdir())
        if folder.is_dir() and folder.name != "testing" and not (folder / "README.md").is_file()
    ]
    assert lacking == []
