"""Read the PJRT C headers of one API version with libclang.

A snapshot is plain JSON data (dicts and lists), the facts an ABI is made of: names, types, order,
values, sizes and offsets. Comments never reach it. Parsing needs no compiler and no system headers:
the few standard types come from the stubs below, and a type of another header (the profiler's
table, say) is taken as opaque.

Sizes and offsets are those of a 64-bit target (LP64), the only one PJRT is used on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pjrt_scaffold.errors import MissingError, UsageError

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Family:
    """One C API with version numbers of its own, and where its headers lie in a tree."""

    name: str
    prefix: str  # of every name
    main: str  # the header with the version and the call table
    extensions: tuple[str, ...]  # globs of headers that add to it
    data: str  # file of the registry that holds it

    @property
    def table(self) -> str:
        """The struct that is the call table."""
        return f"{self.prefix}_Api"


PJRT = Family(
    "PJRT C API",
    "PJRT",
    "xla/pjrt/c/pjrt_c_api.h",
    (
        "xla/pjrt/c/*_extension.h",
        "xla/pjrt/c/pjrt_c_api_device_event.h",
        "xla/pjrt/extensions/**/*_extension.h",
    ),
    "abi.json",
)
FFI = Family("XLA FFI C API", "XLA_FFI", "xla/ffi/api/c_api.h", (), "ffi.json")
FAMILIES = (PJRT, FFI)

_STUBS = {
    "stddef.h": "typedef unsigned long size_t;\n"
    "#define offsetof(type, member) __builtin_offsetof(type, member)\n#define NULL 0\n",
    "stdint.h": "typedef signed char int8_t; typedef unsigned char uint8_t;\n"
    "typedef short int16_t; typedef unsigned short uint16_t;\n"
    "typedef int int32_t; typedef unsigned int uint32_t;\n"
    "typedef long int64_t; typedef unsigned long uint64_t;\n"
    "typedef long intptr_t; typedef unsigned long uintptr_t;\n",
    "stdbool.h": "",
    "assert.h": "",
    "cstddef": '#include "stddef.h"\n',
    "cstdint": '#include "stdint.h"\n',
}
_STUB_DIR = "/pjrt-scaffold-stubs"
# Where headers that C can read lie. All others are read as empty ones, whether they are there or
# not: what a tree holds besides (C++, protobuf) must not change what is read.
_C_FOLDERS = ("xla/pjrt/c/", "xla/pjrt/extensions/", "xla/ffi/api/")
_CONSTANT = re.compile(r"^#define\s+((?:PJRT|XLA_FFI)_API_\w+)\s+(\d+)\s*(?://.*)?$", re.MULTILINE)


def read_headers(root: Path, family: Family = PJRT) -> Json:
    """Return the snapshot of the headers below `root` (the folder that holds `xla/`).

    Raises:
        UsageError: the main header is missing, or a header does not parse or holds a construct
            that the registry cannot keep; the text names file and line.
        MissingError: libclang is not installed.
    """
    main = root / family.main
    if not main.is_file():
        raise UsageError(
            f"{root} holds no {family.main}",
            "a header is found by its place in the tree that it belongs to",
            "give the folder above 'xla/': the root of a source tree, or the include folder of a "
            "wheel",
        )
    snapshot = _read_header(main, root, "", family)
    for part in ("major", "minor"):
        name = f"{family.prefix}_API_{part.upper()}"
        if name not in snapshot["constants"]:
            raise UsageError(
                f"{main.name} defines no {name}", f"it is not the header of the {family.name}"
            )
        snapshot[part] = snapshot["constants"].pop(name)
    if family.table not in {s["name"] for s in snapshot["structs"]}:
        raise UsageError(f"{main.name} defines no struct {family.table}")
    known = {item["name"] for kind in _KINDS for item in snapshot[kind]}
    for path in sorted({p for glob in family.extensions for p in root.glob(glob)}):
        extension = _read_header(path, root, extension_name(path), family)
        for kind in _KINDS:
            snapshot[kind] += [i for i in extension[kind] if i["name"] not in known]
            known |= {item["name"] for item in extension[kind]}
        snapshot["constants"].update(extension["constants"])
    return snapshot


_KINDS = ("enums", "opaque", "structs", "functions", "callbacks", "synonyms")


def extension_name(path: Path) -> str:
    """Short name of an extension header: `pjrt_c_api_layouts_extension.h` is `layouts`."""
    return path.stem.removeprefix("pjrt_c_api_").removesuffix("_extension")


def _read_header(path: Path, root: Path, header: str, family: Family) -> Json:
    text = path.read_text(encoding="utf-8")
    unit, prelude = _parse(path, root)
    snapshot: Json = {kind: [] for kind in _KINDS}
    snapshot["constants"] = {n: int(v) for n, v in _CONSTANT.findall(text)}
    sizes: dict[str, int] = {}
    forward: dict[str, str] = {name: header for name in prelude if "::" not in name}
    for cursor in _own_declarations(unit.cursor, str(path)):
        kind = cursor.kind.name
        if kind == "ENUM_DECL":
            _read_enum(cursor, header, snapshot, sizes)
        elif kind == "STRUCT_DECL" and not _named(cursor):
            _unknown(cursor, "a struct without a name")
        elif kind == "STRUCT_DECL" and cursor.is_definition():
            snapshot["structs"].append(
                {"name": cursor.spelling, "header": header, "fields": _fields(cursor)}
            )
        elif kind == "STRUCT_DECL":
            forward.setdefault(cursor.spelling, header)
        elif kind == "TYPEDEF_DECL":
            _read_typedef(cursor, header, snapshot)
        elif kind not in _IGNORED:
            _unknown(cursor, f"a declaration of the kind {kind.lower()}")
    defined = {s["name"] for s in snapshot["structs"]}
    snapshot["opaque"] = [{"name": n, "header": h} for n, h in forward.items() if n not in defined]
    for struct in snapshot["structs"]:
        struct["struct_size"] = sizes.get(struct["name"])
    return snapshot


# What a header may hold without being part of the binary interface: checks, C++ for C++ users, and
# the declaration of the exported function.
_IGNORED = ("STATIC_ASSERT", "NAMESPACE", "FUNCTION_DECL")


def _unknown(cursor: Any, what: str) -> NoReturn:
    """Refuse a construct that the registry has no place for, rather than drop it."""
    location = cursor.location
    raise UsageError(
        f"{Path(location.file.name).name} line {location.line}: {what}, {cursor.spelling or '-'}",
        "the import knows no such construct, and leaves nothing out silently",
        "teach pjrt_scaffold/registry/_snapshot.py what it means, or report it",
    )


def _named(cursor: Any) -> bool:
    return bool(cursor.spelling) and "(" not in cursor.spelling


def _own_declarations(cursor: Any, path: str) -> Iterator[Any]:
    for child in cursor.get_children():
        if child.location.file is None or child.location.file.name != path:
            continue
        if child.kind.name in ("LINKAGE_SPEC", "UNEXPOSED_DECL"):
            yield from _own_declarations(child, path)
        else:
            yield child


def _parse(path: Path, root: Path) -> tuple[Any, list[str]]:
    """Parse one header; names that only other headers know are declared opaque and listed."""
    try:
        from clang import cindex
    except ImportError as error:
        raise MissingError(
            "Reading headers needs libclang", todo="pip install 'pjrt-scaffold[import]'"
        ) from error
    unknown: list[str] = []
    for _ in range(8):
        prelude = "".join(f"struct {name};\n" for name in unknown if "::" not in name)
        prelude += "".join(
            f"namespace {space} {{ struct {name}; }}\n"
            for space, name in (one.split("::") for one in unknown if "::" in one)
        )
        files = [(f"{_STUB_DIR}/{n}", t) for n, t in _STUBS.items()]
        files.append((f"{_STUB_DIR}/prelude.h", prelude))
        files += [(f"{_STUB_DIR}/{n}", "") for n in foreign_includes(path, root)]
        unit = cindex.Index.create().parse(
            str(path),
            args=[
                *("-x", "c++", "-std=c++17", "--target=x86_64-linux-gnu", "-nostdinc"),
                # Empty headers come first: a wheel may also hold the real one of a foreign include.
                *(f"-I{_STUB_DIR}", f"-I{root}", "-include", f"{_STUB_DIR}/prelude.h"),
            ],
            unsaved_files=files,
        )
        errors = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        errors = [d for d in errors if not _in_namespace(d, unit.cursor)]
        new = [name for d in errors if (name := _missing_type(d, path))]
        if not errors:
            return unit, unknown
        if not new:
            first = errors[0]
            raise UsageError(
                f"{_file(first, path)} line {first.location.line}: {first.spelling}",
                "the header is not C, or it includes a header that is not there",
            )
        unknown += [name for name in dict.fromkeys(new) if name not in unknown]
    raise UsageError(f"{path.name} uses types of headers not found: {', '.join(unknown)}")


def _missing_type(error: Any, path: Path) -> str | None:
    """The type that an error says nobody declares: a C name, or `namespace::name`."""
    if match := re.match(r"unknown type name '(\w+)'", error.spelling):
        return match[1]
    if match := re.match(r"no type named '(\w+)' in namespace '(\w+)'", error.spelling):
        return f"{match[2]}::{match[1]}"
    if match := re.match(r"use of undeclared identifier '(\w+)'", error.spelling):
        line = path.read_text(encoding="utf-8").splitlines()[error.location.line - 1]
        if pointer := re.search(rf"\b{match[1]}::(\w+)\s*\*", line):
            return f"{match[1]}::{pointer[1]}"
    return None


def _in_namespace(error: Any, unit: Any) -> bool:
    """Whether an error lies in C++ that a header declares for C++ users, which nobody reads."""
    line, file = error.location.line, error.location.file
    return any(
        child.kind.name == "NAMESPACE"
        and file is not None
        and child.location.file.name == file.name
        and child.extent.start.line <= line <= child.extent.end.line
        for child in unit.get_children()
    )


def _file(error: Any, path: Path) -> str:
    return Path(error.location.file.name).name if error.location.file else path.name


def foreign_includes(path: Path, root: Path) -> list[str]:
    """What `path` and the C headers that it includes name besides C headers and the stubs."""
    foreign: dict[str, None] = {}
    todo, seen = [path], set()
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        for name in re.findall(r'^\s*#include\s+[<"]([^>"]+)[>"]', current.read_text(), re.M):
            if name.startswith(_C_FOLDERS) and (root / name).is_file():
                todo.append(root / name)
            elif name not in _STUBS:
                foreign[name] = None
    return list(foreign)


def _read_enum(cursor: Any, header: str, snapshot: Json, sizes: dict[str, int]) -> None:
    values = [{"name": c.spelling, "value": c.enum_value} for c in cursor.get_children()]
    if len(values) == 1 and values[0]["name"].endswith("_STRUCT_SIZE"):
        sizes[values[0]["name"].removesuffix("_STRUCT_SIZE")] = values[0]["value"]
    elif cursor.type.spelling and "(" not in cursor.type.spelling:
        snapshot["enums"].append({"name": cursor.type.spelling, "header": header, "values": values})
    else:
        _unknown(cursor, f"an enum without a name that begins with {values[0]['name']}")


def _read_typedef(cursor: Any, header: str, snapshot: Json) -> None:
    target = cursor.underlying_typedef_type.get_canonical()
    if target.kind.name == "FUNCTIONPROTO":
        params = _params(cursor)
        snapshot["functions"].append(
            {
                "name": cursor.spelling,
                "header": header,
                "returns": spell(target.get_result().spelling),
                "args": params[0]["decl"].split("*")[0].removeprefix("const ") if params else "",
                "params": params,
            }
        )
    elif target.kind.name == "POINTER" and target.get_pointee().kind.name == "FUNCTIONPROTO":
        snapshot["callbacks"].append(
            {
                "name": cursor.spelling,
                "header": header,
                "returns": spell(target.get_pointee().get_result().spelling),
                "params": _params(cursor),
            }
        )
    elif target.kind.name in ("RECORD", "ENUM"):
        name = spell(cursor.underlying_typedef_type.spelling).removeprefix("enum ")
        if name != cursor.spelling and "(" not in name:
            snapshot["synonyms"].append({"name": cursor.spelling, "header": header, "type": name})
    elif target.kind.name in _SCALARS:
        name = spell(cursor.underlying_typedef_type.spelling)
        snapshot["synonyms"].append({"name": cursor.spelling, "header": header, "type": name})
    else:
        _unknown(cursor, f"a typedef of the kind {target.kind.name.lower()}")


_SCALARS = ("INT", "UINT", "LONG", "ULONG", "SHORT", "USHORT", "SCHAR", "UCHAR", "BOOL")


def _params(cursor: Any) -> list[Json]:
    return [
        {"name": c.spelling, "decl": declarator(c)}
        for c in cursor.get_children()
        if c.kind.name == "PARM_DECL"
    ]


def _fields(cursor: Any) -> list[Json]:
    fields: list[Json] = []
    for field in cursor.type.get_fields():
        if field.is_bitfield():
            _unknown(field, "a bit-field")
        record: Json = {
            "name": field.spelling,
            "offset": field.get_field_offsetof() // 8,
            "size": field.type.get_size(),
        }
        if field.is_anonymous() or not field.spelling:
            if field.type.get_declaration().kind.name != "UNION_DECL":
                _unknown(field, "a struct without a name inside a struct")
            members = _fields(field.type.get_declaration())
            record |= {"name": "", "union": [m | {"offset": record["offset"]} for m in members]}
        else:
            element = field.type.get_array_element_type()
            if field.type.kind.name == "CONSTANTARRAY" and element.kind.name == "CONSTANTARRAY":
                _unknown(field, "an array of arrays")
            record |= _type(field.type) | {"decl": declarator(field)}
        fields.append(record)
    return fields


def _type(clang_type: Any) -> Json:
    """Decompose a type; keys at their usual value (no const, pointer, array) are left out."""
    result: Json = {}
    if clang_type.kind.name == "CONSTANTARRAY":
        result["array"] = clang_type.get_array_size()
        clang_type = clang_type.get_array_element_type()
    if _is_function_pointer(clang_type):
        return {"type": "function"} | result
    depth = 0
    while clang_type.kind.name == "POINTER":
        depth += 1
        clang_type = clang_type.get_pointee()
    if depth:
        result["pointer"] = depth
    if clang_type.is_const_qualified():
        result["const"] = True
    base = clang_type.spelling.removeprefix("const ").removeprefix("struct ")
    return {"type": "void" if "::" in base else base} | result


def _is_function_pointer(clang_type: Any) -> bool:
    kinds = (clang_type.kind.name, clang_type.get_pointee().kind.name)
    return kinds == ("POINTER", "FUNCTIONPROTO")


def declarator(cursor: Any) -> str:
    """The C declaration of a field or parameter, in one spelling: `const char* const* names`."""
    clang_type, name = cursor.type, cursor.spelling
    if _is_function_pointer(clang_type):
        function = clang_type.get_pointee()
        named = [c for c in cursor.get_children() if c.kind.name == "PARM_DECL"]
        params = ", ".join(declarator(c) for c in named) or "void"
        return f"{spell(function.get_result().spelling)} (*{name})({params})"
    if clang_type.kind.name == "CONSTANTARRAY":
        element = spell(clang_type.get_array_element_type().spelling)
        return f"{element} {name}[{clang_type.get_array_size()}]"
    return f"{spell(clang_type.spelling)} {name}".rstrip()


def spell(text: str) -> str:
    """Google's spelling of a clang type: `PJRT_Device *const *` is `PJRT_Device* const*`."""
    text = re.sub(r"\bstruct ", "", text)
    text = re.sub(r"\b\w+(?:::\w+)+(?=[ *])", "void", text)  # C knows no C++ type
    text = re.sub(r"\b_Bool\b", "bool", text)
    return re.sub(r"\s*\*\s*", "* ", text).replace("* *", "**").replace("* *", "**").strip()
