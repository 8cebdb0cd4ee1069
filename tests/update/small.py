"""A template of twenty short files, with all kinds of paths that a real one has.

Rendering it takes a tenth of the time of the real one, so that every rule of updates has its test.
Like the real template with a history it has the tags v0.1.0 to v0.3.0.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.rendering import ROOT, commit_all, git
from tests.update.histories import commit, edit

COPIER = """\
_subdirectory: template
_templates_suffix: .jinja
_answers_file: .copier-answers.yml
_envops: {undefined: jinja2.StrictUndefined, keep_trailing_newline: true}
_skip_if_exists: [/csrc/vendor, /tests/vendor, /README.md, /expected_unimplemented.txt]
_exclude: ["{% if backend != 'reference_cpu' %}/csrc/reference{% endif %}"]
backend:
  type: str
  choices: [reference_cpu, stub, own]
  default: reference_cpu
pjrt_api_version:
  type: str
  default: "0.90"
num_devices:
  type: int
  default: 4
api_minor:
  type: int
  when: false
  default: "{{ pjrt_api_version.split('.')[1] }}"
"""

ANSWERS = "{{_copier_conf.answers_file}}.jinja"
SKELETON = "csrc/vendor/{% if backend != 'reference_cpu' %}driver.cc{% endif %}"
BACKEND = """\
{% if backend == 'reference_cpu' %}#include "reference/driver.h"
{% else %}#include "vendor/driver.h"
{% endif %}"""
MANIFEST = """\
{%- for name in ['config.h', 'guard.h', 'trace.h'] -%}
{%- set content -%}
{%- include ['template/csrc/generated/' ~ name ~ '.jinja', 'template/csrc/generated/' ~ name] -%}
{%- endset -%}
{{ content | hash('sha256') }}  {{ name }}
{% endfor -%}
"""
LAYER = """\
struct Layer : generated::Defaults {
  PJRT_LAYER(Event_Create);  // PJRT_LAYER(Client_DmaMap) comes later
  static void Error_Destroy(PJRT_Error_Destroy_Args* args);
};
"""
LINES = "".join(f"Line {number} of a file that is long enough.\n" for number in range(20))
FILES = {
    ANSWERS: "# Written by copier.\n{{ _copier_answers|to_nice_yaml(width=10000) -}}\n",
    ".gitignore": "build/\n",
    "README.md": "# A plugin\n",
    "Makefile": LINES,
    "pyproject.toml": LINES,
    "hatch_build.py": LINES,
    "docs/guide.md": LINES,
    "tests/test_fork.py": LINES.replace("Line", "Test"),
    "tests/vendor/test_sample.py": "# A sample\n",
    "csrc/plugin/layer.h": LAYER,
    "csrc/reference/driver.h": "// The reference\n",
    "csrc/vendor/backend.cc.jinja": BACKEND,
    "csrc/vendor/overrides.h": "struct Api : plugin::Layer {};\n",
    SKELETON: "// A skeleton\n",
    "csrc/generated/config.h.jinja": "#define PJRT_API_MINOR {{ api_minor }}\n",
    "csrc/generated/guard.h": "// Guard\n",
    "csrc/generated/trace.h": "// Trace\n",
    "csrc/generated/MANIFEST.jinja": MANIFEST,
    "expected_unimplemented.txt.jinja": "# reviewed-through: {{ pjrt_api_version }}\n",
}
CHANGED = ("Makefile", "pyproject.toml", "docs/guide.md", "README.md", "csrc/plugin/layer.h")


def make_small_template(folder: Path) -> Path:
    """Make the git repository."""
    for name, text in FILES.items():
        path = folder / "template" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "copier.yml").write_text(COPIER, encoding="utf-8")
    registry = folder / "pjrt_scaffold/registry"
    registry.mkdir(parents=True)
    for path in (ROOT / "pjrt_scaffold/registry").glob("*.json"):
        shutil.copy(path, registry)
    shutil.copy(ROOT / "pjrt_scaffold/__init__.py", registry.parent)
    commit_all(folder)
    git(folder, "tag", "v0.1.0")
    for tag, text in (("v0.2.0", "// First line of v0.2.0\n{}"), ("v0.3.0", "{}// Last line\n")):
        for name in CHANGED:
            edit(folder / "template" / name, text.format)
        commit(folder, tag)
        git(folder, "tag", tag)
    return folder
