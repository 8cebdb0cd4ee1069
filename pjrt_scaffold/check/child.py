"""Children for checks: `python -m pjrt_scaffold.check.child` forks one for each line it reads.

A line is JSON: `library`, `rule`, `seconds` and `folder`, where the child leaves `stdout`, `stderr`
and `facts`. The answer is a line too: the child's exit status, negative for a signal, null if it
took too long and was killed. This process loads no plugin, so that forking is safe.

`facts` has one JSON object a line, so that a crash leaves what was learnt before it: `doing` before
each step, `finding`, `absent` when the check cannot be made.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from pjrt_scaffold.check import (  # noqa: F401 the families fill CHECKS
    abi_rules,
    client_rules,
    error_rules,
    load_rules,
)
from pjrt_scaffold.check.model import CHECKS, NotApplicable
from pjrt_scaffold.check.plugin import PjrtError, Plugin
from pjrt_scaffold.check.rules import PROCESS_END
from pjrt_scaffold.registry import load
from pjrt_scaffold.registry.model import Registry

_GLANCE = 0.002  # seconds between two looks at a child


def serve() -> None:
    """Answer line by line until the input ends; a child returns from here, too."""
    registry = load()
    gc.freeze()  # what is shared with the children stays so
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for line in sys.stdin:
        task = json.loads(line)
        folder = Path(task["folder"])
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            _redirect(folder)
            _check(Path(task["library"]), task["rule"], folder / "facts", registry)
            return
        print(json.dumps(_wait(pid, task["seconds"])), flush=True)


def _redirect(folder: Path) -> None:
    """Let the plugin's output go to files, and give it nothing to read."""
    for number, path in ((0, Path(os.devnull)), (1, folder / "stdout"), (2, folder / "stderr")):
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(file, number)
        os.close(file)


def _wait(pid: int, seconds: float) -> int | None:
    """The child's exit status; it is killed if it takes too long, or if this process must end."""
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(_GLANCE)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def _check(library: Path, rule: str, output: Path, registry: Registry) -> None:
    """Run the check of one rule in this process, and end it unless the rule is about that."""
    with output.open("w", encoding="utf-8", buffering=1) as out:

        def tell(**facts: Any) -> None:
            out.write(json.dumps(facts) + "\n")

        plugin = Plugin(library, registry, lambda step: tell(doing=step))
        try:
            for finding in CHECKS[rule](plugin):
                tell(finding=finding)
        except PjrtError as error:
            tell(finding=str(error))
        except NotApplicable as why:
            tell(absent=str(why))
        tell(doing="the end of the process")
    if rule not in PROCESS_END:
        ctypes.CDLL(None).fflush(None)  # what the plugin printed
        os._exit(0)


if __name__ == "__main__":
    serve()
