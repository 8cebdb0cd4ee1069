"""Write the table of jaxlib releases in docs/jaxlibs.md from tests/jaxlibs/results.json."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.jaxlibs_matrix import known_failure

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "tests" / "jaxlibs" / "results.json"
PAGE = ROOT / "docs" / "jaxlibs.md"
BEGIN = "<!-- from tests/jaxlibs/results.json, by `make test-jaxlibs` -->"
END = "<!-- end -->"

Row = dict[str, Any]


def write_results(rows: Sequence[Row]) -> None:
    """Record the rows of a full run, and show them in the docs."""
    RESULTS.write_text(json.dumps({"rows": list(rows)}, indent=1) + "\n", encoding="utf-8")
    main()


def read_results() -> list[Row]:
    """The rows of the last full run that was recorded."""
    rows: list[Row] = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    return rows


def table(rows: Sequence[Row]) -> str:
    """A line a release, a column a plugin; below it, why something fails."""
    plugins = list(dict.fromkeys(row["api"] for row in rows))
    releases = list(dict.fromkeys(row["jaxlib"] for row in rows))
    found = {(row["api"], row["jaxlib"]): row for row in rows}
    notes: list[str] = []
    head = ["jaxlib", "Python", *(f"plugin {api}" for api in plugins)]
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for jaxlib in releases:
        python = next(row["python"] for row in rows if row["jaxlib"] == jaxlib)
        cells = [_cell(found.get((api, jaxlib)), notes) for api in plugins]
        lines.append(f"| {' | '.join([jaxlib, python.rpartition('.')[0], *cells])} |")
    if notes:
        lines += ["", *(f"{number}. {note}" for number, note in enumerate(notes, 1))]
    return "\n".join(lines)


def _cell(row: Row | None, notes: list[str]) -> str:
    """How many programs pass, and the numbers of the notes on the others."""
    if row is None:
        return ""
    if row["skipped"]:
        return str(row["skipped"])
    total = len(row["passed"]) + len(row["failed"])
    numbers = []
    for name in row["failed"]:
        known = known_failure(name, row["api"], row["jaxlib"])
        note = f"`{name}`: " + (known.reason if known else "not explained yet.")
        if note not in notes:
            notes.append(note)
        numbers.append(notes.index(note) + 1)
    failed = f" ({', '.join(map(str, sorted(numbers)))})" if numbers else ""
    return f"{len(row['passed'])} of {total}{failed}" if numbers else f"all {total}"


def page(old: str, rows: Sequence[Row]) -> str:
    """The page with the part between the markers replaced."""
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{after}"


def main() -> int:
    """Write the page."""
    new = page(PAGE.read_text(encoding="utf-8"), read_results())
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
