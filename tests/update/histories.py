"""A template with a history, and repositories rendered from it and changed as their owners would.

The template of the working tree is v0.1.0. v0.2.0 and v0.3.0 each change the same files again: a
source of csrc/plugin, CMakeLists.txt, pyproject.toml, a workflow, the Makefile, and files that
belong to owners.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pjrt_scaffold import _new, _project, _source, _update
from tests.support.rendering import ROOT, commit_all, copy_template, git
from tools.jaxlibs_matrix import REQUIREMENT

# What both commits of the template change, with the sign that begins a comment there.
CHANGED = {
    "template/csrc/plugin/fork.cc": "//",
    "template/CMakeLists.txt.jinja": "#",
    "template/pyproject.toml.jinja": "#",
    "template/.github/workflows/ci.yml.jinja": "#",
    "template/Makefile.jinja": "#",
    "template/csrc/vendor/overrides.cc": "//",
    "template/tests/vendor/test_sample.py": "#",
}

PROBE = """\
// Brought by v0.2.0.
#include "generated/config.h"
#include "generated/pjrt_c_api.h"

namespace PJRT_PLUGIN_NS::plugin {
int Probe() { return PJRT_API_MINOR; }
}  // namespace PJRT_PLUGIN_NS::plugin
"""


def make_template(folder: Path) -> Path:
    """Make a git repository of the working tree's template with the tags v0.1.0 to v0.3.0."""
    copy_template(folder)
    shutil.copy(ROOT / "pjrt_scaffold/__init__.py", folder / "pjrt_scaffold")
    commit_all(folder)
    git(folder, "tag", "v0.1.0")
    for name, sign in CHANGED.items():
        edit(folder / name, f"{sign} First line of v0.2.0.\n{{}}".format)
    (folder / "template/csrc/plugin/probe.cc").write_text(PROBE, encoding="utf-8")
    replace(
        folder / "template/csrc/plugin/CMakeLists.txt", "error.cc\n", "error.cc\n    probe.cc\n"
    )
    commit(folder, "Version 0.2.0")
    git(folder, "tag", "v0.2.0")
    for name, sign in CHANGED.items():
        edit(folder / name, f"{{}}{sign} Last line of v0.3.0.\n".format)
        replace(folder / name, "First line of v0.2.0", "First line of v0.3.0")
    replace(folder / "template/csrc/plugin/probe.cc", "v0.2.0", "v0.3.0")
    commit(folder, "Version 0.3.0")
    git(folder, "tag", "v0.3.0")
    return folder


def generate(template: Path, dest: Path, ref: str = "v0.1.0", **answers: str) -> Path:
    """Render the template at a tag, and commit the result as its owner's first commit."""
    source = _source.Source(str(template), ref, updatable=True)
    _new.render(dest, source, answers, defaults=True)
    commit_all(dest)
    return dest


def update(repository: Path, **wish: object) -> _update.Update:
    """Update a repository in this process."""
    wanted = _update.Wish(**wish)  # type: ignore[arg-type]
    return _update.update(_project.find(repository), wanted, lambda _: None)


def edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def replace(path: Path, old: str, new: str) -> None:
    """Replace a text that must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path} no longer holds {old!r}: change this test"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", f"--message={message}")


# ---- What owners do ----

README = "# Our chip\n\nA README of our own, from the first line to the last.\n"
TOOL = '"""A tool of ours."""\n'
COUNTER = """\
#include "vendor/counter.h"

namespace PJRT_PLUGIN_NS::vendor {
int Count() {
  static int count = 0;
  return ++count;
}
}  // namespace PJRT_PLUGIN_NS::vendor
"""
COUNTER_HEADER = """\
#ifndef VENDOR_COUNTER_H_
#define VENDOR_COUNTER_H_
#include "generated/config.h"
namespace PJRT_PLUGIN_NS::vendor {
int Count();
}  // namespace PJRT_PLUGIN_NS::vendor
#endif  // VENDOR_COUNTER_H_
"""
OVERRIDE = """\
struct Api : plugin::Layer {
  PJRT_OVERRIDE(Plugin_Initialize);
  static PJRT_Error* Plugin_Initialize(PJRT_Plugin_Initialize_Args* args);
};
"""
OVERRIDE_SOURCE = """\
#include "vendor/overrides.h"

#include "vendor/counter.h"

