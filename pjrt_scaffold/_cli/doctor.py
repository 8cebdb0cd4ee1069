"""`pjrt-scaffold doctor`: what this machine has and lacks."""

from __future__ import annotations

import click

from pjrt_scaffold._terminal import Terminal, columns
from pjrt_scaffold.errors import ExitStatus


@click.command(short_help="Show which tools are there and how to get those that are missing.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Show which tools are there, their versions, and how to get those that are missing.

    Exit status 1 when something is missing without which plugins cannot be generated and built.
    """
    from pjrt_scaffold import _tools

    terminal: Terminal = context.obj
    findings = _tools.survey()
    if as_json:
        terminal.json([finding.as_json() for finding in findings])
    else:
        terminal.result(
            columns(
                [
                    (
                        f.tool,
                        f.state,
                        f.version or "-",
                        f"{f.path} ({f.note})" if f.path and f.note else f.path or f.note,
                    )
                    for f in findings
                ]
            )
        )
    missing = [finding.tool for finding in findings if finding.state == "missing"]
    if missing:
        terminal.say(f"Missing: {', '.join(missing)}.")
        context.exit(ExitStatus.FINDINGS)
    terminal.say("Everything that plugins need is there.")
