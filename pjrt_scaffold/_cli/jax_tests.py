"""`pjrt-scaffold jax-tests`: JAX's own tests on a plugin."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pjrt_scaffold._terminal import Terminal, columns
from pjrt_scaffold.errors import ExitStatus, UsageError

if TYPE_CHECKING:
    from pjrt_scaffold.jax_tests.compare import FileDifference
    from pjrt_scaffold.jax_tests.ledger import Findings, Ledger
    from pjrt_scaffold.jax_tests.model import Run

_FILE = click.Path(dir_okay=False, path_type=Path)
_MOST = 20  # findings of a kind that are printed; the reports have all


@click.command("jax-tests", short_help="Run JAX's own tests on a plugin, against a ledger.")
@click.argument("plugin")
@click.argument("files", nargs=-1)
@click.option(
    "--jax-tree",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A checkout of JAX, or a git repository that has the tag of the jax that is installed. "
    "[default: $PJRT_SCAFFOLD_JAX_TREE, ./jax, ../jax, build/jax]",
)
@click.option(
    "--python", default=sys.executable, help="The Python of the plugin. [default: this one]"
)
@click.option(
    "-k", "select", default="", metavar="EXPRESSION", help="Only tests that match, as pytest's -k."
)
@click.option(
    "-j", "--jobs", default=2, show_default=True, type=click.IntRange(1), help="Files side by side."
)
@click.option(
    "--timeout",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Seconds that one test may take.",
)
@click.option(
    "--cases",
    default=3,
    show_default=True,
    type=click.IntRange(1),
    help="How many generated cases of each test (JAX_NUM_GENERATED_CASES).",
)
@click.option(
    "--device-under-test",
    "device",
    default="",
    metavar="KIND",
    help="Let the tests take the plugin for this kind of device (JAX's flag jax_test_dut): many "
    "run on `cpu`, `gpu` or `tpu` only, or leave out what those lack. [default: its platform]",
)
@click.option("--slow", is_flag=True, help="Run what JAX marks as slow, too.")
@click.option("--ledger", "ledger_file", type=_FILE, help="Which tests fail, and why (YAML).")
@click.option("--update-ledger", is_flag=True, help="Write the ledger anew from this run.")
@click.option(
    "--against",
    metavar="PLUGIN_OR_FILE",
    help="Compare with another plugin, run here too, or with results of --results.",
)
@click.option(
    "--results", type=_FILE, help="Write the results there as JSON, after each file of tests."
)
@click.option("--resume", is_flag=True, help="Keep the files that --results has already.")
@click.option("--junit", type=_FILE, help="Write JUnit XML there.")
@click.option("--html", type=_FILE, help="Write a page to read there.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.pass_context
def jax_tests(
    context: click.Context,
    plugin: str,
    files: tuple[str, ...],
    jax_tree: Path | None,
    python: str,
    select: str,
    jobs: int,
    timeout: float,
    cases: int,
    device: str,
    slow: bool,
    ledger_file: Path | None,
    update_ledger: bool,
    against: str | None,
    results: Path | None,
    resume: bool,
    junit: Path | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Run JAX's own tests on PLUGIN: a platform that JAX finds, or the path of a library.

    The tests lie in JAX's repository only, so a checkout is needed; its release must be that of the
    jax that is installed. FILES are names or patterns of files of tests (lax_test.py, 'pallas/*');
    without them all run, which takes hours. Each file runs in a process of its own; a crash or a
    hang costs the one test.

    The ledger lists the tests that are known to fail. What fails beside it is a finding, and so is
    what stands in it and passes. Exit status 1 when there are findings.

    \b
    Examples:
      pjrt-scaffold jax-tests mychip lax_test.py --jax-tree ~/jax
      pjrt-scaffold jax-tests mychip --ledger tests/jax/ledger.yaml --html report.html
      pjrt-scaffold jax-tests mychip --ledger tests/jax/ledger.yaml --update-ledger
      pjrt-scaffold jax-tests mychip 'lax_*' --against cpu
    """
    from pjrt_scaffold.jax_tests import ledger as ledgers
    from pjrt_scaffold.jax_tests import model, report, session
    from pjrt_scaffold.jax_tests.compare import compare
    from pjrt_scaffold.jax_tests.run import Settings
    from pjrt_scaffold.jax_tests.target import Target

    terminal: Terminal = context.obj
    if update_ledger and ledger_file is None:
        raise UsageError("--update-ledger needs --ledger FILE: which one?")
    if resume and results is None:
        raise UsageError("--resume needs --results FILE: where are the earlier results?")
    for file in filter(None, (results, junit, html)):
        _require_folder(file)
    begins = update_ledger and ledger_file is not None and not ledger_file.exists()
    ledger = ledgers.Ledger() if ledger_file is None or begins else ledgers.read(ledger_file)
    settings = Settings(timeout, jobs, cases, slow, select, device)
    other = model.read(Path(against)) if against and against.endswith(".json") else None

    run = session.run(
        Target.of(plugin, python),
        files,
        jax_tree,
        settings,
        ledger,
        terminal.say,
        results=results,
        resume=resume,
    )
    if against and other is None:
        target = Target.of(against, python)
        other = session.run(target, list(run.files), jax_tree, settings, ledger, terminal.say)
    differences = [] if other is None else compare(run, other)
    findings = ledgers.judge(run, ledger)
    if junit is not None:
        junit.write_text(report.junit(run, ledger), encoding="utf-8")
    if html is not None:
        page = report.html(run, ledger, findings, differences, other.platform if other else "")
        html.write_text(page, encoding="utf-8")
    if as_json:
        terminal.json(model.as_json(run))
    else:
        terminal.result("\n".join(_told(run, findings, differences, other, ledger_file)))
    if update_ledger and ledger_file is not None:
        new = ledgers.updated(ledger, run)
        ledgers.write(new, ledger_file)
        terminal.say(f"{ledger_file} is written: {_summary(new, ledgers.NOT_LOOKED_AT)}.")
    elif findings if ledger_file or other is None else any(d.behind for d in differences):
        context.exit(ExitStatus.FINDINGS)


