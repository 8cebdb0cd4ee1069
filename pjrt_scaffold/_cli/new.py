"""`pjrt-scaffold new`: render a plugin repository."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pjrt_scaffold._terminal import Terminal
from pjrt_scaffold.errors import UsageError

if TYPE_CHECKING:
    from pjrt_scaffold._new import Rendering


@click.command(short_help="Render a new plugin repository.")
@click.argument("dest", type=click.Path(path_type=Path))
@click.option(
    "-d", "--data", multiple=True, metavar="KEY=VALUE", help="Answer a question; may be repeated."
)
@click.option("--defaults", is_flag=True, help="Take the default of every question not answered.")
@click.option("--source", metavar="URL", help="Render this git URL or checkout instead of ours.")
@click.option("--vcs-ref", metavar="REF", help="Render this commit, tag or branch of the template.")
@click.option("--allow-dirty", is_flag=True, help="Render a checkout with uncommitted changes.")
@click.option("--json", "as_json", is_flag=True, help="Print what was made as JSON.")
@click.pass_obj
def new(
    terminal: Terminal,
    dest: Path,
    data: tuple[str, ...],
    defaults: bool,
    source: str | None,
    vcs_ref: str | None,
    allow_dirty: bool,
    as_json: bool,
) -> None:
    """Render a new plugin repository into DEST, a new or an empty folder.

    Without --defaults the questions are asked one by one. A question answered with -d is not asked.

    \b
    Examples:
      pjrt-scaffold new mychip-pjrt
      pjrt-scaffold new mychip-pjrt --defaults -d plugin_name=mychip -d "vendor=Mychip Inc"
      pjrt-scaffold new mychip-pjrt --defaults -d backend=stub -d pjrt_api_version=0.112
      pjrt-scaffold new mychip-pjrt --defaults -d "wheel_platforms=[linux_x86_64, macos_arm64]"

    The result is the same as that of `copier copy --vcs-ref HEAD <git url> DEST`. DEST's
    .copier-answers.yml records the answers, the template and its commit, so that it can be updated.
    On an error nothing is left behind.
    """
    from pjrt_scaffold import _new, _source

    answers = parse_answers(data)
    if not defaults and not sys.stdin.isatty():
        raise UsageError(
            "The questions cannot be asked: the input is not a terminal.",
            todo="Add --defaults, and -d KEY=VALUE for what should differ.",
        )
    template = _source.resolve(source, vcs_ref, allow_dirty)
    made = _new.render(dest, template, answers, defaults=defaults)
    if as_json:
        terminal.json(_as_json(made))
    else:
        terminal.result(str(made.path))
    _tell(terminal, made)


def parse_answers(data: Iterable[str]) -> dict[str, str]:
    """The answers of `-d KEY=VALUE` by question. Raises UsageError."""
    answers: dict[str, str] = {}
    for item in data:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise UsageError(
                f"-d {item} is not an answer.", "An answer is KEY=VALUE, for example backend=stub."
            )
        if name in answers:
            raise UsageError(f"The question '{name}' is answered twice.", todo="Give -d once.")
        answers[name] = value
    return answers


def _as_json(made: Rendering) -> dict[str, object]:
    return {
        "path": str(made.path),
        "source": made.source.location if made.source.updatable else None,
        "updatable": made.source.updatable,
        "answers": dict(made.answers),
        "files": [path.as_posix() for path in made.files],
    }


def _tell(terminal: Terminal, made: Rendering) -> None:
    name = made.answers.get("project_name", made.path.name)
    terminal.say(
        f"\n{name} is ready: {len(made.files)} files.\n\n"
        f'  cd "{made.path}"\n'
        "  make test        builds the plugin and runs its tests on JAX\n\n"
        "README.md says what to do next; what you must write is marked VENDOR: in csrc/vendor."
    )
    if not made.source.updatable:
        terminal.say(
            "\nNote: this repository cannot be updated until a source is given: the installed\n"
            "package has no git history. Give the template's git URL when you update, once:\n"
            "pjrt-scaffold update --source URL. Or render with --source URL in the first place."
        )
