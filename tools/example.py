"""Render examples/generated_cpu_plugin: the template with the default answers."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from pjrt_scaffold import _answers
from tools import plugins

EXAMPLE = plugins.ROOT / "examples" / "generated_cpu_plugin"


def render(dest: Path) -> None:
    """Render the working tree's template with the defaults; `dest` must be missing or empty."""
    plugins.render(dest)
    # A committed example can name neither this machine's folder nor the commit it will be in.
    _answers.rewrite(dest / _answers.FILE, {"_commit": "HEAD", "_src_path": "../.."})


def main() -> int:
    """Replace the committed example by a fresh rendering."""
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "example"
        render(fresh)
        shutil.rmtree(EXAMPLE, ignore_errors=True)
        shutil.copytree(fresh, EXAMPLE)
    print(f"Rendered {EXAMPLE.relative_to(plugins.ROOT)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
