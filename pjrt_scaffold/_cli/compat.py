"""`pjrt-scaffold compat`: which jaxlib speaks which API version, and which can use a plugin."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from pjrt_scaffold._terminal import Terminal, columns
from pjrt_scaffold.errors import ExitStatus

if TYPE_CHECKING:
    from pjrt_scaffold._plugins import PluginFacts
    from pjrt_scaffold.registry.compat import Verdict
    from pjrt_scaffold.registry.versions import Release


@click.command(short_help="Show which jaxlib releases speak which version, or fit a plugin.")
@click.option(
    "--plugin",
    metavar="PATH_OR_NAME",
    help="A plugin's library, its folder, its distribution (mychip-pjrt) or its module "
    "(jax_plugins.mychip).",
)
@click.option(
    "--all", "everything", is_flag=True, help="With --plugin: a line for each release, not a range."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def compat(context: click.Context, plugin: str | None, everything: bool, as_json: bool) -> None:
    """Show each jaxlib release with its API version and the StableHLO version that it sends.

    With --plugin: under which of them the plugin can work, and why not under the others. The
    library is loaded in a child process, which reads its version, its table and its attributes; no
    client is made and no hardware touched. "perhaps" means that it depends on what cannot be seen
    that way. Exit status 1 when no release can use the plugin.

    \b
    Examples:
      pjrt-scaffold compat
      pjrt-scaffold compat --plugin ./pjrt_plugin_mychip.so
      pjrt-scaffold compat --plugin jax_plugins.mychip --json
    """
    from pjrt_scaffold.registry.versions import releases

    terminal: Terminal = context.obj
    known = releases()
    if plugin is None:
        if as_json:
            terminal.json([_release(release) for release in known])
        else:
            terminal.result(columns([_HEADER, *(_row(release) for release in known)]))
            terminal.say("min plugin: the oldest plugin that the release accepts.")
        return
    from pjrt_scaffold._plugins import examine, find_library
    from pjrt_scaffold.registry import load
    from pjrt_scaffold.registry.compat import judge

    registry = load()
    table = registry.at(registry.minors[-1]).functions
    slot = [function.name for function in table].index("PJRT_Plugin_Attributes")
    facts = examine(find_library(plugin), slot)
    verdicts = judge(facts, known, registry)
    if as_json:
        terminal.json({"plugin": _facts(facts), "releases": [_verdict(v) for v in verdicts]})
    else:
        terminal.say(_describe(facts))
        terminal.result("\n".join(_table(verdicts, everything)))
    if all(verdict.works == "no" for verdict in verdicts):
        context.exit(ExitStatus.FINDINGS)


_HEADER = ("jaxlib", "API", "min plugin", "StableHLO", "newest", "known from")


def _row(r: Release) -> tuple[str, ...]:
    return (
        r.version,
        f"0.{r.framework}",
        "exact" if r.min_plugin is None else f"0.{r.min_plugin}",
        r.stablehlo or "native",
        r.stablehlo_own or "-",
        "running it" if r.observed else "its sources",
    )


def _release(r: Release) -> dict[str, Any]:
    return {
        "jaxlib": r.version,
        "api": f"0.{r.framework}",
        "min_plugin": None if r.min_plugin is None else f"0.{r.min_plugin}",
        "stablehlo": r.stablehlo,
        "stablehlo_own": r.stablehlo_own,
        "observed": r.observed,
    }


def _facts(facts: PluginFacts) -> dict[str, Any]:
    return {
        "library": str(facts.library),
        "api": f"0.{facts.minor}",
        "struct_size": facts.struct_size,
        "null_slots": sorted(facts.null_slots),
        "extensions": list(facts.extensions),
        "stablehlo": _dotted(facts.stablehlo),
        "attributes_error": facts.attributes_error,
        "takes_short_structs": facts.takes_short_structs,
    }


def _verdict(v: Verdict) -> dict[str, Any]:
    return {
        "jaxlib": v.release.version,
        "api": f"0.{v.release.framework}",
        "works": v.works,
        "why": list(v.why),
        "stablehlo": v.stablehlo,
    }


def _describe(facts: PluginFacts) -> str:
    stablehlo = _dotted(facts.stablehlo)
    stated = f"reads StableHLO up to {stablehlo}" if stablehlo else "states no StableHLO version"
    short = {True: "accepts", False: "refuses", None: "was not asked about"}
    return (
        f"{facts.library}: API version 0.{facts.minor}, {stated}, "
        f"{short[facts.takes_short_structs]} shorter structs."
    )


def _dotted(version: tuple[int, ...] | None) -> str | None:
    return ".".join(map(str, version)) if version else None


def _table(verdicts: list[Verdict], everything: bool) -> list[str]:
    """The verdicts as a table; releases in a row with one verdict share a line."""
    alike = (
        [[v] for v in verdicts]
        if everything
        else [list(group) for _, group in groupby(verdicts, lambda v: (v.works, v.why))]
    )
    rows = [("jaxlib", "API", "works", "StableHLO", "why")]
    for group in alike:
        first, last = group[0], group[-1]
        rows.append(
            (
                _span(first.release.version, last.release.version),
                _span(f"0.{first.release.framework}", f"0.{last.release.framework}"),
                first.works,
                _span(first.stablehlo, last.stablehlo),
                "; ".join(first.why),
            )
        )
    return [line.rstrip() for line in columns(rows).splitlines()]


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"
