"""Format or check the template's C++ that is not generated, as template/.clang-format says."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".h", ".cc", ".inl", ".inc"}


def sources() -> list[Path]:
    """C++ files of the template, sorted, but those of csrc/generated, which are templates.

    Nor those in folders that a condition names: clang-format cannot tell which header is theirs.
    The tests check both in renderings.
    """
    generated = ROOT / "template" / "csrc" / "generated"
    return sorted(
        path
        for path in (ROOT / "template").rglob("*")
        if path.suffix in SUFFIXES
        and not path.is_relative_to(generated)
        and "{%" not in path.parent.name
    )


def main() -> int:
    """Run clang-format from the environment that runs this."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, fail on a difference")
    mode = ["--dry-run", "-Werror"] if parser.parse_args().check else ["-i"]
    program = Path(sys.executable).with_name("clang-format")
    return subprocess.run([program, *mode, *sources()], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
