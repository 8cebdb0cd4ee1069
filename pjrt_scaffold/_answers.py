"""The answers file of a rendered repository, which copier writes and `update` reads."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pjrt_scaffold.errors import UsageError

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
    # One line each, however long: other tools look for `_src_path` with less than a YAML parser.
    new = yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=sys.maxsize)
    path.write_text("".join([*head, new if kept else "", *body]), encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """Every key of an answers file, those of copier (`_src_path`, `_commit`) included.

    Raises:
        UsageError: the content is no mapping: somebody edited it, or left a merge unfinished.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read.", str(error), _RESTORE) from error
    if not isinstance(content, dict):
        raise UsageError(f"{path} holds no answers.", todo=_RESTORE)
    return {str(name): value for name, value in content.items()}


_RESTORE = f"Bring back a version that copier wrote: git log -- {FILE}"
