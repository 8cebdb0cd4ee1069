"""The answers that every test of the template goes through."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.rendering import (
    OTHER_NAMES,
    ROOT,
    Answers,
    all_pairs,
    extremes,
    label,
    one_at_a_time,
)

VERSIONS: list[str] = json.loads(
    (ROOT / "pjrt_scaffold/registry/index.json").read_text(encoding="utf-8")
)["versions"]
TORCH: Answers = {**OTHER_NAMES, "discovery": "entry_point", "frameworks": ["torch_xla"]}
MATRIX = [*one_at_a_time(extremes(VERSIONS)), *all_pairs(extremes(VERSIONS)), TORCH]


def params(chosen: Iterable[Answers]) -> list[Any]:
    """Parameters of a test; one worker takes all tests of a rendering, so it is rendered once."""
    return [
        pytest.param(answers, id=label(answers), marks=pytest.mark.xdist_group(label(answers)))
        for answers in chosen
    ]
