"""The registry's files: their schemas, and that they fit together."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
from packaging.version import Version

from pjrt_scaffold.registry import Registry, UnknownVersionError, load_ffi
from pjrt_scaffold.registry.compare import new_function
from pjrt_scaffold.registry.consistency import (
    problems,
    stray_notes,
    unannotated,
    unexplained,
)
from pjrt_scaffold.registry.load import FOLDER, read


@pytest.mark.parametrize("name", ["abi", "ffi", "annotations", "jaxlib", "jax", "index"])
def test_file_follows_its_schema(name: str) -> None:
    schema = read(f"schema/{'abi' if name == 'ffi' else name}.schema.json")
    jsonschema.Draft202012Validator.check_schema(schema)
    errors = jsonschema.Draft202012Validator(schema).iter_errors(read(f"{name}.json"))
    assert [f"{e.json_path}: {e.message}" for e in errors] == []


@pytest.mark.parametrize("name", ["abi", "annotations", "jax", "index"])
def test_file_passes_through_a_template_unchanged(name: str) -> None:
    """copier includes these files, so they may hold nothing that Jinja reads."""
    text = (FOLDER / f"{name}.json").read_text()
    assert re.findall(r"\{\{|\{%|\{#", text) == []


def test_no_comment_of_a_header_is_in_the_data() -> None:
    declarations = re.findall(r'"decl":"([^"]*)"', (FOLDER / "abi.json").read_text())
    assert len(declarations) > 1000
    odd = [d for d in declarations if not re.fullmatch(r"[\w ,:*()\[\]]*", d)]
    assert odd == []


def test_registry_is_consistent(registry: Registry) -> None:
    assert problems(registry) == []


def test_every_function_and_extension_is_annotated(registry: Registry) -> None:
    assert unannotated(registry) == []


def test_every_change_that_is_no_addition_is_explained(registry: Registry) -> None:
    assert unexplained(registry) == []
    assert stray_notes(registry) == []


def test_ffi_data_is_consistent() -> None:
    registry = load_ffi()
    assert problems(registry) == []
    newest = registry.at(registry.minors[-1])
    assert newest.structs["XLA_FFI_Buffer"].end(newest.minor) == 48
    assert newest.synonyms["XLA_FFI_Handler_Traits"].type == "uint32_t"


def test_annotations_name_only_what_exists(registry: Registry) -> None:
    annotations = read("annotations.json")
    assert set(annotations["functions"]) <= {f.name for f in registry.functions}
    assert set(annotations["structs"]) <= {s.name for s in registry.structs}


def test_constants_that_count_as_answers(registry: Registry) -> None:
    """A function is a gap unless its default is what a plugin without the feature should answer.

    Whoever adds one says here why that is so; `stopgap` marks those that only keep going.
    """
    right = {
        "PJRT_Plugin_Initialize": "nothing to initialise",
        "PJRT_Plugin_Attributes": "none to tell",
        "PJRT_Client_ProcessIndex": "one process, whose index is 0",
        "PJRT_DeviceDescription_ProcessIndex": "one process, whose index is 0",
        "PJRT_DeviceDescription_Attributes": "none to tell",
        "PJRT_Device_IsAddressable": "one process, which reaches all devices",
        "PJRT_Executable_SizeOfGeneratedCodeInBytes": "0 is not known",
        "PJRT_Buffer_IsOnCpu": "what a host reads directly is the exception",
        "PJRT_TopologyDescription_Attributes": "none to tell",
        "PJRT_Client_UpdateGlobalProcessInfo": "one process, which knows of itself",
        "PJRT_LoadedExecutable_GetDeviceAssignment": "empty: frameworks keep their own",
        "PJRT_Device_CreateAsyncTrackingEvent": "no event: nothing is tracked",
        "PJRT_AsyncTrackingEvent_Destroy": "there is none",
        "PJRT_Error_ForEachPayload": "errors carry none",
    }
    newest = registry.at(registry.minors[-1])
    functions = [new_function(f, slot) for slot, f in enumerate(newest.functions)]
    assert {f.name for f in functions if not f.is_gap} == set(right)


def test_index_lists_the_versions_newest_first(registry: Registry) -> None:
    index = read("index.json")
    minors = [int(v.split(".")[1]) for v in index["versions"]]
    assert minors == [m for m in reversed(registry.minors) if m != 56]
    assert index["newest"] == f"0.{registry.minors[-1]}"
    assert index["default"] in index["versions"]


def test_default_version_is_spoken_by_a_jaxlib() -> None:
    releases = read("jaxlib.json")["releases"]
    assert read("index.json")["default"] in {r["framework"] for r in releases.values()}


def test_tested_releases_of_jax_go_upwards() -> None:
    """The first and the last make the range of the wheel, and each Python chooses one of them."""
    rows = read("jax.json")["tested"]
    for key in ("jax", "python"):
        versions = [Version(row[key]) for row in rows]
        assert versions == sorted(set(versions))
    assert rows[-1]["jax"] == max(read("jaxlib.json")["releases"], key=Version)


def test_unknown_version_is_refused(registry: Registry) -> None:
    with pytest.raises(UnknownVersionError, match=r"0\.999 is not in the registry, which holds"):
        registry.at(999)


def test_table_only_grows_but_for_the_withdrawn_version(registry: Registry) -> None:
    """Plugins and frameworks of different versions rely on it."""
    before: list[str] = []
    for minor in registry.minors:
        if minor == 56:
            continue
        names = [f.name for f in registry.at(minor).functions]
        assert names[: len(before)] == before
        before = names
    assert len(before) == 138


def test_data_is_one_item_a_line() -> None:
    """So that the diff of an import shows what changed."""
    lines = (FOLDER / "abi.json").read_text().splitlines()
    items = [line for line in lines if line.startswith("  {")]
    data = json.loads("\n".join(lines))
    assert len(items) == sum(
        len(v) for v in data.values() if isinstance(v, list) and isinstance(v[0], dict)
    )
