"""The checks of wheels find what is wrong with one."""

from __future__ import annotations

import dataclasses
import subprocess
import zipfile
from pathlib import Path

import pytest

from tools import local_cibuildwheel
from tools.wheel_checks import (
    RULES,
    Expected,
    Library,
    Wheel,
    check,
    check_library,
    differences,
    library_findings,
    read,
    read_library,
)

INFO = "mychip_pjrt-0.1.0.dist-info"
NAME = "mychip_pjrt-0.1.0-py3-none-manylinux_2_28_x86_64.whl"
METADATA = f"{INFO}/METADATA"
SBOM = f"{INFO}/sboms/mychip-pjrt.cdx.json"
WHEEL = f"{INFO}/WHEEL"
EXPECTED = Expected(
    package="mychip",
    library="pjrt_plugin_mychip.so",
    modules=frozenset({"__init__.py"}),
    requirement="jax>=0.10.2,<0.13",
    entry_point="mychip",
)
GOOD = Wheel(
    NAME,
    5_000_000,
    {
        "mychip/__init__.py": b"",
        "mychip/pjrt_plugin_mychip.so": b"",
        f"{INFO}/METADATA": (
            b"Metadata-Version: 2.4\nName: mychip-pjrt\nVersion: 0.1.0\n"
            b"License-Expression: MIT\nLicense-File: LICENSE\nRequires-Dist: jax<0.13,>=0.10.2\n"
            b"Requires-Dist: pytest>=8; extra == 'test'\n"
            b"Description-Content-Type: text/markdown\n\n# A plugin\n"
        ),
        f"{INFO}/WHEEL": (
            b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-manylinux_2_28_x86_64\n"
        ),
        f"{INFO}/RECORD": b"",
        f"{INFO}/entry_points.txt": b"[jax_plugins]\nmychip = mychip\n",
        f"{INFO}/licenses/LICENSE": b"",
        SBOM: (
            b'{"bomFormat": "CycloneDX", "specVersion": "1.6", "metadata": {"component": {"type":'
            b' "library", "name": "mychip-pjrt", "version": "0.1.0", "licenses": [{"expression":'
            b' "MIT"}]}}, "components": []}'
        ),
    },
)
FASTMATH = (
    b'"components": [{"type": "library", "name": "fastmath", "licenses": [{"expression": "MIT"}],'
    b' "properties": [{"name": "wheel:license-file", "value": "LICENSE.fastmath"},'
    b' {"name": "wheel:library", "value": "libfastmath.so.1"}]}]'
)
BUNDLED = "mychip_pjrt.libs/libfastmath-0a1b2c3d.so.1"


def findings(wheel: Wheel) -> list[str]:
    """All but those about the library's bytes, of which this one has none."""
    rules = [rule for rule in RULES if rule is not check_library]
    return [finding for rule in rules for finding in rule(wheel, EXPECTED)]


def changed(name: str, old: bytes, new: bytes) -> Wheel:
    assert old in GOOD.contents[name]
    contents = {**GOOD.contents, name: GOOD.contents[name].replace(old, new)}
    return dataclasses.replace(GOOD, contents=contents)


def test_nothing_is_wrong_with_a_good_wheel() -> None:
    assert findings(GOOD) == []


@pytest.mark.parametrize(
    ("wheel", "said"),
    [
        (dataclasses.replace(GOOD, size=13_000_000), "13.0 MB"),
        (
            dataclasses.replace(GOOD, name=NAME.replace("py3-none", "cp313-cp313")),
            "not of a tag py3-none-<platform>",
        ),
        (
            dataclasses.replace(
                changed(WHEEL, b"manylinux_2_28", b"linux"),
                name=NAME.replace("manylinux_2_28", "linux"),
            ),
            "that can be uploaded",
        ),
        (changed(WHEEL, b"_2_28_", b"_2_34_"), "the tags in WHEEL"),
        (changed(WHEEL, b"false", b"true"), "Root-Is-Purelib"),
        (changed(WHEEL, b"Tag", b"Root-Is-Purelib: false\nTag"), "Root-Is-Purelib"),  # pitfall 34
        (changed(METADATA, b"<0.13", b"<0.12"), "it requires"),
        (changed(METADATA, b"License-File: LICENSE\n", b""), "licence files"),
        (changed(METADATA, b"License-Expression: MIT\n", b""), "License-Expression"),
        (changed(METADATA, b"text/markdown", b"text/plain"), "its readme is text/plain"),
        (changed(f"{INFO}/entry_points.txt", b"= mychip", b"= other"), "entry points"),
        (changed(SBOM, b"{", b"("), "is no CycloneDX"),
        (changed(SBOM, b'"1.6"', b'"0.6"'), "is no CycloneDX"),
        (changed(SBOM, b'"1.6"', b"1.6"), "is not as CycloneDX has it: 1.6"),
        (changed(SBOM, b'"type": "library", ', b""), "is not as CycloneDX has it: 'type'"),
        (changed(SBOM, b'"0.1.0"', b'"0.2.0"'), "the SBOM is about Version 0.2.0"),
        (changed(SBOM, b'"MIT"', b'"Apache-2.0"'), "the SBOM gives the wheel the licence"),
        (
            changed(SBOM, b'"metadata": {', b'"metadata": {"timestamp": "2026-01-01T00:00:00Z", '),
            "the next build says otherwise: timestamp",
        ),
        (changed(SBOM, b"[]", b'[{"type": "library", "name": "x"}]'), "the SBOM lists [x]"),
    ],
)
def test_findings(wheel: Wheel, said: str) -> None:
    found = findings(wheel)
    assert said in found[0]
    assert len(found) == 1 + ("lists [x]" in said)  # which has no licence either


