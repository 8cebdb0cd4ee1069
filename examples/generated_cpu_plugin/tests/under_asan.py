"""
Runs the Python tests on a library that was built with AddressSanitizer.

    python tests/under_asan.py build/asan -k transfers

Python and jaxlib are not instrumented, so the sanitizer's runtime has to be there before them, and
what they leak is not looked at. A finding in the plugin ends the run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from plugin_under_test import config

OPTIONS = {
    "ASAN_OPTIONS": (
        "detect_leaks=0:alloc_dealloc_mismatch=0:new_delete_type_mismatch=0:"
        "allocator_may_return_null=1"
    ),
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
# About the wheel and the library in it, or programs of their own.
LEFT_OUT = ("test_cpp.py", "test_library.py", "test_wheel.py")


def runtimes(library: Path) -> list[str]:
    """
    The shared libraries of the compiler that the library needs, the sanitizer's first.

    libstdc++ is among them because the runtime looks up its functions when it starts.
    """
    text = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    paths = [line.split()[2] for line in text.splitlines() if " => /" in line]
    found = [
        next((path for path in paths if name in path), "")
        for name in ("asan", "ubsan", "libstdc++", "libc++.")
    ]
    if not found[0]:
        sys.exit(
            f"error: {library} needs no shared runtime of AddressSanitizer. Build it with "
            "`cmake --preset asan`; with Clang add -DCMAKE_CXX_FLAGS=-shared-libsan."
        )
    return [path for path in found if path]


def main() -> None:
    """Replaces this process by pytest."""
    build, *arguments = sys.argv[1:]
    library = Path(build, "csrc", config.LIBRARY_NAME).resolve()
    if not library.is_file():
        sys.exit(f"error: there is no {library}; `make sanitize` builds it")
    environ = {
        **os.environ,
        **OPTIONS,
        config.LIBRARY_PATH_VARIABLE: str(library),
        "LD_PRELOAD": " ".join(runtimes(library)),
    }
    tests = Path(__file__).resolve().parent
    ignored = [f"--ignore={tests / name}" for name in LEFT_OUT]
    command = [sys.executable, "-m", "pytest", *ignored, *arguments]
    os.execve(sys.executable, command, environ)


if __name__ == "__main__":
    main()
