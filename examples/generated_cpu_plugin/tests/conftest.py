"""
Runs the tests on the plugin's devices, and sums them up by tier.

The plugin is usable when the tiers foundational and core pass, and ready for release when all do.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, Final

import pytest
from plugin_under_test import BACKEND, config

TIERS: Final = ("foundational", "core", "ecosystem")

# Before jax makes its clients: our devices by default, as many as the tests for several need.
os.environ.setdefault("JAX_PLATFORMS", f"{config.PLATFORM},cpu")
os.environ.setdefault(config.ENV_PREFIX + "NUM_DEVICES", "4")


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marks by which tests are chosen."""
    config.addinivalue_line("markers", "needs_compiler: runs programs on the devices")
    config.addinivalue_line("markers", "needs_no_compiler: only while the backend compiles nothing")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what a backend without a compiler cannot do, and the reverse."""
    unwanted = "needs_no_compiler" if _compiles() else "needs_compiler"
    dropped = [item for item in items if item.get_closest_marker(unwanted)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if not item.get_closest_marker(unwanted)]


def _compiles() -> bool:
    if BACKEND != "own":
        return BACKEND == "reference_cpu"
    import jax

    try:
        jax.jit(lambda x: x + 1)(1)
    except jax.errors.JaxRuntimeError as error:
        if "UNIMPLEMENTED" not in str(error):
            raise
        return False
    return True


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints the table of tiers."""
    counts: dict[str, Counter[str]] = {tier: Counter() for tier in TIERS}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            for tier in TIERS:
                if tier in getattr(report, "keywords", {}):
                    counts[tier][outcome] += 1
    terminalreporter.section("tiers")
    good = True
    for tier, level in zip(TIERS, ("", "usable", "ready for release"), strict=True):
        count = counts[tier]
        failed = count["failed"] + count["error"]
        good = good and failed == 0 and count["passed"] > 0
        verdict = f"the plugin is {level}" if good and level else ""
        terminalreporter.write_line(
            f"{tier:<13} {count['passed']:>4} passed {failed:>4} failed "
            f"{count['skipped']:>4} skipped   {verdict}".rstrip()
        )
