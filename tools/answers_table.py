"""Write the table of questions in docs/answers.md from copier.yml, between its two markers."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from pjrt_scaffold import _source
from pjrt_scaffold.registry import load

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "answers.md"
BEGIN = "<!-- from copier.yml, by `make docs` -->"
END = "<!-- end -->"


def table() -> str:
    """The questions in the order in which they are asked, as a Markdown table."""
    questions = _source.load_questions(ROOT)
    rows = ["| Question | What it sets | Values | Default |", "| --- | --- | --- | --- |"]
    for name in _source.question_names(questions):
        details = questions[name]
        cells = (
            f"`{name}`",
            details["help"].replace("<", "&lt;"),
            _values(details),
            _default(details),
        )
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows)


def _values(details: dict[str, Any]) -> str:
    choices = details.get("choices")
    if isinstance(choices, dict):
        several = "any of " if details.get("multiselect") else ""
        return several + ", ".join(f"`{value}`" for value in choices.values())
    if choices:  # computed from the registry
        minors = load().minors
        return f"`0.{minors[0]}` to `0.{minors[-1]}`"
    return "a whole number" if details["type"] == "int" else "text"


def _default(details: dict[str, Any]) -> str:
    default = details["default"]
    if isinstance(default, list):
        return "all" if default else "none"
    if isinstance(default, str) and "index.json" in default:
        return "the version that most released frameworks speak"
    if isinstance(default, str) and "{{" in default:
        return "`" + re.sub(r"{{ (\w+).*? }}", r"<\1>", default) + "`"
    return f"`{default}`"


def page(old: str) -> str:
    """The page with the part between the markers replaced."""
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
