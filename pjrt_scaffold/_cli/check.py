"""`pjrt-scaffold check`: does a plugin keep the rules of the PJRT C API?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from pjrt_scaffold._terminal import Terminal, columns
from pjrt_scaffold.errors import ExitStatus, UsageError

if TYPE_CHECKING:
    from pjrt_scaffold.check.model import Result, Rule

_MARKS = {"pass": "ok", "fail": "FOUND", "not applicable": "-"}


@click.command(short_help="Check any plugin against rules of the PJRT C API.")
@click.argument("plugin", required=False)
@click.option("--list", "as_list", is_flag=True, help="List the rules.")
@click.option("--explain", metavar="RULE", help="Say why a rule is there and how to mend.")
@click.option(
    "--only", multiple=True, metavar="RULE", help="Only this rule, family or start of ids (PJ4)."
)
@click.option("--skip", multiple=True, metavar="RULE", help="Not this rule, family or start.")
@click.option(
    "-j", "--jobs", default=2, show_default=True, type=click.IntRange(1), help="Checks in parallel."
)
@click.option(
    "--timeout",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Seconds that one check may take.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.pass_context
def check(
    context: click.Context,
    plugin: str | None,
    as_list: bool,
    explain: str | None,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    jobs: int,
    timeout: float,
    as_json: bool,
) -> None:
    """Check PLUGIN: the path of a library, or an installed package or module.

    Each rule is checked in a process of its own, through the C API alone; no framework is needed.
    A crash, a hang and what is printed to stdout are findings. A rule that does not concern the
    plugin, or that needs another one that has a finding, is not applicable.

    \b
    Examples:
      pjrt-scaffold check build/libmychip.so
      pjrt-scaffold check mychip-pjrt --only devices --skip PJ417
      pjrt-scaffold check --explain PJ204

    Exit status 1 when there are findings.
    """
    from pjrt_scaffold._plugins import find_library
    from pjrt_scaffold.check import rules, run

    terminal: Terminal = context.obj
    chosen = _chosen(rules.RULES, only, skip)
    if explain is not None:
        if explain not in rules.BY_ID:
            raise UsageError(f"There is no rule {explain}", todo="pjrt-scaffold check --list")
        _explain(terminal, rules.BY_ID[explain], as_json)
        return
    if as_list:
        if as_json:
            terminal.json([_rule(rule) for rule in chosen])
        else:
            terminal.result(columns([(r.id, r.family, r.title) for r in chosen]))
        return
    if plugin is None:
        raise UsageError("Which plugin?", "a library, a package or a module", "see --help")
    library = find_library(plugin)
    results = run.run(
        library,
        chosen,
        run.Settings(jobs, timeout),
        lambda result: terminal.say(f"{result.rule.id} {result.verdict}"),
    )
    failed = [result for result in results if result.verdict == "fail"]
    if as_json:
        terminal.json({"library": str(library), "rules": [_result(r) for r in results]})
    else:
        terminal.result("\n".join(_told(results)))
    if failed:
        context.exit(ExitStatus.FINDINGS)


def _chosen(rules: Sequence[Rule], only: Sequence[str], skip: Sequence[str]) -> list[Rule]:
    """The rules that are left.

    Raises:
        UsageError: nothing has that id, family or start of an id.
    """
    for pattern in (*only, *skip):
        if not any(_matches(rule, pattern) for rule in rules):
            raise UsageError(f"There is no rule {pattern}", todo="pjrt-scaffold check --list")
    left = [
        rule
        for rule in rules
        if (not only or any(_matches(rule, one) for one in only))
        and not any(_matches(rule, one) for one in skip)
    ]
    if not left:
        raise UsageError("--only and --skip leave no rule")
    return left


def _matches(rule: Rule, pattern: str) -> bool:
    return pattern == rule.family or (pattern.startswith("PJ") and rule.id.startswith(pattern))


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "family": rule.family,
        "title": rule.title,
        "why": rule.why,
        "breaks": rule.breaks,
        "mend": rule.mend,
        "needs": list(rule.needs),
    }


def _result(result: Result) -> dict[str, Any]:
    return {
        "id": result.rule.id,
        "family": result.rule.family,
        "title": result.rule.title,
        "verdict": result.verdict,
        "findings": list(result.findings),
        "why": result.why,
        "seconds": result.seconds,
    }


def _explain(terminal: Terminal, rule: Rule, as_json: bool) -> None:
    if as_json:
        terminal.json(_rule(rule))
        return
    rows = [("Why", rule.why), ("Breaks", rule.breaks), ("Mend", rule.mend)]
    if rule.needs:
        rows.append(("Needs", ", ".join(rule.needs)))
    terminal.result(f"{rule.id} {rule.title} ({rule.family})\n\n{columns(rows)}")


def _told(results: Sequence[Result]) -> list[str]:
    """What people read at the end."""
    lines: list[str] = []
    for result in results:
        note = f" ({result.why})" if result.why else ""
        lines.append(f"{result.rule.id}  {_MARKS[result.verdict]:<5}  {result.rule.title}{note}")
        lines += [f"              {finding}" for finding in result.findings]
    counts = {verdict: sum(r.verdict == verdict for r in results) for verdict in _MARKS}
    lines += ["", ", ".join(f"{count} {verdict}" for verdict, count in counts.items())]
    if counts["fail"]:
        first = next(r.rule.id for r in results if r.verdict == "fail")
        lines.append(f"What a rule is for and how to mend: pjrt-scaffold check --explain {first}")
    return lines
