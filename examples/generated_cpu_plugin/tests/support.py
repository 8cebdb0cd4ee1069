"""Helpers that several tests share."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping

from plugin_under_test import config


def run_python(
    code: str, environ: Mapping[str, str | None] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """
    Runs code in a process of its own, outside of this checkout, as a user's program would.

    ``environ`` is laid over the environment, where None removes; variables of the plugin and of
    JAX that decide about platforms are removed first, but for the one that chooses the library.
    """
    full = {
        name: value
        for name, value in os.environ.items()
        if name == config.LIBRARY_PATH_VARIABLE
        or not name.startswith((config.ENV_PREFIX, "JAX_PLATFORM", "PJRT_", "JAX_PJRT_"))
    }
    for name, value in (environ or {}).items():
        if value is None:
            full.pop(name, None)
        else:
            full[name] = value
    with tempfile.TemporaryDirectory() as elsewhere:
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env=full,
            cwd=elsewhere,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )


def output_of(code: str, environ: Mapping[str, str | None] | None = None) -> str:
    """What the program prints; a failing program fails the test with all that it said."""
    result = run_python(code, environ)
    assert result.returncode == 0, f"exit {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result.stdout.strip()
