"""Reading headers with libclang and merging them into the registry."""

from __future__ import annotations

import importlib.util
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pjrt_scaffold.errors import UsageError
from pjrt_scaffold.registry import load, load_ffi
from pjrt_scaffold.registry._snapshot import read_headers
from pjrt_scaffold.registry.importer import import_headers, reimport
from pjrt_scaffold.registry.load import FOLDER, read
from pjrt_scaffold.registry.model import build

HEADER = """
#include <stddef.h>
#include <stdint.h>
#define PJRT_API_MAJOR 0
#define PJRT_API_MINOR {minor}
#ifdef __cplusplus
extern "C" {{
#endif
// A comment that must not reach the data.
typedef enum {{ PJRT_Extension_Type_A = 0, {enum} }} PJRT_Extension_Type;
typedef struct PJRT_Extension_Base {{
  size_t struct_size;
  PJRT_Extension_Type type;
  struct PJRT_Extension_Base* next;
}} PJRT_Extension_Base;
typedef struct PJRT_Api_Version {{
  size_t struct_size; PJRT_Extension_Base* extension_start; int major_version; int minor_version;
}} PJRT_Api_Version;
typedef struct PJRT_Error PJRT_Error;
typedef struct PJRT_One_Args {{
  size_t struct_size; const char* const* names; {fields}
}} PJRT_One_Args;
enum {{ PJRT_One_Args_STRUCT_SIZE = {size} }};
typedef PJRT_Error* PJRT_One(PJRT_One_Args* args);
typedef PJRT_Error* PJRT_Two(PJRT_One_Args* args);
typedef struct PJRT_Api {{
  size_t struct_size; PJRT_Extension_Base* extension_start; PJRT_Api_Version pjrt_api_version;
  PJRT_One* PJRT_One;
  {functions}
}} PJRT_Api;
enum {{ PJRT_Api_STRUCT_SIZE = sizeof(PJRT_Api) }};
#ifdef __cplusplus
}}
#endif
"""
OLD = {"minor": 200, "enum": "", "fields": "", "size": 16, "functions": ""}
NEW = {
    "minor": 201,
    "enum": "PJRT_Extension_Type_B = 1",
    "fields": "int32_t shape[4]; void (*done)(void* arg);",
    "size": 40,
    "functions": "PJRT_Two* PJRT_Two;",
}


