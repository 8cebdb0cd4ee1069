"""Commands without a network, in a namespace of their own, where the system lets one be made."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

UNSHARE = shutil.which("unshare")
NAMESPACE = (UNSHARE or "unshare", "--map-root-user", "--net")


@cache
def _unavailable() -> str:
    if UNSHARE is None:
        return "there is no unshare"
    done = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True, check=False)
    return done.stderr.strip()


def offline(command: Sequence[str | Path]) -> list[str]:
    """The command in a namespace without a network; skips the test where there are none."""
    if why := _unavailable():
        pytest.skip(f"no namespace without a network can be made here: {why}")
    return [*NAMESPACE, *map(str, command)]


def download(folder: Path, *wanted: str | Path) -> dict[str, str]:
    """Fetch requirements, and what they require, into a folder.

    Returns:
        The environment in which pip takes from there and from nowhere else.
    """
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    subprocess.run([*pip, "--dest", folder, *wanted], check=True, capture_output=True)
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": "/dev/null"}
