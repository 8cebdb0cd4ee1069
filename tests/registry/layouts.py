"""A C++ program that prints what the compiler makes of a PJRT header."""

from __future__ import annotations

from collections.abc import Iterable

from pjrt_scaffold.registry import Api


def program(api: Api, includes: Iterable[str], headers: frozenset[str]) -> str:
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
        lines += [f'print("slot {f.name}", offsetof(PJRT_Api, {f.name}));' for f in api.functions]
        lines.append('print("sizeof PJRT_Api", sizeof(PJRT_Api));')
        lines.append('print("PJRT_Api_STRUCT_SIZE", PJRT_Api_STRUCT_SIZE);')
    return (
        "".join(f'#include "{include}"\n' for include in includes)
        + "#include <cstddef>\n#include <cstdio>\n"
        "static void print(const char* name, size_t a, size_t b = 0) {\n"
        '  std::printf("%s %zu %zu\\n", name, a, b);\n}\n'
        "int main() {\n  " + "\n  ".join(lines) + "\n}\n"
    )
