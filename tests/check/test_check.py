"""`pjrt-scaffold check` against a plugin that breaks one rule at a time."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pjrt_scaffold.check import child, rules  # noqa: F401 child fills CHECKS
from pjrt_scaffold.check.model import CHECKS
from pjrt_scaffold.check.run import Children, Settings
from pjrt_scaffold.check.run import run as run_rules
from tests.support.rendering import ROOT

SOURCE = Path(__file__).with_name("plugin.c")
INCLUDE = ROOT / "examples" / "generated_cpu_plugin" / "csrc"
FAULTS = sorted(set(re.findall(r'Fault\("([\w-]+)"\)', SOURCE.read_text(encoding="utf-8"))))
WITHOUT_FAULT = {"PJ101", "PJ102"}  # files of their own, below
HANG = 1.5  # seconds after which a check hangs here

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the faults are those of ELF libraries"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.xdist_group("check"),
]


@dataclass(frozen=True)
class Run:
    """What the command said."""

    status: int
    out: str
    err: str

    @property
    def rules(self) -> dict[str, dict[str, Any]]:
        """The JSON results by rule."""
        return {one["id"]: one for one in json.loads(self.out)["rules"]}

    def found(self) -> dict[str, list[str]]:
        """Rules that have findings, with these."""
        return {one: r["findings"] for one, r in self.rules.items() if r["verdict"] == "fail"}


def check(*arguments: str | Path) -> Run:
    done = subprocess.run(
        [sys.executable, "-m", "pjrt_scaffold", "check", *map(str, arguments)],
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr)


def compiled(source: Path, library: Path, *flags: str) -> Path:
    command = [
        "cc",
        "-std=gnu11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-shared",
        "-fPIC",
        f"-I{INCLUDE}",
    ]
    subprocess.run([*command, str(source), "-o", str(library), *flags], check=True)
    return library


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, tmp_path_factory.mktemp("check") / "healthy.so")


def broken(plugin: Path, fault: str, folder: Path) -> Path:
    """The plugin with that fault."""
    return Path(shutil.copy(plugin, folder / f"{fault}.so"))


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    with Children() as shared:
        yield shared


def test_every_rule_has_a_check_and_a_fault() -> None:
    assert CHECKS.keys() == rules.BY_ID.keys()
    assert {fault.split("-")[0] for fault in FAULTS} | WITHOUT_FAULT == rules.BY_ID.keys()


def test_rules_are_in_order_and_need_what_exists() -> None:
    ids = [rule.id for rule in rules.RULES]
    assert len(ids) == len(set(ids))
    for rule in rules.RULES:
        assert set(rule.needs) <= set(ids), rule.id
        for part in (rule.title, rule.why, rule.breaks, rule.mend):
            assert part.strip() == part != "", rule.id


def test_a_healthy_plugin_has_no_findings(plugin: Path) -> None:
    run = check(plugin, "--json")
    assert run.status == 0
    assert {one["verdict"] for one in run.rules.values()} == {"pass"}
    assert [one["id"] for one in run.rules.values()] == [rule.id for rule in rules.RULES]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_reported_by_its_rule_alone(
    fault: str, plugin: Path, children: Children, tmp_path: Path
) -> None:
    settings = Settings(seconds=HANG if "hang" in fault else 60.0)
    library = broken(plugin, fault, tmp_path)
    results = run_rules(library, rules.RULES, settings, children=children)
    found = [result.rule.id for result in results if result.verdict == "fail"]
    assert found == [fault.split("-")[0]]


@pytest.mark.parametrize(
    ("fault", "rule", "finding"),
    [
        ("PJ103-crash", "PJ103", "GetPjrtApi crashed with SIGABRT"),
        ("PJ103-hang", "PJ103", f"GetPjrtApi hung for {HANG} seconds"),
        ("PJ407", "PJ407", "the end of the process crashed with SIGABRT"),
        ("PJ105", "PJ105", "the end of the process crashed with SIGABRT"),
        ("PJ204", "PJ204", "PJRT_Client_Compile is null; frameworks call it without looking"),
        ("PJ403", "PJ403", "PJRT_Client_Create failed with code 13: no device 0"),
        ("PJ403-crash", "PJ403", "PJRT_Client_Create crashed with SIGABRT"),
        ("PJ403-exit", "PJ403", "PJRT_Client_Create ended the process with status 3"),
        ("PJ412", "PJ412", "2 devices have the id 0"),
    ],
)
def test_a_finding_says_what_happened(
    fault: str, rule: str, finding: str, plugin: Path, children: Children, tmp_path: Path
) -> None:
    settings = Settings(seconds=HANG if "hang" in fault else 60.0)
    library = broken(plugin, fault, tmp_path)
    [result] = run_rules(library, [rules.BY_ID[rule]], settings, children=children)
    assert result.findings == (finding,)


def test_what_is_printed_names_the_rule_that_was_checked(plugin: Path, tmp_path: Path) -> None:
    library = broken(plugin, "PJ104-later", tmp_path)
    run = check(library, "--json", "--only", "PJ104", "--only", "PJ404")
    assert run.found() == {"PJ104": ["'platform asked for' was printed during PJ404"]}


def test_rules_that_need_a_broken_one_are_not_applicable(plugin: Path, tmp_path: Path) -> None:
    run = check(broken(plugin, "PJ403", tmp_path), "--json", "--only", "client")
    assert run.rules["PJ404"]["verdict"] == "not applicable"
    assert run.rules["PJ404"]["why"] == "PJ403 has a finding"
    assert run.rules["PJ404"]["findings"] == []


def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    file = tmp_path / "plugin.so"
    file.write_bytes(b"#!/bin/sh\nexit 0\n")
    assert check(file, "--json").found() == {
        "PJ101": ["the file is no library: it begins with b'#!/bin/s'"]
    }


def test_a_library_of_another_machine(plugin: Path, tmp_path: Path) -> None:
    content = bytearray(plugin.read_bytes())
    content[18:20] = (243).to_bytes(2, "little")
    file = tmp_path / "plugin.so"
    file.write_bytes(content)
    [finding] = check(file, "--json").found()["PJ101"]
    assert finding.startswith("the library is built for riscv, and this is ")


def test_a_missing_dependency(tmp_path: Path) -> None:
    empty = tmp_path / "empty.c"
    empty.write_text("int needed;\n")
    compiled(empty, tmp_path / "libneeded.so", "-Wl,-soname,libneeded.so")
    library = compiled(
        SOURCE, tmp_path / "plugin.so", "-Wl,--no-as-needed", f"-L{tmp_path}", "-lneeded"
    )
    (tmp_path / "libneeded.so").unlink()
    assert check(library, "--json").found() == {
        "PJ101": ["the library needs libneeded.so, which is not to be found here"]
    }


def test_a_library_without_the_symbol(tmp_path: Path) -> None:
    empty = tmp_path / "empty.c"
    empty.write_text("int nothing;\n")
    library = compiled(empty, tmp_path / "plugin.so")
    assert check(library, "--json").found() == {"PJ102": ["the library exports no GetPjrtApi"]}


def test_people_read_a_table(plugin: Path, tmp_path: Path) -> None:
    run = check(broken(plugin, "PJ412", tmp_path), "--only", "PJ412", "--only", "PJ414")
    assert run.status == 1
    assert run.out == (
        "PJ412  FOUND  Each device has an id of its own\n"
        "              2 devices have the id 0\n"
        "PJ414  -      A device is found by its id (PJ412 has a finding)\n"
        "\n"
        "0 pass, 1 fail, 1 not applicable\n"
        "What a rule is for and how to mend: pjrt-scaffold check --explain PJ412\n"
    )
    assert run.err == "PJ412 fail\nPJ414 not applicable\n"


def test_a_signal_ends_all_of_it(plugin: Path, tmp_path: Path) -> None:
    library = broken(plugin, "PJ403-hang", tmp_path)
    command = [sys.executable, "-m", "pjrt_scaffold", "check", str(library), "--only", "PJ403"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while not hanging(library):
            assert process.poll() is None
        process.terminate()
        assert process.stderr.read() == "pjrt-scaffold: Interrupted.\n"
    assert process.returncode == 2
    assert hanging(library) == ""


def hanging(library: Path) -> str:
    """The process that has loaded the library, if there is one."""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):
            if str(library) in maps.read_text(errors="replace"):
                return maps.parent.name
    return ""


def test_list_and_skip() -> None:
    everything = check("--list").out.splitlines()
    assert [line.split()[0] for line in everything] == [rule.id for rule in rules.RULES]
    left = check("--list", "--only", "PJ1", "--only", "client", "--skip", "PJ101").out
    assert [line.split()[0] for line in left.splitlines()] == [
        rule.id for rule in rules.RULES if rule.family in ("load", "client") and rule.id != "PJ101"
    ]


def test_explain() -> None:
    run = check("--explain", "PJ204")
    rule = rules.BY_ID["PJ204"]
    assert run.out == (
        f"PJ204 {rule.title} (abi)\n\nWhy     {rule.why}\nBreaks  {rule.breaks}\n"
        f"Mend    {rule.mend}\nNeeds   PJ201\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--explain", "PJ999"], "There is no rule PJ999"),
        (["--list", "--only", "PJ9"], "There is no rule PJ9"),
        (["--list", "--only", "PJ404", "--skip", "client"], "--only and --skip leave no rule"),
        ([], "Which plugin?"),
        (["./there-is-no.so"], "There is no file ./there-is-no.so"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str) -> None:
    run = check(*arguments)
    assert (run.status, run.out) == (2, "")
    assert said in run.err
