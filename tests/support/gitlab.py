"""GitLab's pipelines as a test sees them: which jobs run, in what order, with what commands.

Only as much of GitLab's language as generated repositories use; anything else raises.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

KEYWORDS = {"stages", "variables", "workflow", "default"}
COMPARISON = re.compile(r'\$(\w+)(?: (==|=~) (?:"(.*?)"|\$(\w+)|/(.*?)/))?')


class UnknownSyntaxError(Exception):
    """Something that these tests do not know how GitLab reads."""


def holds(condition: str, variables: Mapping[str, str]) -> bool:
    """Whether a rule's `if` is true: comparisons joined by `&&`, and those by `||`."""
    return any(
        all(_compared(part.strip(), variables) for part in alternative.split("&&"))
        for alternative in condition.split("||")
    )


def _compared(text: str, variables: Mapping[str, str]) -> bool:
    match = COMPARISON.fullmatch(text)
    if match is None:
        raise UnknownSyntaxError(text)
    name, operator, literal, other, pattern = match.groups()
    value = variables.get(name, "")
    if operator is None:
        return value != ""
    if operator == "=~":
        return re.search(pattern, value) is not None
    return value == (literal if other is None else variables.get(other, ""))


@dataclass(frozen=True)
class Pipelines:
    """What a repository's `.gitlab-ci.yml` says.

    Attributes:
        document: the file as YAML has it.
    """

    document: dict[str, Any]

    @classmethod
    def of(cls, tree: Path) -> Pipelines:
        """Those of a repository."""
        text = (tree / ".gitlab-ci.yml").read_text(encoding="utf-8")
        return cls(yaml.safe_load(text))

    def jobs(self) -> dict[str, dict[str, Any]]:
        """Every job that can run, with what it extends and the defaults."""
        names = [name for name in self.document if name not in KEYWORDS and name[0] != "."]
        return {name: self.document["default"] | self._extended(name) for name in names}

    def _extended(self, name: str) -> dict[str, Any]:
        own = dict(self.document[name])
        bases = own.pop("extends", [])
        whole: dict[str, Any] = {}
        for base in [bases] if isinstance(bases, str) else bases:
            whole |= self._extended(base)
        variables = whole.get("variables", {}) | own.get("variables", {})
        return whole | own | ({"variables": variables} if variables else {})

    def started(self, **variables: str) -> dict[str, dict[str, Any]]:
        """The jobs of a pipeline that begins with these variables; none when none begins."""
        known = {"CI_DEFAULT_BRANCH": "main", **self._defaults(), **variables}
        for rule in self.document["workflow"]["rules"]:
            if holds(rule["if"], known):
                break
        else:
            return {}
        known |= rule.get("variables", {}) | variables
        return {
            name: job
            for name, job in self.jobs().items()
            if any(holds(rule["if"], known) for rule in job["rules"])
        }

    def _defaults(self) -> dict[str, str]:
        return {
            name: value["value"] if isinstance(value, dict) else value
            for name, value in self.document["variables"].items()
        }


def matrix(job: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The variables of each of the jobs that one stands for."""
    for row in job.get("parallel", {}).get("matrix", [{}]):
        lists = [value if isinstance(value, list) else [value] for value in row.values()]
        for values in itertools.product(*lists):
            yield dict(zip(row, values, strict=True))