def test_software_of_others() -> None:
    """A library that auditwheel grafted, with its licence and its entry in the SBOM."""
    expected = dataclasses.replace(
        EXPECTED,
        licences=frozenset({"LICENSE", "LICENSE.fastmath"}),
        components=frozenset({"fastmath"}),
        libraries=frozenset({"libfastmath.so.1"}),
    )
    metadata = GOOD.contents[METADATA].replace(
        b"License-File: LICENSE\n", b"License-File: LICENSE\nLicense-File: LICENSE.fastmath\n"
    )
    text = f"{INFO}/licenses/LICENSE.fastmath"
    sbom = GOOD.contents[SBOM].replace(b'"components": []', FASTMATH)
    contents = {**GOOD.contents, METADATA: metadata, text: b"", SBOM: sbom, BUNDLED: b""}

    def found(**other: bytes) -> list[str]:
        wheel = dataclasses.replace(GOOD, contents=contents | other)
        rules = [rule for rule in RULES if rule is not check_library]
        return [finding for rule in rules for finding in rule(wheel, expected)]

    assert found() == []
    unnamed = sbom.replace(b"libfastmath", b"libslowmath")
    assert found(**{SBOM: unnamed}) == [
        f"the SBOM does not name the bundled library {BUNDLED[17:]}"
    ]
    (lacking,) = found(**{SBOM: sbom.replace(b"LICENSE.fastmath", b"LICENSE.other")})
    assert lacking == "the licence of fastmath, LICENSE.other, is not in the wheel"
    del contents[BUNDLED]
    assert found() == ["libfastmath.so.1 is missing"]


# pitfall 39: the wheel lacks the library
@pytest.mark.parametrize("name", sorted(GOOD.contents))
def test_every_file_is_missed(name: str) -> None:
    contents = {other: data for other, data in GOOD.contents.items() if other != name}
    assert f"{name} is missing" in findings(dataclasses.replace(GOOD, contents=contents))


@pytest.mark.parametrize(
    "name", ["mychip/test_x.py", "jax_plugins/__init__.py", "mychip_pjrt.libs/libfoo.so"]
)
def test_what_does_not_belong(name: str) -> None:
    wheel = dataclasses.replace(GOOD, contents={**GOOD.contents, name: b""})
    assert findings(wheel)[0] == f"{name} does not belong here"


def test_pure_python() -> None:
    """The front of two packages: no library, of no platform, and it requires the other one."""
    expected = dataclasses.replace(EXPECTED, library="", core="mychip-pjrt-core==0.1.0")
    contents = {
        **{n: data for n, data in GOOD.contents.items() if n != SBOM and not n.endswith(".so")},
        WHEEL: b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        METADATA: GOOD.contents[METADATA].replace(
            b"Requires-Dist: jax", b"Requires-Dist: mychip-pjrt-core==0.1.0\nRequires-Dist: jax"
        ),
    }
    pure = Wheel("mychip_pjrt-0.1.0-py3-none-any.whl", 20_000, contents)
    assert check(pure, expected) == []
    with_sbom = dataclasses.replace(pure, contents={**contents, SBOM: GOOD.contents[SBOM]})
    assert check(with_sbom, expected) == [f"{SBOM} does not belong here"]
    assert any("not of the tag py3-none-any" in finding for finding in check(GOOD, expected))
    unpinned = {**contents, METADATA: GOOD.contents[METADATA]}
    (said,) = check(dataclasses.replace(pure, contents=unpinned), expected)
    assert "mychip-pjrt-core==0.1.0" in said
    (said,) = check(pure, dataclasses.replace(expected, core=""))
    assert "it requires" in said


