"""`pjrt-scaffold compat`, as a user sees it, on small plugins in C."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command

# A table of 150 slots: errors in slots 0 to 2, attributes in slot 4, as in every version.
PLUGIN = """
#include <stddef.h>
#include <stdlib.h>
static size_t table[5 + 150];
static size_t version[3] = {{1, {stated}, 0}};
static struct {{ size_t size; void* ext; const char* name; size_t length; int type; void* data;
                size_t count; }} list = {{56, 0, "stablehlo_current_version", 25, 2, 0, 3}};
static char failure;
static void* attributes(size_t* args) {{
  if (args[0] < {least}) {refusal};
  list.data = version; args[2] = (size_t)&list; args[3] = 1;
  return 0;
}}
static void* fine(size_t* args) {{ args[3] = (size_t)"too short"; args[4] = 9; return 0; }}
__attribute__((constructor)) static void at_load(void) {{ {at_load} }}
const void* GetPjrtApi(void) {{
  {crash}
  table[0] = 40 + 8 * {slots};
  ((int*)table)[9] = {minor};
  for (int i = 0; i < 150; ++i) table[5 + i] = (size_t)fine;
  table[5 + 4] = (size_t)attributes;
  {hole}
  return table;
}}
"""
GOOD = {
    **{"stated": 13, "least": 0, "slots": 138, "minor": 117},
    **{"crash": "", "at_load": "", "hole": "", "refusal": "return &failure"},
}


def build(folder: Path, **facts: Any) -> Path:
    source, library = folder / "plugin.c", folder / "plugin.so"
    source.write_text(PLUGIN.format(**(GOOD | facts)))
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", source, "-o", library], check=True)
    return library


def verdicts(run: Command, library: Path) -> dict[str, dict[str, Any]]:
    data = json.loads(run("compat", "--plugin", library, "--json").out)
    return {one["jaxlib"]: one for one in data["releases"]}


def test_releases(run: Command) -> None:
    rows = [line.split() for line in run("compat").out.splitlines()]
    assert ["0.10.2", "0.112", "0.29", "1.13.7", "1.17.0", "running", "it"] in rows
    data = json.loads(run("compat", "--json").out)
    assert {"0.4.14", "0.12.0.1"} <= {release["jaxlib"] for release in data}


def test_plugin_that_takes_short_structs_works_from_0_4_32_on(run: Command, tmp_path: Path) -> None:
    seen = verdicts(run, build(tmp_path))
    assert next(v for v, one in seen.items() if one["works"] == "yes") == "0.4.32"
    assert seen["0.4.31"]["why"] == [
        "it takes plugins of its own API version only, this one is 0.117"
    ]
    assert seen["0.10.2"]["stablehlo"] == "1.13.0"  # what the plugin states
    assert seen["0.4.36"]["stablehlo"] == "1.8.5"  # what that release can at most


@pytest.mark.parametrize("refusal", ["return &failure", "abort()"])
def test_plugin_that_refuses_short_structs(run: Command, tmp_path: Path, refusal: str) -> None:
    seen = verdicts(run, build(tmp_path, least=32, refusal=refusal))
    assert seen["0.6.2"]["works"] == "no"
    assert "24 bytes" in seen["0.6.2"]["why"][0]
    assert seen["0.8.0"]["works"] == "perhaps"
    assert "PJRT_ExecuteOptions (112 of 160 bytes)" in seen["0.8.0"]["why"][0]
    assert seen["0.12.0"]["works"] == "yes"


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"hole": "table[5 + 10] = 0;"}, "PJRT_Client_Create is null"),
        ({"slots": 100}, "the table ends before PJRT_"),
        ({"minor": 20}, "it takes plugins from 0.29 on, this one is 0.20"),
        ({"least": 99}, "PJRT_Plugin_Attributes fails (too short)"),
    ],
)
def test_plugin_that_nobody_can_use(
    run: Command, tmp_path: Path, facts: dict[str, Any], reason: str
) -> None:
    library = build(tmp_path, **facts)
    newest = verdicts(run, library)["0.12.0.1"]
    assert newest["works"] == "no"
    assert any(reason in why for why in newest["why"]), newest["why"]
    assert run("compat", "--plugin", library).status == 1


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"crash": "*(volatile int*)0 = 1;"}, "GetPjrtApi crashed with SIGSEGV"),
        ({"crash": "exit(3);"}, "GetPjrtApi ended with status 3"),
        ({"at_load": "abort();"}, "loading it crashed with SIGABRT"),
        ({"crash": "return (void*)8;"}, "reading the table that GetPjrtApi returned crashed with"),
    ],
)
def test_plugin_that_crashes(
    run: Command, tmp_path: Path, facts: dict[str, Any], reason: str
) -> None:
    library = build(tmp_path, **facts)
    result = run("compat", "--plugin", library)
    assert (result.out, result.status) == ("", 2)
    first, second = result.err.splitlines()
    assert first == f"pjrt-scaffold: DIR/{library.name} could not be read"
    assert second.startswith(f"  {reason}")


def test_attributes_that_crash_are_told_as_a_reason(run: Command, tmp_path: Path) -> None:
    newest = verdicts(run, build(tmp_path, hole="table[5 + 4] = 16;"))["0.12.0.1"]
    assert newest["why"][-1].startswith("PJRT_Plugin_Attributes fails (it crashed with SIG")


@pytest.mark.parametrize("name", ["tiny", "jax_plugins.tiny", "tiny-pjrt"])
def test_installed_plugin_is_found_by_its_names(run: Command, tmp_path: Path, name: str) -> None:
    site = tmp_path / "site"
    package, info = site / "jax_plugins" / "tiny", site / "tiny_pjrt-1.0.dist-info"
    for folder in (package, info):
        folder.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('nothing of a plugin is imported')")
    library = build(package)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-pjrt\nVersion: 1.0\n")
    (info / "RECORD").write_text(f"jax_plugins/tiny/{library.name},,\n")
    result = run("compat", "--plugin", name, env={"PYTHONPATH": str(site)})
    assert result.err.startswith("DIR/site/jax_plugins/tiny/plugin.so: API version 0.117, ")
    assert result.status == 0


def test_releases_with_one_verdict_share_a_line(run: Command, tmp_path: Path) -> None:
    library = build(tmp_path)
    short = [line.split() for line in run("compat", "--plugin", library).out.splitlines()]
    assert short[1][:7] == ["0.4.14", "to", "0.4.31", "0.12", "to", "0.54", "no"]
    assert short[2][:3] == ["0.4.32", "to", "0.12.0.1"]
    assert len(short) == 3
    everything = run("compat", "--plugin", library, "--all").out.splitlines()
    assert len(everything) == 1 + len(json.loads(run("compat", "--json").out))


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        ("nothing/here.so", "There is no file nothing/here.so"),
        ("no_such_plugin", "No file and no installed plugin is named no_such_plugin"),
        ("click", "click has no library that exports GetPjrtApi"),
        (__file__, f"{__file__} is no PJRT plugin that this machine can load"),
    ],
)
def test_what_is_no_plugin(run: Command, plugin: str, message: str) -> None:
    result = run("compat", "--plugin", plugin)
    assert (result.out, result.status) == ("", 2)
    assert result.err.splitlines()[0] == f"pjrt-scaffold: {message}"
