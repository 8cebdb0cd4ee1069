"""
Build hook: makes the plugin library with CMake and puts it into the wheel, beside its SBOM.

One wheel serves every Python (tag ``py3-none-<platform>``): the library knows nothing of Python.
Environment: ``CXX`` and ``CMAKE_ARGS`` as CMake users know them, ``CMAKE_BUILD_PARALLEL_LEVEL`` for
another number of jobs than there are processors.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

OLDEST_CMAKE = (3, 22)
HOW_TO_GET_A_COMPILER = """\
  Debian, Ubuntu   apt install g++
  Fedora, RHEL     dnf install gcc-c++
  macOS            xcode-select --install
  Windows          winget install LLVM.LLVM, beside the build tools of Visual Studio
GCC 12 or newer and Clang 14 or newer will do; CXX=/path/to/compiler chooses among several."""

# What of others' software is in the wheel; csrc/vendor is the vendor's.
THIRD_PARTY = "csrc/vendor/third_party.toml"
REQUIRED_FIELDS = {"name": str, "version": str, "license": str, "license-files": list}
OPTIONAL_FIELDS = {"libraries": list, "purl": str}


class CMakeBuildHook(BuildHookInterface[Any]):
    """Runs CMake for wheels and for editable installs."""

    def dependencies(self) -> list[str]:
        """What an isolated build must fetch: CMake and Ninja, each only when there is none."""
        missing = []
        if _find_cmake() is None:
            missing.append("cmake>=3.22")
        if shutil.which("ninja") is None:
            missing.append("ninja")
        return missing

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the library. ``version`` is hatchling's: ``standard`` or ``editable``."""
        if sys.platform == "darwin":
            os.environ.setdefault("MACOSX_DEPLOYMENT_TARGET", _oldest_macos(self.root))
        platform = self.build_config.builder.get_best_matching_tag().split("-")[2]
        package = Path(self.config["package"])
        name = self.config["library"] + (".dll" if platform.startswith("win") else ".so")
        sources = _sources(self.root)
        # What is wrong there is said before a minute of compiling.
        bill = self._bill_of_materials(sources)
        library = self._build(sources, name)

        path = sources / "build" / "wheel" / f"{self.metadata.core.name}.cdx.json"
        path.write_text(bill, encoding="utf-8")
        build_data["sbom_files"].append(str(path))
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        if version == "editable":
            _replace(library, Path(self.root, package, name))
        else:
            inside = package.relative_to("src") / name
            build_data["force_include"][str(library)] = inside.as_posix()

    def _bill_of_materials(self, sources: Path) -> str:
        core = self.metadata.core
        path = sources / THIRD_PARTY
        try:
            components = third_party(path, core.license_files)
        except ThirdPartyError as error:
            self._abort(f"{error}\n  docs/wheels.md says what belongs into {THIRD_PARTY}.")
        version, licence = self.metadata.version, core.license_expression
        return bill_of_materials(core.name, version, licence, components)

    def _build(self, sources: Path, name: str) -> Path:
        folder = sources / "build" / "wheel"
        cmake = _find_cmake()
        if cmake is None:
            self._abort("There is no CMake 3.22 or newer on the PATH: pip install cmake ninja")
        compiler = _find_compiler()
        if compiler is None:
            wanted = os.environ.get("CXX")
            what = f"CXX={wanted} names no program" if wanted else "There is no C++ compiler"
            self._abort(f"{what}. Install one and build again:\n{HOW_TO_GET_A_COMPILER}")

        generator = _generator()
        if reason := _stale(folder, sources, generator, compiler):
            self.app.display_info(f"{folder} cannot be reused, {reason}; building anew")
            shutil.rmtree(folder)
        stage = folder / "stage"
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(_cpu_count())

        self.app.display_waiting(f"Configuring {name} in {folder}")
        self._run(
            [
                *(cmake, "-S", str(sources), "-B", str(folder), *generator),
                *("-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={compiler}"),
                "-DPJRT_PLUGIN_BUILD_TESTS=OFF",
                *_words(os.environ.get("CMAKE_ARGS", "")),
            ],
            "CMake could not configure the project; the reason is above. If it is the compiler:\n"
            + HOW_TO_GET_A_COMPILER,
        )
        self.app.display_waiting(f"Compiling {name} with {jobs} jobs")
        self._run(
            [cmake, "--build", str(folder), "--parallel", jobs],
            f"{name} does not compile; the first error above says why.",
        )
        self._run(
            [
                *(cmake, "--install", str(folder), "--prefix", str(stage)),
                *("--component", "plugin", "--strip"),
            ],
            f"{name} could not be put into {stage}.",
        )
        return stage / name

    def _run(self, command: list[str], failure: str) -> None:
        sys.stdout.flush()
        if subprocess.run(command, check=False).returncode != 0:
            self._abort(f"{failure}\n  The command was: {shlex.join(command)}")

    def _abort(self, message: str) -> NoReturn:
        self.app.display_error(f"\nerror: {message}\n")
        sys.exit(1)