def _require_folder(file: Path) -> None:
    """An hour of tests must not end at a folder that is not there."""
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{file} cannot be written: there is no folder {file.parent}.")


def _summary(ledger: Ledger, new: str) -> str:
    reasons = [why for tests in ledger.failures.values() for why in tests.values()]
    return f"{len(reasons)} expected failures, {reasons.count(new)} of them '{new}'"


def _told(
    run: Run,
    findings: Findings,
    differences: Sequence[FileDifference],
    other: Run | None,
    ledger: Path | None,
) -> list[str]:
    """What people read at the end."""
    from pjrt_scaffold.jax_tests.model import told

    lines = [f"{run.platform}: {told(run.count())}"]
    if other is not None:
        lines += [f"{other.platform}: {told(other.count())}", "", *_beside(run, other, differences)]
    if other is not None and ledger is None:
        return lines
    where = "" if ledger is None else f" and do not stand in {ledger}"
    failures = [f"{file} {r.test}: {r.outcome}: {r.message}" for file, r in findings.failures]
    lines += _some(f"{len(failures)} failed{where}", failures)
    passes = [" ".join(one) for one in findings.passes]
    lines += _some(f"{len(passes)} passed and stand in {ledger}", passes)
    gone = [" ".join(one) for one in findings.gone]
    lines += _some(f"{len(gone)} stand in {ledger} and are no tests", gone)
    if ledger is not None and not findings:
        lines += ["", f"All is as {ledger} says."]
    return lines


def _beside(run: Run, other: Run, differences: Sequence[FileDifference]) -> list[str]:
    ours, theirs = run.platform, other.platform
    header = ("file", ours, theirs, f"only {theirs}", f"only {ours}")
    rows = [
        (d.file, *map(str, d.passed), str(len(d.behind)), str(len(d.ahead))) for d in differences
    ]
    behind = [f"{d.file} {r.test}: {r.outcome}: {r.message}" for d in differences for r in d.behind]
    table = columns([header, *rows]).splitlines()
    return table + _some(f"{len(behind)} passed on {theirs} alone", behind)


def _some(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    more = len(lines) - _MOST
    rest = [f"  and {more} more; --html and --results have all"] if more > 0 else []
    return ["", f"{title}:", *(f"  {line}" for line in lines[:_MOST]), *rest]
