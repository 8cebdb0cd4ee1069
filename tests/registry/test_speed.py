"""What people wait for stays quick.

Bounds are processor seconds, children included, and generous: a busy machine must not fail them. On
an idle one each takes about half.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from pathlib import Path

from pjrt_scaffold.registry.load import FOLDER
from tests.registry.conftest import Render
from tests.support.rendering import Renderer, commit_all


def seconds(*command: str | Path) -> float:
    """Of Python with these arguments; the better of two runs, the first of which fills caches."""
    return min(_run(command) for _ in range(2))


def _run(command: tuple[str | Path, ...]) -> float:
    before = _children()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    return _children() - before


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_diff_over_all_versions() -> None:
    assert seconds("-m", "pjrt_scaffold", "diff", "0.54", "0.117") < 0.6


def test_import_of_a_header_into_the_whole_registry(csrc: Render, tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    shutil.copytree(FOLDER, folder)
    program = (
        "import sys; from pathlib import Path\n"
        "from pjrt_scaffold.registry.importer import import_headers\n"
        "import_headers(Path(sys.argv[1]), folder=Path(sys.argv[2]))\n"
    )
    assert seconds("-c", program, csrc(117) / "generated" / "pjrt_c_api.h", folder) < 5
    assert (folder / "abi.json").read_text() == (FOLDER / "abi.json").read_text()


def test_rendering_a_repository(render: Renderer, tmp_path: Path) -> None:
    copier = "import copier, sys; copier.run_copy(*sys.argv[1:], defaults=True, overwrite=True)"
    assert seconds("-c", copier, render.template, tmp_path / "repository") < 4


def test_new(render: Renderer, tmp_path: Path) -> None:
    """Through the command, which knows better than to ask git about each file."""
    template = tmp_path / "template"
    shutil.copytree(render.template, template)
    commit_all(template)
    new = ("-m", "pjrt_scaffold", "new", "--defaults", "--source", template)
    assert min(_run((*new, tmp_path / name)) for name in "ab") < 2.5
