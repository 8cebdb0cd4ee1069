"""`pjrt-scaffold trace`: watch a framework talk to its plugins."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pjrt_scaffold._terminal import Terminal
from pjrt_scaffold.errors import ExitStatus, ScaffoldError, UsageError


@click.group(short_help="Watch a framework talk to its plugins.")
def trace() -> None:
    """Watch JAX, or any other client, talk to its PJRT plugins."""


@trace.command(
    short_help="Run a command, and count and time its calls to PJRT plugins.",
    context_settings={"allow_interspersed_args": False},
)
@click.option(
    "--summary",
    is_flag=True,
    expose_value=False,
    help="Count and time the calls by function, which is always done.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the result there. [default: stderr]",
)
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
@click.option(
    "--log",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write each call there as a line of JSON: arguments, duration, thread.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def run(
    context: click.Context,
    output: Path | None,
    as_json: bool,
    log: Path | None,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND, and tell at its end which functions of which plugins it called, how often and
    for how long. With --log also each call with its arguments, its time and its thread.

    Neither the program nor the plugin is changed: a library that LD_PRELOAD puts before the others
    answers in place of the plugin. It needs a C compiler the first time. stdin, stdout and stderr
    are the command's, and so is the exit status; the result goes to stderr after all else.

    \b
    Examples:
      pjrt-scaffold trace run -- python train.py
      pjrt-scaffold trace run --log calls.jsonl -- python train.py
      pjrt-scaffold trace run --json -o calls.json -- python -m pytest tests
    """
    from pjrt_scaffold.registry import load
    from pjrt_scaffold.trace import counts
    from pjrt_scaffold.trace.run import run as traced

    terminal: Terminal = context.obj
    for file in filter(None, (output, log)):
        if not file.absolute().parent.is_dir():
            raise UsageError(f"{file} cannot be written: there is no folder {file.parent}.")
    outcome = traced(command, load(), log)
    if not outcome.records:
        terminal.error(_no_plugin(command, outcome.status))
        context.exit(outcome.status or ExitStatus.USAGE)
    if as_json:
        text = json.dumps(counts.as_json(outcome.records), indent=2)
    else:
        text = counts.summary(outcome.records)
    if output is not None:
        output.write_text(text + "\n", encoding="utf-8", errors="surrogateescape")
    else:
        terminal.say(text if as_json else f"\n{text}")
    context.exit(outcome.status)


def _no_plugin(command: tuple[str, ...], status: int) -> ScaffoldError:
    ended = f"It ended with status {status}. " if status else ""
    return UsageError(
        f"`{command[0]}` loaded no PJRT plugin, so there is nothing to tell.",
        f"{ended}JAX's own CPU is no plugin. A program that is linked statically, or runs with "
        "other rights than its caller's, does not load the library that traces.",
        "Does the plugin load without the trace, and is it the one that is used (JAX_PLATFORMS)?",
    )