class ThirdPartyError(Exception):
    """What is wrong with an entry of third_party.toml, and what to do."""


def third_party(path: Path, shipped: Collection[str]) -> list[dict[str, Any]]:
    """
    The entries of third_party.toml; none where there is no such file.

    ``shipped`` are the licence files that the wheel will have. Raises ``ThirdPartyError``.
    """
    if not path.is_file():
        return []
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ThirdPartyError(f"{THIRD_PARTY} is not TOML: {error}") from None
    entries = document.pop("component", [])
    if document or not isinstance(entries, list):
        what = f"begins {next(iter(document))!r}" if document else "has one table 'component'"
        raise ThirdPartyError(f"{THIRD_PARTY} {what}; it holds tables [[component]] alone.")
    for number, entry in enumerate(entries, 1):
        if wrong := _wrong_with(entry, shipped):
            raise ThirdPartyError(f"Component {number} in {THIRD_PARTY}: {wrong}.")
        if entry["name"] in [earlier["name"] for earlier in entries[: number - 1]]:
            raise ThirdPartyError(f"{THIRD_PARTY} names {entry['name']!r} twice; keep one entry.")
    return sorted(entries, key=lambda entry: str(entry["name"]))


def _wrong_with(entry: Any, shipped: Collection[str]) -> str:
    """What is wrong with one entry; empty when nothing is."""
    if not isinstance(entry, dict):
        return "it is no table"
    fields = REQUIRED_FIELDS | OPTIONAL_FIELDS
    if unknown := sorted(entry.keys() - fields.keys()):
        return f"there is no field {unknown[0]!r}; those there are: {', '.join(fields)}"
    for field, kind in fields.items():
        value = entry.get(field)
        if value is None and field in OPTIONAL_FIELDS:
            continue
        if value is None:
            return f"it lacks the field {field!r}"
        words = value if isinstance(value, list) else [value]
        if type(value) is not kind or not words or not all(isinstance(w, str) and w for w in words):
            wanted = "text in quotes" if kind is str else "a list of texts, one or more"
            return f"{field!r} must be {wanted}, not {value!r}"
    try:
        canonicalize_license_expression(entry["license"])
    except InvalidLicenseExpression as error:
        return f"{error}. Write it as SPDX does, or LicenseRef-Name for a licence that SPDX lacks"
    for name in entry["license-files"]:
        if name not in shipped:
            return (
                f"its licence file {name!r} does not go into the wheel. Put it beside "
                "hatch_build.py by a name that begins LICENSE, or let 'license-files' in "
                "pyproject.toml match it"
            )
    if named := [name for name in entry.get("libraries", []) if "/" in name]:
        return f"'libraries' are names of files without folders, not {named[0]!r}"
    if not entry.get("purl", "pkg:").startswith("pkg:"):
        return f"a purl begins 'pkg:', unlike {entry['purl']!r}"
    return ""


