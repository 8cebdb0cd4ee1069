"""`pjrt-scaffold update`: bring a plugin's repository to a newer template or API version."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pjrt_scaffold._cli.diff import notes_text, stub_text, to_json
from pjrt_scaffold._cli.new import parse_answers
from pjrt_scaffold._terminal import Terminal, columns, hold_signals
from pjrt_scaffold.errors import ExitStatus

if TYPE_CHECKING:
    from pjrt_scaffold._gaps import Gaps
    from pjrt_scaffold._update import Update
    from pjrt_scaffold.registry.compare import NewFunction


@click.command(short_help="Bring this repository to a newer template or API version.")
@click.option(
    "--api",
    metavar="0.NN",
    help="Build for this PJRT C API version; 'latest' is the newest that a jaxlib release speaks.",
)
@click.option("--jaxlib", metavar="X", help="Build for the API version that jaxlib X speaks.")
@click.option("--template", metavar="REF", help="Go to this commit, tag or branch of the template.")
@click.option("--source", metavar="URL", help="Take the template from this git URL or checkout.")
@click.option(
    "-d", "--data", multiple=True, metavar="KEY=VALUE", help="Change an answer; may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
@click.pass_context
def update(
    context: click.Context,
    api: str | None,
    jaxlib: str | None,
    template: str | None,
    source: str | None,
    data: tuple[str, ...],
    as_json: bool,
) -> None:
    """Bring the plugin repository that you are in to a newer template, API version or answer.

    Without options: to the template's newest release, with the same API version and answers. The
    working tree must be clean; what changes is left there for you to look at, test and commit.

    \b
    What is changed:
      csrc/generated      the tool's: written anew
      csrc/vendor, tests/vendor, README.md, LICENSE, CHANGELOG.md, expected_unimplemented.txt
                          yours: once you changed or deleted a file, it is left alone
      everything else     the template's: merged with what you changed there

    Then it says what the new version asks of you: changes of meaning, functions that answer with a
    generated default, and lines of expected_unimplemented.txt that are no longer true.

    \b
    Examples:
      pjrt-scaffold update                        the newest template
      pjrt-scaffold update --api 0.112            another version of the PJRT C API
      pjrt-scaffold update --jaxlib 0.10.2        the one that this jaxlib speaks
      pjrt-scaffold update -d backend=own         leave the reference backend
      pjrt-scaffold update --template v1.2.0      a certain release of the template

    Exit status 1 when files are unmerged or expected_unimplemented.txt must be corrected; on status
    2 nothing was changed.
    """
    from pjrt_scaffold import _git, _project, _update

    terminal: Terminal = context.obj
    wish = _update.Wish(source, template, api, jaxlib, parse_answers(data))
    project = _project.find(Path.cwd())
    done = _update.update(project, wish, terminal.say, hold=hold_signals)
    if as_json:
        terminal.json(_as_json(done))
    else:
        terminal.result("\n".join(_text(done)))
    _tell(terminal, done, _undo(project.root, is_whole=_git.is_checkout(project.root)))
    if done.needs_care:
        context.exit(ExitStatus.FINDINGS)


def _as_json(u: Update) -> dict[str, Any]:
    gaps = u.gaps
    return {
        "old": asdict(u.old),
        "new": asdict(u.new),
        "written": list(u.merge.written),
        "added": list(u.merge.added),
        "removed": list(u.merge.removed),
        "kept_deleted": list(u.merge.kept_deleted),
        "healed": list(u.healed),
        "unmerged": [asdict(one) for one in u.merge.unmerged],
        "taken_off": list(u.taken_off),
        "new_answers": dict(u.new_answers),
        "notes": [{**asdict(note), "since": f"0.{note.since}"} for note in u.notes],
        "diff": None if u.comparison is None else to_json(u.comparison),
        "expected_unimplemented": None
        if gaps is None
        else {
            "reviewed_through": None if gaps.reviewed is None else f"0.{gaps.reviewed}",
            "implemented": list(gaps.implemented),
            "unknown": list(gaps.unknown),
            "unlisted": [_function(f) for f in gaps.unlisted],
            "newer": [_function(f) for f in gaps.newer],
        },
    }


def _function(f: NewFunction) -> dict[str, Any]:
    return {**asdict(f), "since": f"0.{f.since}"}


def _text(u: Update) -> Iterator[str]:
    yield _summary(u)
    if u.merge.unmerged:
        yield "\nUnmerged: resolve these, then git add each"
        yield columns([(f"  {one.path}", one.why) for one in u.merge.unmerged])
    if u.merge.kept_deleted:
        yield "\nStill deleted, though the template changed them"
        yield from (f"  {path}" for path in u.merge.kept_deleted)
    if u.healed:
        yield "\nGenerated files that were edited, and are as generated again"
        yield from (f"  {path}" for path in u.healed)
    if u.taken_off:
        yield "\nTaken off expected_unimplemented.txt: implemented by now, or not in the API"
        yield from (f"  {name}" for name in u.taken_off)
    if u.new_answers:
        yield "\nNew questions, answered with their defaults; another answer: update -d KEY=VALUE"
        yield from (f"  {name}: {value}" for name, value in u.new_answers.items())
    if u.notes:
        yield "\nWhat changed for functions that you implement in csrc/vendor/overrides.h"
        yield from notes_text(u.notes)
    if u.gaps is not None:
        yield from _gaps_text(u.gaps, u.new.api)
    if u.comparison is not None:
        yield f"\nEverything that is new: pjrt-scaffold diff {u.old.api} {u.new.api}"


def _summary(u: Update) -> str:
    moves = [
        f"{what} {old} to {new}" if old != new else f"{what} {new}"
        for what, old, new in (
            ("template", u.old.template, u.new.template),
            ("PJRT C API", u.old.api, u.new.api),
        )
    ]
    changed = len(u.merge.written) - len(u.merge.added)
    counts = f"{changed} files changed, {len(u.merge.added)} added, {len(u.merge.removed)} removed"
    if not u.merge.written and not u.merge.removed:
        counts = "nothing to change"
    return f"{', '.join(moves)}: {counts}."


def _gaps_text(gaps: Gaps, api: str) -> Iterator[str]:
    if gaps.newer:
        since = "" if gaps.reviewed is None else f" since 0.{gaps.reviewed}"
        yield f"\nNew{since} and not implemented here, the most needed first"
        rows = [
            (f"  {f.name}", f"0.{f.since}", f.level or "?", stub_text(f), f.called)
            for f in gaps.newer
        ]
        yield columns([("  function", "since", "level", "answers", "called"), *rows])
        yield from (f"  {f.name}: {f.advice}" for f in gaps.newer if f.level != "optional")
        yield (
            "  Implement them in csrc/vendor/overrides.h, or name those without neutral values in\n"
            "  expected_unimplemented.txt; then make its first line "
            f"# reviewed-through: {api}"
        )
    wrong = [
        *((name, "is no gap any more: take it off") for name in gaps.implemented),
        *((name, f"is no function of {api}: take it off") for name in gaps.unknown),
        *((f.name, "is a gap: implement it, or list it") for f in gaps.unlisted),
    ]
    if gaps.reviewed is None:
        wrong.insert(0, (f"# reviewed-through: {api}", "must be the first line of the file"))
    if wrong:
        yield "\nexpected_unimplemented.txt must be corrected, or the tests fail"
        yield columns([(f"  {name}", what) for name, what in wrong])


def _undo(root: Path, *, is_whole: bool) -> str:
    """What takes an update back. In a part of a repository, the rest of it must not be touched."""
    whole = "git reset --hard && git clean -fd"
    part = "git reset -q . && git restore . && git clean -fd ."
    commands = whole if is_whole else part
    return commands if Path.cwd() == root else f"cd {shlex.quote(str(root))} && {commands}"


def _tell(terminal: Terminal, u: Update, undo: str) -> None:
    if u.merge.unmerged:
        count = len(u.merge.unmerged)
        terminal.say(
            f"\n{count} file{' is' if count == 1 else 's are'} unmerged. Edit what is listed (or: "
            "git mergetool), git add each,\nthen: make test, git add --all, git commit."
        )
    elif u.merge.written or u.merge.removed:
        terminal.say("\nLook at it with git diff, then: make test, git add --all, git commit.")
    if u.merge.written or u.merge.removed:
        terminal.say(f"To undo all of it: {undo}")