namespace PJRT_PLUGIN_NS::vendor {
PJRT_Error* Api::Plugin_Initialize(PJRT_Plugin_Initialize_Args* args) {
  Count();
  return Layer::Plugin_Initialize(args);
}
}  // namespace PJRT_PLUGIN_NS::vendor
"""

Files = dict[str, bytes | None]


@dataclass(frozen=True)
class Owned:
    """A repository that its owner has worked in.

    Attributes:
        path: the repository.
        theirs: what the owner has written or deleted, by path: the content, or None.
        lines: lines that the owner wrote into files of the template, by path.
    """

    path: Path
    theirs: Files
    lines: dict[str, str]

    def lost(self) -> list[str]:
        """What is not as the owner left it."""
        lost = []
        for name, content in self.theirs.items():
            path = self.path / name
            if (path.read_bytes() if path.is_file() else None) != content:
                lost.append(name)
        for name, line in self.lines.items():
            if line not in (self.path / name).read_text(encoding="utf-8").splitlines():
                lost.append(f"{name}: {line}")
        return lost


def work_in(repository: Path) -> Owned:
    """Work in a repository as a vendor does, and commit it.

    Overrides a function, adds sources, rewrites the README, changes files of the template,
    reformats a generated file, and deletes two samples.
    """
    before = _files(repository)
    vendor = repository / "csrc/vendor"
    (repository / "README.md").write_text(README, encoding="utf-8")
    (repository / "tools").mkdir(exist_ok=True)
    (repository / "tools/flash.py").write_text(TOOL, encoding="utf-8")
    (vendor / "counter.h").write_text(COUNTER_HEADER, encoding="utf-8")
    (vendor / "counter.cc").write_text(COUNTER, encoding="utf-8")
    (vendor / "overrides.cc").write_text(OVERRIDE_SOURCE, encoding="utf-8")
    replace(vendor / "overrides.h", "struct Api : plugin::Layer {};\n", OVERRIDE)
    replace(vendor / "sources.cmake", "    overrides.cc)", "    counter.cc\n    overrides.cc)")
    (repository / "tests/vendor/test_sample.py").unlink()
    (repository / "docs/troubleshooting.md").unlink()
    changed = _files(repository)
    theirs = {
        name: changed.get(name)
        for name in before.keys() | changed.keys()
        if before.get(name) != changed.get(name)
    }
    lines = {
        "CMakeLists.txt": 'option(ACME_FAST "Ours" OFF)',
        "pyproject.toml": f'dependencies = ["{REQUIREMENT}", "numpy>=1.26"]',
        ".github/workflows/ci.yml": "    timeout-minutes: 77",
        "csrc/plugin/fork.cc": "// Why we care: our runtime starts threads.",
    }
    replace(
        repository / "CMakeLists.txt",
        "set(PJRT_PLUGIN_SANITIZE",
        f"{lines['CMakeLists.txt']}\nset(PJRT_PLUGIN_SANITIZE",
    )
    replace(
        repository / "pyproject.toml",
        f'dependencies = ["{REQUIREMENT}"]',
        lines["pyproject.toml"],
    )
    replace(
        repository / ".github/workflows/ci.yml",
        "    strategy:\n",
        f"{lines['.github/workflows/ci.yml']}\n    strategy:\n",
    )
    replace(
        repository / "csrc/plugin/fork.cc",
        "void WatchForks() {\n",
        f"{lines['csrc/plugin/fork.cc']}\nvoid WatchForks() {{\n",
    )
    edit(repository / "csrc/generated/table.h", lambda text: text.replace("\n\n", "\n"))
    commit(repository, "Our work")
    return Owned(repository, theirs, lines)


def own_backend(owned: Owned, skeleton: Path) -> Owned:
    """Let the owner write a backend of their own in csrc/vendor/acme, and commit it.

    Args:
        owned: the repository.
        skeleton: a rendering with `backend: own`, whose driver stands for the owner's.
    """
    vendor = owned.path / "csrc/vendor"
    shutil.copytree(skeleton / "csrc/vendor/driver", vendor / "acme")
    shutil.copy(skeleton / "csrc/vendor/backend.cc", vendor)
    for path in [*(vendor / "acme").iterdir(), vendor / "backend.cc"]:
        edit(path, lambda text: text.replace("vendor/driver/", "vendor/acme/"))
    names = sorted(path.name for path in (vendor / "acme").glob("*.cc"))
    listed = "".join(f"    acme/{name}\n" for name in names)
    replace(vendor / "sources.cmake", "    counter.cc\n", f"{listed}    counter.cc\n")
    commit(owned.path, "Our backend")
    now = {
        path.relative_to(owned.path).as_posix(): path.read_bytes()
        for path in [*(vendor / "acme").iterdir(), vendor / "backend.cc", vendor / "sources.cmake"]
    }
    return Owned(owned.path, {**owned.theirs, **now}, owned.lines)


def _files(repository: Path) -> Files:
    return {
        path.relative_to(repository).as_posix(): path.read_bytes()
        for path in repository.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(repository).parts
    }