def bill_of_materials(
    name: str, version: str, licence: str, components: list[dict[str, Any]]
) -> str:
    """The SBOM, in CycloneDX's JSON: without time and random numbers, so equal builds agree."""
    purl = f"pkg:pypi/{name}@{version.replace('+', '%2B')}"
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": purl,
                "name": name,
                "version": version,
                **({"licenses": [{"expression": licence}]} if licence else {}),
                "purl": purl,
            }
        },
        "components": [_component(entry) for entry in components],
        "dependencies": [{"ref": purl, "dependsOn": [entry["name"] for entry in components]}],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _component(entry: dict[str, Any]) -> dict[str, Any]:
    properties = [
        {"name": f"wheel:{kind}", "value": value}
        for kind, field in (("license-file", "license-files"), ("library", "libraries"))
        for value in entry.get(field, [])
    ]
    return {
        "type": "library",
        "bom-ref": entry["name"],
        "name": entry["name"],
        "version": entry["version"],
        "licenses": [{"expression": canonicalize_license_expression(entry["license"])}],
        **({"purl": entry["purl"]} if "purl" in entry else {}),
        "properties": properties,
    }


def _sources(root: str) -> Path:
    """The folder of CMakeLists.txt: the project, or the checkout that the project is part of."""
    project = Path(root)
    return project if (project / "CMakeLists.txt").is_file() else project.parent


def _oldest_macos(root: str) -> str:
    """The oldest macOS to build for: what cibuildwheel's settings in pyproject.toml say."""
    with Path(root, "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)["tool"]["cibuildwheel"]["environment"]
    return str(settings["MACOSX_DEPLOYMENT_TARGET"])


def _find_cmake() -> str | None:
    cmake = shutil.which("cmake")
    if cmake is None:
        return None
    try:
        text = subprocess.run(
            [cmake, "--version"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None  # a launcher whose program is gone
    found = re.search(r"version (\d+)\.(\d+)", text)
    return cmake if found and (int(found[1]), int(found[2])) >= OLDEST_CMAKE else None


def _find_compiler() -> str | None:
    if wanted := os.environ.get("CXX"):
        return shutil.which(_words(wanted)[0])
    # GCC keeps wide vectors at addresses that Windows' stack does not align, and they fault.
    names = ("clang++",) if sys.platform == "win32" else ("c++", "g++", "clang++")
    return next((path for name in names if (path := shutil.which(name))), None)


def _words(text: str) -> list[str]:
    """Arguments as the shell reads them; on Windows a backslash is a part of a path."""
    if sys.platform != "win32":
        return shlex.split(text)
    return [word.strip("\"'") for word in shlex.split(text, posix=False)]


def _generator() -> list[str]:
    ninja = shutil.which("ninja")
    if ninja is None:
        return ["-G", "Unix Makefiles"]
    # Said every time: the Ninja of an isolated build is gone after it.
    return ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]


def _stale(folder: Path, sources: Path, generator: list[str], compiler: str) -> str:
    """Why CMake would refuse or misuse an earlier build folder; empty when it would not."""
    cache = folder / "CMakeCache.txt"
    if not cache.is_file():
        return "it was left unfinished" if folder.exists() else ""
    entries = dict(re.findall(r"^(\w+):\w+=(.*)$", cache.read_text("utf-8", "replace"), re.M))
    if Path(entries.get("CMAKE_HOME_DIRECTORY", "")).resolve() != sources.resolve():
        return "the checkout has moved"
    if entries.get("CMAKE_GENERATOR") != generator[1]:
        return f"it was made for {entries.get('CMAKE_GENERATOR')}"
    if entries.get("CMAKE_CXX_COMPILER") != compiler:
        return "the compiler is another one"
    return ""


def _cpu_count() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _replace(source: Path, target: Path) -> None:
    """Copies so that who has the old library open keeps it, and nobody sees half a file."""
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.copy2(source, partial)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
