"""The generated headers at every version, with both compilers and in both languages."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.registry.conftest import OFFERED, VERSIONS, Render, compile_source

COMPILERS = {
    "gcc": ("-std=c11",),
    "g++": ("-xc++", "-std=c++20"),
    "clang": ("-std=c11",),
    "clang++": ("-xc++", "-std=c++20"),
}
USE = (
    '#include "generated/pjrt_extensions.h"\n'
    '#include "generated/xla_ffi_c_api.h"\n'
    "size_t bytes(const PJRT_Api* table);\n"
    "size_t bytes(const PJRT_Api* table) { return table->struct_size - PJRT_Api_STRUCT_SIZE; }\n"
)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "minor",
    [m if m in VERSIONS else pytest.param(m, marks=pytest.mark.long) for m in OFFERED],
)
def test_headers_compile(minor: int, compiler: str, csrc: Render, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "use.c"
    source.write_text(USE)
    compile_source(
        source, csrc(minor), compiler, *COMPILERS[compiler], "-pedantic", "-fsyntax-only"
    )
