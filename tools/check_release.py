"""Whether a commit may be released: its tag, version and changelog agree.

python -m tools.check_release [v1.2.3]

Generated repositories have the same rules in their tools/check_release.py, which this calls. What
they have not: sections have dates and the order of versions, and nothing waits under Unreleased.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from types import ModuleType

from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
MODULE = "pjrt_scaffold/__init__.py"


def _load() -> ModuleType:
    path = ROOT / "template/tools/check_release.py"
    spec = importlib.util.spec_from_file_location("generated_check_release", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


generated = _load()


def findings(tag: str | None, root: Path = ROOT) -> Iterator[str]:
    """What is wrong, a sentence each.

    Args:
        tag: of the release; None when there is none yet.
        root: the repository.
    """
    try:
        version = generated.read_version(root, MODULE)
    except generated.ReleaseError as error:
        yield str(error)
        return
    if tag:
        yield from generated.check_tag(tag, version, MODULE)
    wrong = generated.check_changelog(root, version, MODULE)
    yield from wrong
    sections = _sections((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    if any(heading == "Unreleased" and text.strip() for heading, text in sections):
        yield f"CHANGELOG.md has notes under Unreleased: move them under '## {version} - <date>'"
    if not wrong:
        headings = [heading for heading, _ in sections if heading != "Unreleased"]
        yield from _wrong_with(headings, Version(version))


def _sections(changelog: str) -> list[tuple[str, str]]:
    """Heading and text of every section, in their order."""
    parts = re.split(r"^## (.+)\n", changelog, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def _wrong_with(headings: list[str], version: Version) -> Iterator[str]:
    """What is wrong with the headings of releases, one of which is this version's."""
    first, *others = headings
    if first.split(" - ")[0] != str(version):
        yield f"CHANGELOG.md does not begin with the section '## {version} - <date>'"
    elif not _is_dated(first):
        yield f"the section '## {first}' of CHANGELOG.md has no date: write '- 2026-01-31' there"
    for older in others:
        if Version(older.split(" - ")[0]) > version:
            yield f"CHANGELOG.md has a section '## {older}' already: the version must be newer"


def _is_dated(heading: str) -> bool:
    try:
        date.fromisoformat(heading.partition(" - ")[2])
    except ValueError:
        return False
    return True


def main() -> int:
    """Print what is wrong with the commit; the exit status."""
    tag = sys.argv[1] if len(sys.argv) > 1 else None
    found = list(findings(tag))
    for line in found:
        print(f"error: {line}", file=sys.stderr)
    if not found:
        print(f"pjrt-scaffold {generated.read_version(ROOT, MODULE)} may be released")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
