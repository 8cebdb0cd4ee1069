"""The answers that every test of the template goes through."""

from __future__ import annotations

import json

from tests.support.rendering import ROOT, all_pairs, extremes, one_at_a_time

VERSIONS: list[str] = json.loads(
    (ROOT / "pjrt_scaffold/registry/index.json").read_text(encoding="utf-8")
)["versions"]
MATRIX = one_at_a_time(extremes(VERSIONS)) + all_pairs(extremes(VERSIONS))
