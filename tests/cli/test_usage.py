"""Help, versions and usage errors of the command line."""

from __future__ import annotations

import pytest

import pjrt_scaffold
from tests.cli.conftest import Command, Run

HELP = """\
Usage: pjrt-scaffold [OPTIONS] COMMAND [ARGS]...

  Generate PJRT plugin repositories that run JAX from the first minute.

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

Options:
  -V, --version  Show the version and exit.
  -h, --help     Show this message and exit.

Commands:
  check      Check any plugin against rules of the PJRT C API.
  compat     Show which jaxlib releases speak which version, or fit a plugin.
  diff       Show what a new API version asks of a plugin.
  doctor     Show which tools are there and how to get those that are missing.
  jax-tests  Run JAX's own tests on a plugin, against a ledger.
  new        Render a new plugin repository.
  registry   Look into the PJRT C API as data; import a new version.
  sync       Write the generated folders anew, or check them.
  trace      Watch a framework talk to its plugins.
  update     Bring this repository to a newer template or API version.

  Exit status: 0 good, 1 findings, 2 wrong usage or something missing on this machine.
"""


def test_help(run: Command) -> None:
    assert run("--help") == Run(HELP, "", 0)


def test_version(run: Command) -> None:
    assert run("--version") == Run(f"pjrt-scaffold {pjrt_scaffold.__version__}\n", "", 0)


@pytest.mark.parametrize(
    "command",
    [
        ["new"],
        ["registry"],
        ["doctor"],
        ["registry", "import"],
        ["update"],
        ["sync"],
        ["trace", "run"],
    ],
)
def test_every_command_has_help(command: list[str], run: Command) -> None:
    result = run(*command, "--help")
    assert result.out.startswith(f"Usage: pjrt-scaffold {' '.join(command)} ")
    assert (result.err, result.status) == ("", 0)


def test_unknown_command(run: Command) -> None:
    assert run("nwe") == Run(
        "",
        "Usage: pjrt-scaffold [OPTIONS] COMMAND [ARGS]...\n"
        "Try 'pjrt-scaffold --help' for help.\n\n"
        "Error: No such command 'nwe'. Did you mean 'new'?\n",
        2,
    )


def test_missing_folder(run: Command) -> None:
    result = run("new")
    assert (result.out, result.status) == ("", 2)
    assert result.err.endswith("Error: Missing argument 'DEST'.\n")
