"""The `pjrt-scaffold` command: one module per command, imported when it runs."""

from __future__ import annotations

import signal
import sys

import click

import pjrt_scaffold
from pjrt_scaffold._cli.check import check
from pjrt_scaffold._cli.compat import compat
from pjrt_scaffold._cli.diff import diff
from pjrt_scaffold._cli.doctor import doctor
from pjrt_scaffold._cli.jax_tests import jax_tests
from pjrt_scaffold._cli.new import new
from pjrt_scaffold._cli.registry import registry
from pjrt_scaffold._cli.sync import sync
from pjrt_scaffold._cli.trace import trace
from pjrt_scaffold._cli.update import update
from pjrt_scaffold._terminal import ENDING, Terminal, hold_signals
from pjrt_scaffold.errors import MissingError, ScaffoldError, UsageError


class _Group(click.Group):
    """Tells what ends a command early as ours: click's status 1 would mean findings."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise UsageError("Interrupted.") from error
        except BrokenPipeError:
            raise
        except OSError as error:
            what = f"{error.filename}: " if error.filename else ""
            raise MissingError(
                f"{what}{error.strerror or error}.",
                todo="Scratch files go to the folder that TMPDIR names: is there room, and may you "
                "write there?",
            ) from error


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 good, 1 findings, 2 wrong usage or something missing on this machine.",
)
@click.version_option(
    pjrt_scaffold.__version__, "-V", "--version", message="pjrt-scaffold %(version)s"
)
def cli() -> None:
    """Generate PJRT plugin repositories that run JAX from the first minute.

    \b
    Examples:
      pjrt-scaffold doctor                       what is installed, what is missing
      pjrt-scaffold new mychip-pjrt              asks the questions, then renders
      pjrt-scaffold new mychip-pjrt --defaults   the working CPU plugin, no questions
      pjrt-scaffold update --api latest          in a plugin's repository: follow the PJRT API
      pjrt-scaffold diff 0.112 0.117             what a new API version asks of a plugin
      pjrt-scaffold compat --plugin LIBRARY      which jaxlib releases can use a plugin
      pjrt-scaffold check mychip-pjrt            whether a plugin keeps the rules of the C API
      pjrt-scaffold jax-tests mychip             JAX's own tests on a plugin
      pjrt-scaffold trace run -- COMMAND         the calls between JAX and its plugins
      pjrt-scaffold registry show PJRT_Client    what the PJRT C API says about a name

    Results go to stdout, everything else to stderr.
    """


cli.add_command(new)
cli.add_command(update)
cli.add_command(sync)
cli.add_command(diff)
cli.add_command(compat)
cli.add_command(check)
cli.add_command(jax_tests)
cli.add_command(trace)
cli.add_command(registry)
cli.add_command(doctor)


def _interrupt(*_: object) -> None:
    """End the command; nothing disturbs it while it cleans up."""
    hold_signals()
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line and exit with its status."""
    terminal = Terminal()
    for ending in ENDING:
        if signal.getsignal(ending) != signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(ending, _interrupt)
    try:
        cli.main(prog_name="pjrt-scaffold", obj=terminal)
    except ScaffoldError as error:
        terminal.error(error)
        sys.exit(error.status)