def tree(root: Path, facts: dict[str, Any]) -> Path:
    header = root / "xla" / "pjrt" / "c" / "pjrt_c_api.h"
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text(HEADER.format(**facts))
    return root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A registry without any version."""
    path = tmp_path / "registry"
    path.mkdir()
    (path / "annotations.json").write_text('{"format": 1, "functions": {}}')
    return path


def test_import_dates_what_a_version_adds(tmp_path: Path, folder: Path) -> None:
    import_headers(tree(tmp_path / "a", OLD), folder=folder)
    (done,) = import_headers(tree(tmp_path / "b", NEW), folder=folder)
    assert [f"{c.name} {c.what}" for c in done.changes] == [
        "PJRT_Extension_Type_B enum value added",
        "PJRT_One_Args.done field added",
        "PJRT_One_Args.shape field added",
        "PJRT_One_Args_STRUCT_SIZE 16 became 40",
        "PJRT_Two function added",
    ]
    assert done.unannotated == ("PJRT_One", "PJRT_Two")
    shape, callback = load(folder).at(201).structs["PJRT_One_Args"].fields(201)[2:]
    assert (shape.decl, shape.type.array, shape.since) == ("int32_t shape[4]", 4, 201)
    assert (callback.decl, callback.type.base) == ("void (*done)(void* arg)", "function")
    assert "comment" not in (folder / "abi.json").read_text()


def test_importing_the_newest_header_again_changes_nothing(tmp_path: Path, folder: Path) -> None:
    for _ in range(2):
        import_headers(tree(tmp_path / "a", OLD), folder=folder)
        (done,) = import_headers(tree(tmp_path / "b", NEW), folder=folder)
        text = (folder / "abi.json").read_text()
        assert import_headers(tmp_path / "b", folder=folder) == [done]
        assert (folder / "abi.json").read_text() == text
        (folder / "abi.json").unlink()


def test_change_in_the_middle_becomes_a_layout(tmp_path: Path, folder: Path) -> None:
    import_headers(tree(tmp_path / "a", NEW | {"minor": 200}), folder=folder)
    moved = {"minor": 201, "fields": "void (*done)(void* arg); int32_t shape[4];"}
    import_headers(tree(tmp_path / "b", NEW | moved), folder=folder)
    struct = load(folder).at(201).structs["PJRT_One_Args"]
    assert [layout.since for layout in struct.layouts] == [200, 201]
    assert struct.fields(200)[2].name == "shape"
    assert struct.fields(201)[2].name == "done"


def test_older_header_is_refused_and_nothing_written(tmp_path: Path, folder: Path) -> None:
    import_headers(tree(tmp_path / "b", NEW), folder=folder)
    text = (folder / "abi.json").read_text()
    with pytest.raises(UsageError, match=r"0\.200, the registry ends at 0\.201"):
        import_headers(tree(tmp_path / "a", OLD), folder=folder)
    assert (folder / "abi.json").read_text() == text


def test_missing_header_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"(?s)holds no xla/pjrt/c/pjrt_c_api\.h.*above 'xla/'"
    ) as e:
        import_headers(tmp_path)
    assert "\n" in str(e.value)


def test_header_that_is_no_c_says_where(tmp_path: Path) -> None:
    root = tree(tmp_path, NEW | {"fields": "std::string oops;"})
    with pytest.raises(UsageError, match=r"pjrt_c_api\.h line \d+: .*'std'"):
        read_headers(root)


def test_annotations_are_never_written(tmp_path: Path, folder: Path) -> None:
    shutil.copy(FOLDER / "annotations.json", folder)
    before = (folder / "annotations.json").stat().st_mtime_ns
    import_headers(tree(tmp_path / "b", NEW | {"functions": ""}), folder=folder)
    assert (folder / "annotations.json").stat().st_mtime_ns == before


def test_a_lone_header_and_a_wheel_give_the_same(tmp_path: Path, folder: Path) -> None:
    header = tree(tmp_path / "a", OLD) / "xla" / "pjrt" / "c" / "pjrt_c_api.h"
    lone = shutil.copy(header, tmp_path / "pjrt_c_api.h")
    wheel = tmp_path / "a_plugin-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(header, "a_plugin/include/pjrt_c_api.h")
    texts = []
    for source in (Path(lone), wheel):
        import_headers(source, folder=folder)
        texts.append((folder / "abi.json").read_text())
        (folder / "abi.json").unlink()
    assert texts[0] == texts[1]
    assert '"partial": [200]' in texts[0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("int flag : 3;", r"pjrt_c_api\.h line 21: a bit-field, flag"),
        ("int table[2][3];", r"line 21: an array of arrays, table"),
        ("struct { int a; };", r"line 21: a struct without a name inside a struct"),
    ],
)
def test_unknown_construct_names_file_and_line(
    tmp_path: Path, folder: Path, fields: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        import_headers(tree(tmp_path / "a", OLD | {"fields": fields}), folder=folder)
    assert not (folder / "abi.json").exists()


def test_header_of_another_library_is_refused(tmp_path: Path, folder: Path) -> None:
    other = tmp_path / "zlib.h"
    other.write_text("#define ZLIB_VERSION 1\n")
    with pytest.raises(UsageError, match="not the main header of the PJRT C API"):
        import_headers(other, folder=folder)


def copy_of_the_registry(folder: Path) -> Path:
    for path in FOLDER.glob("*.json"):
        shutil.copy(path, folder)
    return folder


@pytest.mark.parametrize("member", ["int odd;", "void (*PJRT_Nameless)(void* args);"])
def test_member_of_the_table_that_is_no_known_function_is_refused(
    tmp_path: Path, folder: Path, member: str
) -> None:
    with pytest.raises(UsageError, match=r"PJRT_Api\.\w+ is no function that the header declares"):
        import_headers(tree(tmp_path / "a", OLD | {"functions": member}), folder=folder)
    assert not (folder / "abi.json").exists()


EDITS = {
    "a version cut out": ("[54,55,", "[54,", "has holes.*0.55 is missing: 0.56 comes after 0.54"),
    "a comma lost": ('"major": 0,', '"major": 0', "is no JSON.*Expecting ',' delimiter: line 4"),
    "a key lost": ('"offset":16,', "", "does not have the form of its schema.*KeyError: 'offset'"),
    "another offset": ('"offset":16,', '"offset":1,', "does not fit together.*next overlaps type"),
    "another slot": ("[[54,3]]", "[[54,2]]", "does not fit together.*holes or doubles"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_data_that_somebody_edited_is_refused(tmp_path: Path, folder: Path, edit: str) -> None:
    for path in FOLDER.glob("*.json"):
        shutil.copy(path, folder)
    old, new, message = EDITS[edit]
    abi = folder / "abi.json"
    edited = abi.read_text().replace(old, new, 1)
    assert edited != abi.read_text()
    abi.write_text(edited)
    expected = f"(?s)abi.json {message}.*git restore gives it back"
    with pytest.raises(UsageError, match=expected):
        import_headers(tree(tmp_path / "a", OLD | {"minor": 118}), folder=folder)
    assert abi.read_text() == edited
    if "fit together" not in message:
        with pytest.raises(UsageError, match=expected):
            load(folder)


HALVES = {
    "inside a struct": ("size_t struct_size; const", r"pjrt_c_api\.h line \d+: expected"),
    "between structs": ("typedef struct PJRT_Api {", r"pjrt_c_api\.h (line|defines no)"),
    "before the version": ("#define PJRT_API_MINOR", "defines no PJRT_API_MINOR|line"),
    "at the start": ("#include <stddef.h>", "defines no PJRT_API_MAJOR"),
}


@pytest.mark.parametrize("where", HALVES)
def test_truncated_header_is_refused(tmp_path: Path, folder: Path, where: str) -> None:
    mark, message = HALVES[where]
    root = tree(tmp_path / "a", OLD)
    header = root / "xla" / "pjrt" / "c" / "pjrt_c_api.h"
    text = header.read_text()
    header.write_text(text[: text.index(mark) + (len(mark) if where == "inside a struct" else 0)])
    with pytest.raises(UsageError, match=message):
        import_headers(root, folder=folder)
    assert not (folder / "abi.json").exists()


def test_wheel_without_headers_and_broken_wheel_are_refused(tmp_path: Path, folder: Path) -> None:
    empty, broken = tmp_path / "empty-1-py3-none-any.whl", tmp_path / "broken-1-py3-none-any.whl"
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("a_plugin/include/zlib.h", "#define ZLIB_VERSION 1\n")
    broken.write_bytes(empty.read_bytes()[:40])
    for wheel, message in ((empty, "holds no xla/pjrt/c/pjrt_c_api"), (broken, "is no wheel")):
        with pytest.raises(UsageError, match=message):
            import_headers(wheel, folder=folder)
    assert not (folder / "abi.json").exists()


def test_unknown_default_version_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(UsageError, match=r"0\.999 cannot be the default version"):
        import_headers(tree(tmp_path / "a", OLD), folder=folder, default="0.999")
    assert not (folder / "abi.json").exists()


def test_version_after_a_hole_is_refused(tmp_path: Path, folder: Path) -> None:
    import_headers(tree(tmp_path / "a", OLD), folder=folder)
    before = (folder / "abi.json").read_text()
    with pytest.raises(UsageError, match=r"0\.201 is missing: 0\.202 comes after 0\.200"):
        import_headers(tree(tmp_path / "b", NEW | {"minor": 202}), folder=folder)
    assert (folder / "abi.json").read_text() == before


def test_reimport_gives_what_single_imports_gave(tmp_path: Path, folder: Path) -> None:
    old, new = tree(tmp_path / "a", OLD), tree(tmp_path / "b", NEW)
    for root in (old, new):
        import_headers(root, folder=folder)
    assert reimport([new, old], folder)["abi.json"] == (folder / "abi.json").read_text()


def test_changed_signature_of_a_callback_is_kept(tmp_path: Path, folder: Path) -> None:
    typedef = "}} PJRT_Extension_Base;\ntypedef void (*PJRT_Done)({});"
    for name, minor, params in (("a", 200, "int code"), ("b", 201, "int code, void* arg")):
        root = tree(tmp_path / name, OLD | {"minor": minor})
        header = root / "xla" / "pjrt" / "c" / "pjrt_c_api.h"
        text = header.read_text().replace("} PJRT_Extension_Base;", typedef.format(params))
        header.write_text(text.replace("}}", "}"))
        import_headers(root, folder=folder)
    registry = load(folder)
    assert len(registry.at(200).callbacks["PJRT_Done"].params) == 1
    assert len(registry.at(201).callbacks["PJRT_Done"].params) == 2


def test_ffi_header_of_the_installed_jaxlib_gives_the_facts_of_its_version(folder: Path) -> None:
    spec = importlib.util.find_spec("jaxlib")
    assert spec is not None
    assert spec.origin is not None
    (done,) = import_headers(Path(spec.origin).parent / "include", folder=folder)
    real = build(read("ffi.json", folder), {"functions": {}}).at(done.minor)
    ours = load_ffi().at(done.minor)
    assert [f.name for f in real.functions] == [f.name for f in ours.functions]
    assert set(real.structs) == set(ours.structs)
    for name, struct in ours.structs.items():
        assert [(f.decl, f.offset, f.size) for f in real.structs[name].fields(done.minor)] == [
            (f.decl, f.offset, f.size) for f in struct.fields(done.minor)
        ]
        assert real.structs[name].struct_size.at(done.minor) == struct.struct_size.at(done.minor)
    for name, enum in ours.enums.items():
        assert {v.name: v.value for v in real.enums[name].values} == {
            v.name: v.value for v in enum.values
        }
