"""The typed model, and that the templates see the same API."""

from __future__ import annotations

import json
from typing import Any

import jinja2
import pytest

from pjrt_scaffold.errors import UsageError
from pjrt_scaffold.registry import Change, Registry, diff, names, show
from pjrt_scaffold.registry.load import FOLDER, read
from tests.support.rendering import ROOT


def test_type_is_decomposed_and_declarator_kept(registry: Registry) -> None:
    api = registry.at(112)
    devices = api.structs["PJRT_Client_Devices_Args"].fields(112)[3]
    assert (devices.decl, devices.offset, devices.size) == ("PJRT_Device* const* devices", 24, 8)
    assert (devices.type.base, devices.type.pointer, devices.type.const) == (
        "PJRT_Device",
        2,
        False,
    )


def test_layout_that_was_replaced(registry: Registry) -> None:
    """0.75 put struct_size in front of PJRT_ProcessInfo."""
    info = registry.at(75).structs["PJRT_ProcessInfo"]
    assert [f.name for f in info.fields(74)][:2] == ["task_id", "incarnation_id"]
    assert [f.name for f in info.fields(75)][:2] == ["struct_size", "task_id"]
    assert (info.end(74), info.end(75)) == (40, 48)


def test_declared_size_smaller_than_the_struct(registry: Registry) -> None:
    args = registry.at(70).structs["PJRT_Plugin_Attributes_Args"]
    assert (args.struct_size.at(70), args.end(70)) == (24, 32)
    assert (args.struct_size.at(71), args.end(71)) == (32, 32)


def test_slots_of_the_withdrawn_version(registry: Registry) -> None:
    (function,) = [f for f in registry.functions if f.name == "PJRT_Buffer_CopyRawToHost"]
    assert [function.slots.at(m) for m in (55, 56, 57, 117)] == [None, 69, 100, 100]


def test_opaque_type_became_a_struct(registry: Registry) -> None:
    assert "PJRT_Memory" in registry.at(104).opaque
    assert "PJRT_Memory" not in registry.at(105).opaque
    (vtable,) = registry.at(105).structs["PJRT_Memory"].fields(105)
    assert vtable.decl == "const PJRT_Memory_FunctionTable* vtable"


@pytest.mark.parametrize("minor", [54, 56, 74, 81, 104, 117])
def test_templates_see_the_same_api_as_the_model(registry: Registry, minor: int) -> None:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROOT), undefined=jinja2.StrictUndefined
    )
    environment.filters["to_json"] = json.dumps
    template = environment.get_template("pjrt_scaffold/registry/api.json.jinja")
    data = {"abi": read("abi.json"), "annotations": read("annotations.json")}
    seen: dict[str, Any] = json.loads(template.render(api_minor=minor, **data))
    api = registry.at(minor)

    assert [f["name"] for f in seen["functions"]] == [f.name for f in api.functions]
    assert [f["name"] for f in seen["typedefs"]] == [f.name for f in api.extension_functions]
    assert {s["name"]: _names(s["fields"]) for s in seen["structs"]} == {
        s.name: [(f.name, f.decl, [m.name for m in f.union]) for f in s.fields(minor)]
        for s in api.structs.values()
    }
    assert {s["name"]: s["end"] for s in seen["structs"]} == {
        s.name: s.end(minor) for s in api.structs.values()
    }
    assert {e["name"]: [(v["name"], v["value"]) for v in e["values"]] for e in seen["enums"]} == {
        e.name: [(v.name, v.value) for v in e.values] for e in api.enums.values()
    }
    assert {o["name"] for o in seen["opaque"]} == set(api.opaque)
    assert {c["name"] for c in seen["callbacks"]} == set(api.callbacks)
    assert {c["name"]: c["value"] for c in seen["constants"]} == {
        c.name: c.values.at(minor) for c in api.constants.values()
    }


def _names(fields: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    return [(f["name"], f.get("decl", ""), [m["name"] for m in f.get("union", [])]) for f in fields]


def test_diff_of_one_bump(registry: Registry) -> None:
    assert diff(registry, 100, 101) == [
        Change("PJRT_Megascale_Extension.get_interface_addresses_helper", "field added"),
        Change("PJRT_Megascale_Extension_STRUCT_SIZE", "232 became 240"),
        Change("PJRT_Megascale_GetInterfaceAddressesHelper_Args", "type added"),
        Change("PJRT_Megascale_SerializedAddresses", "type added"),
        Change("PJRT_TopologyDescription_Fingerprint", "function added"),
        Change("PJRT_TopologyDescription_Fingerprint_Args", "type added"),
    ]


def test_diff_reports_moved_slots_and_replaced_layouts(registry: Registry) -> None:
    assert Change("PJRT_Buffer_CopyToDevice", "moved from slot 69 to 70") in diff(registry, 55, 56)
    changes = diff(registry, 74, 75)
    assert Change("PJRT_ProcessInfo.task_id", "moved from byte 0 to 8") in changes
    assert diff(registry, 105, 105) == []


def test_show_describes_a_function_without_its_prefix(registry: Registry) -> None:
    assert show("Client_UpdateGlobalProcessInfo", registry) == (
        "function PJRT_Error* PJRT_Client_UpdateGlobalProcessInfo"
        "(PJRT_Client_UpdateGlobalProcessInfo_Args*)\n"
        "  since 0.73\n"
        "  slot 113\n"
        "  level optional, default answer success, neutral values; any error aborts the framework\n"
        "  called: multi-process jobs: background thread that watches the coordination service\n"
        "  without an implementation: success without work; an error aborts a distributed job\n"
        "  must not be null: client"
    )


def test_show_lists_similar_names(registry: Registry) -> None:
    with pytest.raises(UsageError, match="no Client_Creat\nSimilar names: PJRT_Client_Create, "):
        show("Client_Creat", registry)


def test_every_name_can_be_shown(registry: Registry) -> None:
    for name in names(registry):
        assert show(name, registry).split("\n")[0].count(name) >= 1


def test_schema_folder_covers_every_data_file() -> None:
    data = {p.name.removesuffix(".json") for p in FOLDER.glob("*.json")}
    schemas = {p.name.removesuffix(".schema.json") for p in (FOLDER / "schema").iterdir()}
    assert data - {"ffi"} == schemas  # ffi.json is of the form of abi.json
