"""What a header says, from the model and from a compiler: for comparing two headers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pjrt_scaffold.registry import Api


def program(
    api: Api, includes: Iterable[str], headers: frozenset[str], table: str = "PJRT_Api"
) -> str:
    """The source of a program that prints one fact a line: name, offset or value, size.

    Every struct, member, declared size, enum value and extension version of `headers` (the main one
    is "", extensions have their names), and with the main one every slot of the call table.
    """
    lines = []
    for struct in (s for s in api.structs.values() if s.header in headers):
        name = struct.name
        lines.append(f'print("sizeof {name}", sizeof({name}));')
        if struct.struct_size.at(api.minor) is not None:
            lines.append(f'print("{name}_STRUCT_SIZE", {name}_STRUCT_SIZE);')
        for field in struct.fields(api.minor):
            for member in field.union or (field,):
                path = f"{name}, {member.name}"
                size = f"sizeof((({name}*)0)->{member.name})"
                lines.append(f'print("{path}", offsetof({path}), {size});')
    for enum in (e for e in api.enums.values() if e.header in headers):
        # Qualified and cast: the official headers make some extension's enum a scoped one of C++.
        values = ((v.name, f"static_cast<size_t>({enum.name}::{v.name})") for v in enum.values)
        lines += [f'print("{name}", {value});' for name, value in values]
    for constant in (c for c in api.constants.values() if c.header in headers):
        lines.append(f'print("{constant.name}", {constant.name});')
    if "" in headers:
        lines += [f'print("slot {f.name}", offsetof({table}, {f.name}));' for f in api.functions]
        lines.append(f'print("sizeof {table}", sizeof({table}));')
        lines.append(f'print("{table}_STRUCT_SIZE", {table}_STRUCT_SIZE);')
    return (
        "".join(f'#include "{include}"\n' for include in includes)
        + "#include <cstddef>\n#include <cstdio>\n"
        "static void print(const char* name, size_t a, size_t b = 0) {\n"
        '  std::printf("%s %zu %zu\\n", name, a, b);\n}\n'
        "int main() {\n  " + "\n  ".join(lines) + "\n}\n"
    )


def facts(api: Api, headers: set[str]) -> dict[str, Any]:
    """What the headers say at the version, by name, without since when."""
    result: dict[str, Any] = {}
    for slot, function in enumerate(api.functions):
        result[function.name] = (slot, function.returns, function.params)
    for function in api.extension_functions:
        if function.header in headers:
            result[function.name] = (function.returns, function.params)
    for struct in api.structs.values():
        if struct.header in headers:
            result[struct.name] = struct.struct_size.at(api.minor)
            for field in struct.fields(api.minor):
                for member in field.union or (field,):
                    place = (member.offset, member.size, member.decl, member.type)
                    result[f"{struct.name}.{member.name}"] = place
    for enum in api.enums.values():
        if enum.header in headers:
            result |= {value.name: value.value for value in enum.values}
    for callback in api.callbacks.values():
        if callback.header in headers:
            result[callback.name] = (callback.returns, callback.params)
    for constant in api.constants.values():
        if constant.header in headers:
            result[constant.name] = constant.values.at(api.minor)
    for synonym in api.synonyms.values():
        if synonym.header in headers:
            result[synonym.name] = synonym.type
    return result | {o.name: "opaque" for o in api.opaque.values() if o.header in headers}
