"""A pytest plugin that tells its parent what happens, one JSON object a line.

It runs in the Python of the plugin under test, which need not have this package: only the standard
library and pytest are used. The file of events is written line by line, so that a crash leaves what
was known before it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

_MOST = 6000  # characters of a failure that are kept, half from either end


class _HelpersOfTests(MetaPathFinder):
    """Finds helpers of JAX's tests in `jax._src` that its packages leave out, as pallas_test_util.

    It is asked last, so nothing that is installed is replaced.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        parts = name.split(".")
        if parts[:2] != ["jax", "_src"] or "test" not in parts[-1]:
            return None
        file = self._folder.joinpath(*parts[2:]).with_suffix(".py")
        return spec_from_file_location(name, file) if file.is_file() else None


class _Events:
    def __init__(self, path: str, done: frozenset[str], device: str) -> None:
        self._out = Path(path).open("a", encoding="utf-8", buffering=1)  # noqa: SIM115
        self._done = done
        self._device = device

    def tell(self, **event: Any) -> None:
        self._out.write(json.dumps(event) + "\n")

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        # Before the file is imported: decorators of classes ask for the device. Not earlier: JAX's
        # tests look for their output in what sys.stdout is now.
        if self._device and isinstance(collector, pytest.File):
            _take_for(self._device)
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        left = [item for item in items if _name(item) not in self._done]
        config.hook.pytest_deselected(items=[item for item in items if _name(item) in self._done])
        items[:] = left

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.tell(broken=_shortened(str(report.longrepr)))
        elif report.skipped:
            self.tell(left_out=_reason(report.longrepr))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.tell(start=_name(item))
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[None]:
        report: Any = yield
        if report.failed or report.when == "call" or (report.skipped and report.when == "setup"):
            self.tell(
                end=_name(item),
                outcome="failed" if report.failed else report.outcome,
                seconds=round(report.duration, 3),
                message=_reason(report.longrepr) if report.skipped else "",
                text=_shortened(report.longreprtext) if report.failed else "",
            )
        return report  # type: ignore[no-any-return]


def pytest_configure(config: pytest.Config) -> None:
    """Begin to tell. The parent says where, and which tests it knows already."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    done = Path(os.environ["PJRT_SCAFFOLD_DONE"]).read_text(encoding="utf-8").split("\n")
    events, device = (
        os.environ[f"PJRT_SCAFFOLD_{name}"] for name in ("EVENTS", "DEVICE_UNDER_TEST")
    )
    config.pluginmanager.register(_Events(events, frozenset(done), device))
    sys.meta_path.append(_HelpersOfTests(Path(os.environ["PJRT_SCAFFOLD_JAX_MODULES"])))


def _end_with(parent: int) -> None:
    """End when the parent is gone: it had no time to end this process if it was killed itself."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _take_for(device: str) -> None:
    """Set the flag of JAX's tests for the device under test."""
    import jax
    import jax._src.test_util  # has the flag

    jax.config.update("jax_test_dut", device)


def _name(item: pytest.Item) -> str:
    """`LaxTest.testConv0`: what JAX's own runner calls the test."""
    return ".".join(item.nodeid.split("::")[1:])


def _reason(longrepr: Any) -> str:
    return str(longrepr[2] if isinstance(longrepr, tuple) else longrepr).removeprefix("Skipped: ")


def _shortened(text: str) -> str:
    if len(text) <= _MOST:
        return text
    return f"{text[: _MOST // 2]}\n[...]\n{text[-_MOST // 2 :]}"
