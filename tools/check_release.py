"""Whether a commit may be released: its tag, version and changelog agree.

python -m tools.check_release [v1.2.3]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from packaging.version import InvalidVersion, Version

import pjrt_scaffold

CHANGELOG = Path(__file__).resolve().parents[1] / "CHANGELOG.md"
MODULE = "pjrt_scaffold/__init__.py"


def findings(tag: str | None, version: str, changelog: str) -> Iterator[str]:
    """What is wrong, a sentence each.

    Args:
        tag: of the release; None when there is none yet.
        version: of the package.
        changelog: the text of CHANGELOG.md.
    """
    try:
        parsed = Version(version)
    except InvalidVersion:
        yield f"The version {version!r} is none of PEP 440: write 1.2.3 or 1.2.3rc1 in {MODULE}."
        return
    if str(parsed) != version or parsed.local:
        yield f"The version {version!r} is not in its public normal form: write {parsed.public!r}."
    if tag is not None and tag != f"v{version}":
        yield (
            f"The tag is {tag!r}, the version {version!r}: tag the commit v{version}, or change "
            f"{MODULE}."
        )
    yield from _changelog_findings(parsed, _sections(changelog))


def _sections(changelog: str) -> list[tuple[str, str]]:
    """Heading and text of every section, in their order."""
    parts = re.split(r"^## (.+)\n", changelog, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def _changelog_findings(version: Version, sections: list[tuple[str, str]]) -> Iterator[str]:
    unreleased = [text for heading, text in sections if heading == "Unreleased"]
    released = [(h, text) for h, text in sections if h != "Unreleased"]
    if any(text.strip() for text in unreleased):
        yield f"CHANGELOG.md has notes under Unreleased: move them under '## {version} - <date>'."
    if not released or released[0][0].split(" - ")[0] != str(version):
        yield f"CHANGELOG.md does not begin with a section '## {version} - <date>': write it."
        return
    heading, text = released[0]
    if not _is_dated(heading):
        yield f"The section '## {heading}' of CHANGELOG.md has no date: write '- 2026-01-31' there."
    if not text.strip():
        yield f"The section '## {heading}' of CHANGELOG.md is empty: say what users notice."
    for older, _ in released[1:]:
        if Version(older.split(" - ")[0]) >= version:
            yield f"CHANGELOG.md has a section '## {older}' already: the version must be newer."


def _is_dated(heading: str) -> bool:
    try:
        date.fromisoformat(heading.partition(" - ")[2])
    except ValueError:
        return False
    return True


def main() -> int:
    """Print what is wrong with the commit; the exit status."""
    tag = sys.argv[1] if len(sys.argv) > 1 else None
    text = CHANGELOG.read_text(encoding="utf-8")
    found = list(findings(tag, pjrt_scaffold.__version__, text))
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print(f"pjrt-scaffold {pjrt_scaffold.__version__} may be released.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
