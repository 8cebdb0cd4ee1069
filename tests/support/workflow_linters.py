"""The linters of workflows, over this project's own and over those of generated repositories."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

BIN = Path(sys.executable).parent
LINTERS = (
    # Without shellcheck, which not every machine has: a finding must not depend on it.
    ("actionlint", "-no-color", "-shellcheck="),
    ("zizmor", "--offline", "--no-progress", "--quiet"),
    ("check-jsonschema", "--builtin-schema", "vendor.github-workflows"),
)


def findings(linter: Sequence[str], paths: Sequence[Path]) -> str:
    """What a linter says of these files; empty when nothing is wrong."""
    command = [str(BIN / linter[0]), *linter[1:], *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    return done.stdout + done.stderr or f"{linter[0]} ended with {done.returncode}"
