"""The answers file of a rendered repository, which copier writes and `update` reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

FILE = ".copier-answers.yml"


def rewrite(path: Path, values: Mapping[str, str | None]) -> None:
    """Set or remove top-level keys, and leave every other line as it is.

    Args:
        path: the answers file.
        values: the new values, which go to the top; None removes the key.
    """
    head: list[str] = []
    body: list[str] = []
    dropping = False
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("#"):
            head.append(line)
            continue
        if not line.startswith((" ", "-")):  # else it goes on with the value above
            dropping = line.partition(":")[0] in values
        if not dropping:
            body.append(line)
    kept = {key: value for key, value in values.items() if value is not None}
    new = yaml.safe_dump(kept, sort_keys=False, allow_unicode=True) if kept else ""
    path.write_text("".join([*head, new, *body]), encoding="utf-8")
