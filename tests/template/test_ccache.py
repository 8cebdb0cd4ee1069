"""Generated repositories compile through ccache where there is one that works."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.rendering import Renderer

pytestmark = [
    pytest.mark.slow,  # it asks the compiler what it can, by compiling
    pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake"),
]
# Does what it is told and keeps nothing.
WORKS = '#!/bin/sh\nexec "$@"\n'
FAILS = "#!/bin/sh\necho 'ccache: error: Failed to create directory' >&2\nexit 1\n"


def launcher(tree: Path, ccache: str | None, tmp_path: Path, *options: str) -> str:
    """Configure with this ccache in front of PATH. Returns what compiles are started with."""
    programs = tmp_path / "bin"
    programs.mkdir()
    if ccache is not None:
        (programs / "ccache").write_text(ccache, encoding="utf-8")
        (programs / "ccache").chmod(0o755)
    build = tmp_path / "build"
    command = ["cmake", "-S", str(tree), "-B", str(build), "-G", "Unix Makefiles", *options]
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    environment.pop("CMAKE_CXX_COMPILER_LAUNCHER", None)
    subprocess.run(command, env=environment, check=True, capture_output=True)
    text = (build / "csrc/backend/CMakeFiles/pjrt_backend.dir/build.make").read_text("utf-8")
    (line,) = (line for line in text.splitlines() if "-c " in line and "completion.cc" in line)
    return line.partition(" && ")[2].split()[0]


@pytest.mark.parametrize(
    ("ccache", "options", "expected"),
    [
        (WORKS, (), "{bin}/ccache"),
        (FAILS, (), "{compiler}"),
        (WORKS, ("-DPJRT_PLUGIN_CCACHE=OFF",), "{compiler}"),
        (WORKS, ("-DCMAKE_CXX_COMPILER_LAUNCHER=/usr/bin/env",), "/usr/bin/env"),
    ],
    ids=["works", "fails", "off", "another"],
)
def test_ccache(
    ccache: str, options: tuple[str, ...], expected: str, render: Renderer, tmp_path: Path
) -> None:
    found = launcher(render({"backend": "stub"}), ccache, tmp_path, *options)
    compiler = shutil.which("c++")
    assert found == expected.format(bin=tmp_path / "bin", compiler=compiler)
