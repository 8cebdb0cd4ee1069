"""
Says what JAX sees of this plugin, and why it does not see it.

``python -m <this module> [--json]``. Exit status: 0 good, 1 something to put right, 2 no jax here.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import platform as host
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

from . import _config, _tested_jax, vendor_libraries
from ._capi import NotAPluginError, read_function_table
from ._library import LibraryNotFoundError, find_library
from ._preload import VendorLibraryError, preload
from ._version import __version__

# Read by JAX itself, and decisive for what becomes of a plugin.
_JAX_VARIABLES = (
    "JAX_PLATFORMS",
    "JAX_PJRT_CLIENT_CREATE_OPTIONS",
    "PJRT_NAMES_AND_LIBRARY_PATHS",
    "ENABLE_PJRT_COMPATIBILITY",
)


@dataclass
class Report:
    """What was found. ``problems`` are sentences, each with what to do; empty when all is well."""

    plugin: str = __version__
    platform: str = _config.PLATFORM
    python: str = host.python_version()
    machine: str = f"{host.system()} {host.machine()}"
    jax: str = ""
    jaxlib: str = ""
    package: str = str(_config.PACKAGE_FOLDER)
    routes: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    vendor_libraries: list[str] = field(default_factory=list)
    library: str = ""
    pjrt_api_version: str = ""
    registration: str = ""
    devices: str = ""
    vendor_marks: int | None = None  # None: not in a checkout
    problems: list[str] = field(default_factory=list)
    exit_status: int = 0


def examine() -> Report:
    """Looks at everything in the order in which JAX does, and stops nowhere."""
    report = Report(
        environment={
            name: os.environ[name]
            for name in (*_config.ENVIRONMENT, *_JAX_VARIABLES)
            if name in os.environ
        },
        routes=_discovery_routes(),
        vendor_marks=count_vendor_marks(_checkout()),
    )
    _check_routes(report)
    _check_vendor_libraries(report)
    _check_library(report)
    _check_jax(report)
    report.exit_status = report.exit_status or int(bool(report.problems))
    return report


def _discovery_routes() -> list[str]:
    """The ways on which JAX finds this module: the folder jax_plugins, the entry point, or both."""
    parent, _, name = _config.MODULE.rpartition(".")
    folders = [Path(folder, parent, name) for folder in sys.path] if parent else []
    routes = [f"namespace package {folder.resolve()}" for folder in folders if folder.is_dir()]
    routes += [
        f"entry point {entry.name} = {entry.value}"
        for entry in metadata.entry_points(group="jax_plugins")
        if entry.value.rpartition(".")[2] == name
    ]
    return list(dict.fromkeys(routes))


def _check_routes(report: Report) -> None:
    entries = [route for route in report.routes if route.startswith("entry point")]
    folders = [route for route in report.routes if route.startswith("namespace")]
    if not report.routes:
        report.problems.append(
            f"JAX has no way to find this module; pip install {_config.DISTRIBUTION}"
        )
    if len(folders) > 1:
        report.problems.append("several copies are on the path and the first wins; uninstall one")
    for route in entries:
        if not route.endswith(f"= {_config.MODULE}"):
            report.problems.append(
                f"{route} is another name for this module, so that JAX registers it twice; "
                "uninstall the older distribution"
            )


def _check_vendor_libraries(report: Report) -> None:
    for library in vendor_libraries.VENDOR_LIBRARIES:
        try:
            report.vendor_libraries += preload([library])
        except VendorLibraryError as error:
            report.problems.append(str(error))


def _check_library(report: Report) -> None:
    try:
        library = find_library()
    except LibraryNotFoundError as error:
        report.problems.append(str(error))
        return
    report.library = str(library)
    try:
        table = read_function_table(library)
    except OSError as error:
        report.problems.append(
            f"the system's loader refuses the library: {error}; install what it names, or a wheel "
            f"made for {report.machine}"
        )
    except NotAPluginError as error:
        report.problems.append(f"{error}; build the library again")
    else:
        report.pjrt_api_version = "{}.{}".format(*table.api_version)


def _check_jax(report: Report) -> None:
    try:
        import jax
        import jaxlib
    except ImportError as error:
        report.problems.append(f"jax does not import: {error}; pip install {_config.DISTRIBUTION}")
        report.exit_status = 2
        return
    report.jax, report.jaxlib = jax.__version__, jaxlib.__version__

    from ._register import register

    if advice := _tested_jax.advice(jax.__version__):
        report.problems.append(advice)
    loaded = len(report.vendor_libraries) == len(vendor_libraries.VENDOR_LIBRARIES)
    if not (loaded and report.pjrt_api_version):
        return  # registering would only say the same once more
    try:
        report.registration = register()
        if report.registration.startswith("not registered"):
            report.problems.append(
                f"JAX leaves the platform out ({report.registration}); unset JAX_PLATFORMS or add "
                f"{_config.PLATFORM} to it"
            )
            return
        report.devices = ", ".join(map(repr, jax.devices(_config.PLATFORM)))
    except Exception as error:  # the doctor reports, whatever it is
        cause = " ".join(str(error).split())
        report.problems.append(f"{type(error).__name__}: {cause}")


def _checkout() -> Path | None:
    """The repository that this package is installed from as editable, if it is."""
    for folder in _config.PACKAGE_FOLDER.parents:
        if (folder / "csrc" / "vendor").is_dir():
            return folder
    return None


def count_vendor_marks(checkout: Path | None) -> int | None:
    """How many places still wait for the vendor: the marks VENDOR: in the vendor's files."""
    if checkout is None:
        return None
    return sum(
        path.read_text("utf-8", "replace").count("VENDOR:")
        for folder in ("csrc/vendor", "tests/vendor")
        for path in sorted((checkout / folder).rglob("*"))
        if path.is_file()
    )


def as_text(report: Report) -> str:
    """The report for people: facts, one a line, then the verdict."""
    marks = report.vendor_marks
    lines = [
        ("plugin", f"{_config.DISTRIBUTION} {report.plugin}, platform {report.platform}"),
        ("python", f"{report.python}, {report.machine}"),
        ("jax", f"{report.jax or 'not installed'}, jaxlib {report.jaxlib or 'not installed'}"),
        ("package", report.package),
        *(("found by", route) for route in report.routes or ["nothing"]),
        *(("loaded before", name) for name in report.vendor_libraries),
        ("library", report.library or "none"),
        ("PJRT API", report.pjrt_api_version or "unknown"),
        *(("set", f"{name}={value}") for name, value in report.environment.items()),
        ("registration", report.registration or "not tried"),
        ("devices", report.devices or "none"),
    ]
    if marks is not None:
        lines.append(("vendor", f"{marks} marks VENDOR: left in csrc/vendor and tests/vendor"))
    text = [f"{label:<13} {value}" for label, value in lines]
    text.append("")
    text.extend(f"PROBLEM: {problem}" for problem in report.problems)
    text.append(
        f"{len(report.problems)} to put right."
        if report.problems
        else f"All is well: jax.devices('{report.platform}') works here."
    )
    return "\n".join(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the report and returns the exit status."""
    faulthandler.enable()  # a library that crashes shall at least say where
    parser = argparse.ArgumentParser(
        prog=f"python -m {_config.MODULE}.doctor",
        description="Says what JAX sees of this plugin, and why it does not see it.",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    options = parser.parse_args(arguments)
    report = examine()
    print(json.dumps(asdict(report), indent=2) if options.json else as_text(report))
    return report.exit_status


if __name__ == "__main__":
    sys.exit(main())