def test_good_library() -> None:
    needed = ("libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-aarch64.so.1")
    assert not list(library_findings(Library(("GetPjrtApi",), needed, ("$ORIGIN",))))


def test_good_libraries_of_other_systems() -> None:
    macos = Library(
        ("GetPjrtApi",),
        ("/usr/lib/libc++.1.dylib", "/usr/lib/libSystem.B.dylib"),
        ("@loader_path",),
        "macos",
    )
    assert not list(library_findings(macos))
    needed = ("KERNEL32.dll", "api-ms-win-crt-heap-l1-1-0.dll", "VCRUNTIME140_1.dll")
    assert not list(library_findings(Library(("GetPjrtApi",), needed, system="windows")))


# pitfall 34: the library looks for others where it was built
# pitfall 35: the library needs one that the manylinux image does not have
@pytest.mark.parametrize(
    ("library", "said"),
    [
        (Library(()), "exports nothing"),
        (Library(("GetPjrtApi", "Other")), "exports GetPjrtApi, Other"),
        (Library(("_GetPjrtApi",)), "exports _GetPjrtApi"),
        (Library(("GetPjrtApi",), ("libnsl.so.2",)), "needs libnsl.so.2"),
        (Library(("GetPjrtApi",), ("libpython3.12.so.1.0",)), "needs libpython3.12"),
        (Library(("GetPjrtApi",), (), ("/opt/vendor",)), "looks for others in /opt/vendor"),
        (Library(("GetPjrtApi",), (), ("$ORIGINAL",)), "looks for others in $ORIGINAL"),
        (Library(("GetPjrtApi",), (), ("$ORIGIN",), "macos"), "only @loader_path goes with it"),
        (Library(("GetPjrtApi",), ("/opt/v.dylib",), (), "macos"), "which macOS does not have"),
        (Library(("GetPjrtApi",), ("msvcp140.dll",), (), "windows"), "needs msvcp140.dll"),
        (Library(("GetPjrtApi",), ("libstdc++-6.dll",), (), "windows"), "needs libstdc++-6.dll"),
    ],
)
def test_findings_in_a_library(library: Library, said: str) -> None:
    (found,) = library_findings(library)
    assert said in found


def test_a_library_that_comes_with_it() -> None:
    library = Library(("GetPjrtApi",), ("libfastmath-0a1b2c3d.so.1",), ("$ORIGIN/../x.libs",))
    assert not list(library_findings(library, ["libfastmath-0a1b2c3d.so.1"]))
    assert len(list(library_findings(library))) == 1


def test_differences() -> None:
    other = dataclasses.replace(GOOD, contents={**GOOD.contents, WHEEL: b"", "more": b""})
    assert differences(GOOD, GOOD) == []
    assert differences(GOOD, other) == ["more", WHEEL]
    assert differences(GOOD, other, but=[WHEEL]) == ["more"]


def test_what_is_no_library() -> None:
    with pytest.raises(ValueError, match="no library"):
        read_library(b"not at all")


@pytest.mark.slow
def test_a_tampered_library_in_a_wheel(tmp_path: Path) -> None:
    """Compiled for this, read back from a file."""
    source = tmp_path / "plugin.cc"
    source.write_text(
        'extern "C" int GetPjrtApi() { return 0; }\n#ifdef MORE\nint More = 1;\n#endif\n'
    )

    def findings_with(*flags: str) -> list[str]:
        library = tmp_path / "library.so"
        command = ["c++", "-shared", "-fPIC", *flags, str(source), "-o", str(library)]
        subprocess.run(command, check=True)
        path = tmp_path / NAME
        with zipfile.ZipFile(path, "w") as archive:
            contents = GOOD.contents | {"mychip/pjrt_plugin_mychip.so": library.read_bytes()}
            for name, data in contents.items():
                archive.writestr(name, data)
        return check(read(path), dataclasses.replace(EXPECTED, build_paths=(str(tmp_path),)))

    assert findings_with() == []
    (exports,) = findings_with("-DMORE")
    assert "exports" in exports
    (search_path,) = findings_with("-Wl,-rpath,/opt/vendor")
    assert "/opt/vendor" in search_path
    assert len(findings_with(f"-Wl,-rpath,{tmp_path}")) == 2  # as a search path, as a path at all


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(local_cibuildwheel.UnavailableError, match="apt install podman runc"):
        local_cibuildwheel.run(tmp_path, tmp_path, ["3.12"], tmp_path / "log")
