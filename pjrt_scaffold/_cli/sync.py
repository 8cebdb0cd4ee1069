"""`pjrt-scaffold sync`: write the generated folders anew."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from pjrt_scaffold._terminal import Terminal
from pjrt_scaffold.errors import ExitStatus, UsageError


@click.command(short_help="Write the generated folders anew, or check them.")
@click.option("--check", is_flag=True, help="Change nothing; say what differs. Works offline.")
@click.option("--source", metavar="URL", help="Take the template from this git URL or checkout.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def sync(context: click.Context, check: bool, source: str | None, as_json: bool) -> None:
    """Write the generated folders of this repository anew, as its answers and template say.

    A folder with a file MANIFEST is generated, such as csrc/generated: whatever was edited or
    deleted there comes back, in other folders nothing changes. Files that nobody generates are
    named and left alone.

    With --check only the hashes in the MANIFEST are compared: for CI, without network, without the
    template. Exit status 1 when something differs.

    \b
    Examples:
      pjrt-scaffold sync
      pjrt-scaffold sync --check
    """
    from pjrt_scaffold import _project, _sync

    terminal: Terminal = context.obj
    project = _project.find(Path.cwd())
    if check:
        if source is not None:
            raise UsageError("--check needs no --source: it compares hashes.")
        drifts = _sync.check(project)
        if as_json:
            terminal.json([asdict(drift) for drift in drifts])
        for drift in drifts if not as_json else ():
            terminal.result(f"{drift.path}: {drift.what}")
        if drifts:
            terminal.say(
                "Edits in generated folders are lost: what you want otherwise goes into "
                "csrc/vendor/overrides.h.\nWrite the folders anew with pjrt-scaffold sync."
            )
            context.exit(ExitStatus.FINDINGS)
        return
    done = _sync.sync(project, source, terminal.say)
    if as_json:
        terminal.json(asdict(done))
    else:
        for what, paths in (("written anew", done.written), ("removed", done.removed)):
            for path in paths:
                terminal.result(f"{path}: {what}")
        if not done.written and not done.removed:
            terminal.say("The generated folders are as they should be.")
    if done.strays:
        terminal.say(f"Not generated, move or delete: {', '.join(done.strays)}")
        context.exit(ExitStatus.FINDINGS)
