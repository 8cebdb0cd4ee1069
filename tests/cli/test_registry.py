"""`pjrt-scaffold registry`, as a user sees it."""

from __future__ import annotations

import json

from tests.cli.conftest import Command, Run


def test_list(run: Command) -> None:
    result = run("registry", "list")
    names = result.out.splitlines()
    assert names == sorted(names)
    assert {"PJRT_Client_Create", "PJRT_Client_Create_Args", "PJRT_Buffer_Type"} <= set(names)
    assert result.err == f"{len(names)} names; API versions 0.54 to 0.117.\n"
    data = json.loads(run("registry", "list", "--json").out)
    assert data["names"] == names
    assert data["versions"][0] == "0.54"
    assert data["versions"][-1] == "0.117"


def test_show(run: Command) -> None:
    with_prefix, without = (
        run("registry", "show", "PJRT_Error_Destroy"),
        run("registry", "show", "Error_Destroy"),
    )
    assert with_prefix == without
    assert with_prefix.err == ""
    assert with_prefix.out.startswith(
        "function void PJRT_Error_Destroy(PJRT_Error_Destroy_Args*)\n"
    )
    (shown,) = json.loads(run("registry", "show", "PJRT_Error_Destroy", "--json").out)
    assert shown["kind"] == "function"
    assert shown["args"] == "PJRT_Error_Destroy_Args"


def test_show_unknown(run: Command) -> None:
    assert run("registry", "show", "Client_Creat") == Run(
        "",
        "pjrt-scaffold: The registry knows no Client_Creat\n"
        "  Similar names: PJRT_Client_Create, PJRT_Client_Create_Args, PJRT_Event_Create\n"
        "  pjrt-scaffold registry list prints all names\n",
        2,
    )


def test_import_of_a_folder_without_headers(run: Command) -> None:
    result = run("registry", "import", ".")
    assert (result.out, result.status) == ("", 2)
    assert result.err.startswith("pjrt-scaffold: . holds no xla/pjrt/c/pjrt_c_api.h, and no ")
