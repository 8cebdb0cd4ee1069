"""The generated header at every version, with both compilers and in both languages."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pjrt_scaffold.registry import load
from tests.registry.conftest import Render, compile_source

OFFERED = [minor for minor in load().minors if minor != 56]
COMPILERS = [
    ("gcc", ("-std=c11",)),
    ("g++", ("-xc++", "-std=c++20")),
    ("clang", ("-std=c11",)),
    ("clang++", ("-xc++", "-std=c++20")),
]
USE = '#include "generated/pjrt_extensions.h"\nconst size_t bytes = PJRT_Api_STRUCT_SIZE;\n'


@pytest.mark.long
@pytest.mark.parametrize("compiler", COMPILERS, ids=[name for name, _ in COMPILERS])
@pytest.mark.parametrize("minor", OFFERED)
def test_headers_compile(
    minor: int, compiler: tuple[str, tuple[str, ...]], csrc: Render, tmp_path: Path
) -> None:
    name, flags = compiler
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    source = tmp_path / "use.c"
    source.write_text(USE)
    compile_source(source, csrc(minor), name, *flags, "-pedantic", "-fsyntax-only")
