"""`pjrt-scaffold diff`, as a user sees it."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Command


def test_json_holds_what_a_bump_brings(run: Command) -> None:
    data = json.loads(run("diff", "0.90", "0.117", "--json").out)
    assert (data["old"], data["new"]) == ("0.90", "0.117")
    functions = {f["name"]: f for f in data["functions"]}
    assert len(functions) == 10
    payload = functions["PJRT_Error_ForEachPayload"]
    assert (payload["since"], payload["slot"], payload["level"]) == ("0.99", 132, "run")
    assert payload["stub"] == "success, neutral values"
    options = next(s for s in data["structs"] if s["name"] == "PJRT_ExecuteOptions")
    assert (options["old_size"], options["new_size"]) == (112, 160)
    assert options["fields"][0]["decl"] == "PJRT_MultiSlice_Config* multi_slice_config"
    values = {v["name"]: v["value"] for v in data["values"]}
    assert values["PJRT_Buffer_Type_F6E2M3FN"] == 32
    extensions = {e["name"]: e for e in data["extensions"]}
    transfers = extensions["cross_host_transfers"]
    assert (transfers["old_version"], transfers["new_version"]) == (5, 8)
    assert transfers["structs"][0]["fields"][0] == {"since": "0.117", "decl": "size_t num_tasks"}
    assert extensions["host_allocator"]["what"] == "removed"
    assert len(extensions["megascale"]["changes"]) > 20
    notes = {name for note in data["notes"] for name in note["about"]}
    assert {"PJRT_Memory", "PJRT_Error", "PJRT_Device_GetAttributes"} <= notes
    assert all(note["action"] for note in data["notes"])


def test_a_jaxlib_release_names_a_version(run: Command) -> None:
    by_release = run("diff", "jaxlib==0.9.0", "jaxlib==0.12.0", "--json")
    assert by_release.out == run("diff", "0.90", "0.116", "--json").out
    assert by_release.status == 0


def test_text_leads_with_what_a_plugin_must_do(run: Command) -> None:
    lines = run("diff", "0.104", "0.105").out.splitlines()
    assert lines[0].startswith("PJRT C API 0.104 to 0.105: no new functions, ")
    assert lines[2:4] == [
        "What a plugin must know",
        "  0.105 layout: PJRT_Memory, PJRT_Memory_FunctionTable",
    ]
    assert "To do: Begin the object with a pointer" in lines[5]


def test_text_keeps_extensions_that_only_tpus_have_short(run: Command) -> None:
    def rows(*options: str) -> list[str]:
        lines = run("diff", "0.90", "0.117", *options).out.splitlines()
        return [" ".join(line.split()) for line in lines[lines.index("Extensions") + 1 :]]

    short, everything = rows(), rows("--all")
    assert "megascale TPU plugins 35 changes, see --all" in short
    assert not any(row.startswith("PJRT_Megascale") for row in short)
    assert "PJRT_Megascale_RegisterErrorHandler_Args: type added" in everything
    shardings = next(row for row in short if row.startswith("shardings"))
    assert shardings.startswith("shardings any plugin new; without it frameworks read")
    layouts = short.index("layouts any plugin version 3 became 4")
    assert short[layouts + 1].startswith("PJRT_Layouts_Extension 72 → 80: ")


def test_markdown_is_a_check_list_and_tables(run: Command) -> None:
    text = run("diff", "0.90", "0.117", "--markdown").out
    assert text.startswith("## PJRT C API 0.90 to 0.117\n")
    assert "- [ ] **0.99** (meaning) `PJRT_Error_ForEachPayload`" in text
    assert "| `PJRT_Buffer_Bitcast` | 0.98 | optional | null slot | IFRT bitcast arrays |" in text


def test_a_version_differs_in_nothing_from_itself(run: Command) -> None:
    data = json.loads(run("diff", "0.100", "0.100", "--json").out)
    assert [key for key, value in data.items() if value and key not in ("old", "new")] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["0.90", "0.999"], "API version 0.999 is not in the registry\n  the registry holds 0.54"),
        (["0.9", "1.0"], "API version 0.9 is not in the registry"),
        (["latest", "0.117"], "'latest' is no version\n"),
        (["jaxlib==9.9", "0.117"], "jaxlib 9.9 is not in the registry\n  known releases: 0.4.14"),
        (["jaxlib==0.4.20", "0.117"], "jaxlib 0.4.20 speaks API version 0.38\n"),
        (["0.117", "0.90"], "0.117 is newer than 0.90\n"),
        (["0.90", "0.117", "--json", "--markdown"], "--json and --markdown exclude each other"),
    ],
)
def test_bad_versions_are_refused(run: Command, arguments: list[str], message: str) -> None:
    result = run("diff", *arguments)
    assert (result.out, result.status) == ("", 2)
    assert result.err.startswith(f"pjrt-scaffold: {message}")
