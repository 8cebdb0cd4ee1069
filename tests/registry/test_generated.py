"""The C++ that the template makes of the registry."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pjrt_scaffold.registry import Registry, load, load_ffi
from pjrt_scaffold.registry.importer import import_headers
from tests.registry.conftest import OFFERED, VERSIONS, Render, compile_and_run, compile_source
from tests.registry.layouts import facts, program
from tests.support.googletest import GoogleTest
from tests.support.rendering import Renderer

NEWEST = OFFERED[-1]


@pytest.mark.parametrize("minor", VERSIONS)
def test_import_reads_the_generated_header_as_the_registry_has_it(
    minor: int, csrc: Render, registry: Registry, tmp_path: Path
) -> None:
    (tmp_path / "annotations.json").write_text('{"format": 1, "functions": {}}')
    import_headers(csrc(minor) / "generated" / "pjrt_c_api.h", folder=tmp_path)
    assert facts(load(tmp_path).at(minor), {""}) == facts(registry.at(minor), {""})


@pytest.mark.slow
@pytest.mark.parametrize("minor", VERSIONS)
def test_headers_have_the_layout_of_the_registry(
    minor: int, csrc: Render, registry: Registry, tmp_path: Path
) -> None:
    """The compiler agrees with the sizes and offsets that the import measured, extensions too."""
    api = registry.at(minor)
    headers = frozenset(struct.header for struct in api.structs.values())
    source = tmp_path / "facts.cc"
    source.write_text(program(api, ["generated/pjrt_extensions.h"], headers))
    output = compile_and_run(source, csrc(minor), "-w", "-O0", env=dict(os.environ))
    seen = {
        name: (int(a), int(b)) for name, a, b in (x.rsplit(" ", 2) for x in output.splitlines())
    }
    for struct in api.structs.values():
        for field in struct.fields(minor):
            for member in field.union or (field,):
                assert seen[f"{struct.name}, {member.name}"] == (member.offset, member.size)
        if (size := struct.struct_size.at(minor)) is not None:
            assert seen[f"{struct.name}_STRUCT_SIZE"][0] == size
    for enum in api.enums.values():
        assert {v.name: seen[v.name][0] for v in enum.values} == {
            v.name: v.value for v in enum.values
        }
    for index, function in enumerate(api.functions):
        assert seen[f"slot {function.name}"][0] == 40 + 8 * index
    assert seen["PJRT_Api_STRUCT_SIZE"][0] == registry.api_struct_size.at(minor)


@pytest.mark.slow
def test_ffi_header_has_the_layout_of_the_registry(csrc: Render, tmp_path: Path) -> None:
    """The newest FFI version, whatever the PJRT version is."""
    registry = load_ffi()
    api = registry.at(registry.minors[-1])
    source = tmp_path / "facts.cc"
    text = program(api, ["generated/xla_ffi_c_api.h"], frozenset({""}), "XLA_FFI_Api")
    source.write_text(text)
    output = compile_and_run(source, csrc(NEWEST), "-w", "-O0", env=dict(os.environ))
    seen = {
        name: (int(a), int(b)) for name, a, b in (x.rsplit(" ", 2) for x in output.splitlines())
    }
    for struct in api.structs.values():
        for field in struct.fields(api.minor):
            assert seen[f"{struct.name}, {field.name}"] == (field.offset, field.size)
        if (size := struct.struct_size.at(api.minor)) is not None:
            assert seen[f"{struct.name}_STRUCT_SIZE"][0] == size
    for enum in api.enums.values():
        assert {v.name: seen[v.name][0] for v in enum.values} == {
            v.name: v.value for v in enum.values
        }
    for index, function in enumerate(api.functions):
        assert seen[f"slot {function.name}"][0] == 48 + 8 * index
    assert seen["XLA_FFI_Api_STRUCT_SIZE"][0] == registry.api_struct_size.at(api.minor)
    oldest = csrc(VERSIONS[0]) / "generated" / "xla_ffi_c_api.h"
    assert oldest.read_text() == (csrc(NEWEST) / "generated" / "xla_ffi_c_api.h").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("minor", [54, 75, 81, 105, NEWEST])
def test_guard_serves_every_struct_size(
    minor: int, csrc: Render, gtest: GoogleTest, tmp_path: Path
) -> None:
    """Runs csrc/plugin/guard_test.cc under the sanitizers, and reads the trace that it leaves."""
    include = csrc(minor)
    source = tmp_path / "guard_test.cc"
    source.write_text((include / "plugin" / "guard_test.cc").read_text())
    trace = tmp_path / "trace.txt"
    output = compile_and_run(
        source,
        include,
        *("-O1", "-g0", "-fsanitize=address,undefined", *gtest.compile),
        env={**os.environ, "MYCHIP_TRACE": str(trace)},
        link=gtest.link,
    )
    assert re.search(r"\[  PASSED  \] \d+ tests\.\n", output)
    lines = trace.read_text().splitlines()
    assert all(re.fullmatch(r"PJRT_\w+\t\d+\t[A-Z_]+", line) for line in lines)
    assert any(line.startswith("PJRT_Client_Destroy\t") for line in lines)
    assert any(line.endswith("\tINVALID_ARGUMENT") for line in lines)


def test_table_is_filled_without_code_at_load_time(csrc: Render, tmp_path: Path) -> None:
    source = tmp_path / "table.cc"
    source.write_text(
        '#include "generated/table.h"\n'
        "namespace g = PJRT_PLUGIN_NS::generated;\n"
        "constinit const PJRT_Api table = g::make_table<g::Defaults>();\n"
        "static_assert(g::make_table<g::Defaults>().PJRT_Event_Create == nullptr);\n"
    )
    compile_source(source, csrc(NEWEST), "g++", "-std=c++20", "-fsyntax-only")


def test_override_of_a_function_that_does_not_exist_is_refused(
    csrc: Render, tmp_path: Path
) -> None:
    source = tmp_path / "override.cc"
    source.write_text(
        '#include "generated/table.h"\n'
        "struct Api : PJRT_PLUGIN_NS::generated::Defaults {\n"
        "  PJRT_OVERRIDE(Client_Compile);\n  PJRT_OVERRIDE(Device_GetAttributes);\n};\n"
    )
    compile_source(source, csrc(92), "g++", "-std=c++20", "-fsyntax-only")
    done = subprocess.run(
        ["g++", "-std=c++20", "-fsyntax-only", f"-I{csrc(81)}", source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "this PJRT API version has no function PJRT_Device_GetAttributes" in done.stderr
    assert done.stderr.count("error:") == 1


def test_feature_macros_follow_the_version(csrc: Render) -> None:
    names = {
        "PJRT_Device_GetAttributes": 92,
        "PJRT_ExecuteOptions_call_location": 76,
        "PJRT_Buffer_Type_F8E4M3": 55,
        "PJRT_Error_FunctionTable": 107,
        "PJRT_ProcessInfo_struct_size": 75,
        "PJRT_Shardings_Extension": 91,
    }
    for minor in (55, 81, 112):
        text = (csrc(minor) / "generated" / "features.h").read_text()
        for name, since in names.items():
            assert f"PJRT_SCAFFOLD_HAS_{name} {1 if since <= minor else 0}\n" in text
        defined = re.findall(r"^#define (\w+)", text, re.MULTILINE)
        assert len(defined) == len(set(defined))


@pytest.mark.parametrize("minor", VERSIONS)
def test_generated_files_are_formatted(minor: int, csrc: Render) -> None:
    folder = csrc(minor)
    files = [p for p in (folder / "generated").iterdir() if p.suffix == ".h"]
    assert len(files) >= 10
    program = Path(sys.executable).with_name("clang-format")
    style = f"--style=file:{folder.parent / '.clang-format'}"
    done = subprocess.run(
        [program, style, "--dry-run", "-Werror", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:2000]


def test_generated_text_has_no_template_residue(csrc: Render) -> None:
    for path in (csrc(NEWEST) / "generated").iterdir():
        text = path.read_text()
        assert "{%" not in text
        assert "{#" not in text
        assert "\n\n\n" not in text
        assert not re.search(r"[ \t]$", text, re.MULTILINE)
        assert text.endswith("\n")


def test_manifest_holds_the_hash_of_every_file(csrc: Render) -> None:
    folder = csrc(NEWEST) / "generated"
    files = sorted(p for p in folder.iterdir() if p.name != "MANIFEST")
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in files]
    assert (folder / "MANIFEST").read_text() == "".join(lines)


def test_longest_names_are_formatted(render: Renderer) -> None:
    answers = {"plugin_name": "p" * 40, "project_name": "P" * 64, "vendor": "V" * 64}
    config = render(answers) / "csrc" / "generated" / "config.h"
    program = Path(sys.executable).with_name("clang-format")
    style = "--style={BasedOnStyle: Google, ColumnLimit: 100}"
    done = subprocess.run([program, style, config], capture_output=True, text=True, check=True)
    assert config.read_text() == done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 100


def test_rendering_is_deterministic(render: Renderer, tmp_path: Path) -> None:
    answers = {"pjrt_api_version": "0.112"}
    first = render(answers) / "csrc" / "generated"
    second = render.fresh(answers, tmp_path / "again") / "csrc" / "generated"
    assert {p.name: p.read_bytes() for p in first.iterdir()} == {
        p.name: p.read_bytes() for p in second.iterdir()
    }
