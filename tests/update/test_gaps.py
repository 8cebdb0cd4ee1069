"""What an update says about functions that a repository does not implement."""

from __future__ import annotations

from pathlib import Path

import pytest

from pjrt_scaffold import _gaps
from pjrt_scaffold.registry import load
from tests.support.rendering import Renderer

LAYER = """\
// PJRT_LAYER(Client_DmaMap);
/* PJRT_LAYER(Client_DmaUnmap); */
struct Layer : generated::Defaults {
  PJRT_LAYER(Event_Create);
  static void Error_Destroy(PJRT_Error_Destroy_Args* args);
};
"""
OVERRIDES = """\
struct Api : plugin::Layer {
  PJRT_OVERRIDE(LoadedExecutable_Execute);
  static PJRT_Error* LoadedExecutable_Execute(
      PJRT_LoadedExecutable_Execute_Args* args);
};
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in ((_gaps.LAYER, LAYER), (_gaps.OVERRIDES, OVERRIDES)):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


def test_declared_functions(root: Path) -> None:
    assert _gaps.declared(root / _gaps.LAYER) == {"PJRT_Event_Create", "PJRT_Error_Destroy"}
    assert _gaps.declared(root / _gaps.OVERRIDES) == {"PJRT_LoadedExecutable_Execute"}
    assert _gaps.declared(root / "missing.h") == frozenset()


def test_list_is_held_against_the_api(root: Path) -> None:
    lines = [
        "# reviewed-through: 0.90",
        "# A reason",
        "PJRT_Client_DmaMap  # known",
        "PJRT_Event_Create",  # implemented
        "PJRT_Plugin_Initialize",  # its default is right without the feature
        "PJRT_Gone",  # no function
        "PJRT_Buffer_Bitcast",  # of 0.98, listed before it was reviewed
    ]
    (root / _gaps.EXPECTED).write_text("\n".join(lines), encoding="utf-8")
    gaps = _gaps.find(root, load().at(117))
    assert gaps is not None
    assert gaps.reviewed == 90
    assert gaps.implemented == ("PJRT_Event_Create", "PJRT_Plugin_Initialize")
    assert gaps.unknown == ("PJRT_Gone",)
    assert gaps.overridden == {"PJRT_LoadedExecutable_Execute"}
    unlisted = [f.name for f in gaps.unlisted]
    assert "PJRT_Client_DmaUnmap" in unlisted
    assert not {"PJRT_Client_DmaMap", "PJRT_Event_Create", "PJRT_Plugin_Attributes"} & set(unlisted)
    assert [f.level for f in gaps.unlisted] == sorted(
        (f.level for f in gaps.unlisted), key=_gaps.LEVELS.index
    )
    newer = [f.name for f in gaps.newer]
    assert newer[0] == "PJRT_Error_ForEachPayload"  # the only one at level run, and no gap
    assert "PJRT_Buffer_Bitcast" not in newer
    assert all(f.since > 90 for f in gaps.newer)
    assert gaps.fail_tests


@pytest.mark.parametrize("text", ["", "PJRT_Client_DmaMap\n", "# reviewed-through: 90\n", None])
def test_list_without_its_first_line(text: str | None, root: Path) -> None:
    if text is not None:
        (root / _gaps.EXPECTED).write_text(text, encoding="utf-8")
    gaps = _gaps.find(root, load().at(90))
    assert gaps is not None
    assert gaps.reviewed is None
    assert gaps.unlisted == ()
    assert gaps.fail_tests


@pytest.mark.parametrize("version", ["0.54", "0.90", "0.117"])
def test_a_new_repository_owes_nothing(version: str, render: Renderer) -> None:
    """The list that the template renders fits the template's own sources."""
    tree = render({"pjrt_api_version": version})
    gaps = _gaps.find(tree, load().at(int(version[2:])))
    assert gaps is not None
    assert not gaps.fail_tests
    assert gaps.newer == ()


def test_functions_are_taken_off_a_list() -> None:
    head = "# reviewed-through: 0.90\n#\n# What it is.\n\n"
    text = f"{head}# One\nPJRT_A\nPJRT_B  # why\n\n# Two\nPJRT_C\n"
    assert _gaps.without(text, ["PJRT_A", "PJRT_C"]) == f"{head}# One\nPJRT_B  # why\n"
    assert _gaps.without(text, ["PJRT_D"]) == text


def test_other_repositories_have_no_gaps(tmp_path: Path) -> None:
    assert _gaps.find(tmp_path, load().at(90)) is None


def test_notes_that_concern_overridden_functions() -> None:
    registry = load()
    api, notes = registry.at(117), registry.notes
    concerning = _gaps.concern(notes, api, ["PJRT_LoadedExecutable_Execute"])
    about = {name for note in concerning for name in note.about}
    assert "PJRT_ExecuteOptions.custom_options" in about  # reached through the arguments
    assert "PJRT_Buffer_Bitcast" not in about
    direct = _gaps.concern(notes, api, ["PJRT_Buffer_Bitcast"])
    assert [note.since for note in direct if "PJRT_Buffer_Bitcast" in note.about] == [98]
    assert _gaps.concern(notes, api, []) == []
