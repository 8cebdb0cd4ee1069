"""What a wheel of a plugin must be like: pure functions that say in sentences what is wrong."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any, Final

import lief
import readme_renderer.markdown
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

MEGABYTES: Final = 12


@dataclass(frozen=True)
class System:
    """What a library may ask of an operating system.

    Attributes:
        name: of the oldest one that has this.
        libraries: those that every machine has, of what a plugin can want.
        here: how its loader spells the folder of the library itself.
    """

    name: str
    libraries: re.Pattern[str]
    here: str


SYSTEMS: Final = {
    # Of auditwheel's policy.
    "linux": System(
        "manylinux_2_28",
        re.compile(
            r"lib(c|m|dl|rt|pthread|gcc_s)\.so\.\d+|libstdc\+\+\.so\.6|ld-linux-\S+\.so\.\d+"
        ),
        "$ORIGIN",
    ),
    "macos": System("macOS", re.compile(r"/usr/lib/.+|/System/Library/.+"), "@loader_path"),
    # The C library came with Windows 10; the compiler's own, with Python.
    "windows": System(
        "Windows 10 with Python",
        re.compile(
            r"(kernel32|ntdll|advapi32|ucrtbase|vcruntime140(_1)?|api-ms-win-[a-z0-9-]+)\.dll", re.I
        ),
        ".",
    ),
}


@dataclass(frozen=True)
class Library:
    """A shared library as the system's loader sees it.

    Attributes:
        exported: names that other libraries can take from it, as C spells them.
        needed: libraries that it loads.
        search_path: RPATH and RUNPATH.
        system: the one it is for, a key of SYSTEMS.
    """

    exported: tuple[str, ...]
    needed: tuple[str, ...] = ()
    search_path: tuple[str, ...] = ()
    system: str = "linux"


@dataclass(frozen=True)
class Wheel:
    """A wheel that has been read.

    Attributes:
        name: the file's.
        size: the file's, in bytes.
        contents: the bytes of each file in it, by name.
    """

    name: str
    size: int
    contents: dict[str, bytes]

    @property
    def info(self) -> str:
        """The folder of its metadata."""
        return "-".join(self.name.split("-")[:2]) + ".dist-info"

    @property
    def sbom(self) -> str:
        """The name of the SBOM that the build wrote."""
        distribution = self.name.split("-")[0].replace("_", "-")
        return f"{self.info}/sboms/{distribution}.cdx.json"

    @property
    def grafted(self) -> dict[str, str]:
        """Files that auditwheel or delvewheel copied into it: their names, and those before."""
        folder = f"{self.name.split('-')[0]}.libs/"
        names = [name.removeprefix(folder) for name in self.contents if name.startswith(folder)]
        return {name: re.sub(r"-[0-9a-f]{8,64}(?=\.(so|dll))", "", name) for name in names}

    def text(self, name: str) -> Message:
        """A file of headers from its metadata; an empty one where there is none."""
        data = self.contents.get(f"{self.info}/{name}", b"")
        return Parser().parsestr(data.decode())


@dataclass(frozen=True)
class Expected:
    """What is expected of one wheel.

    Attributes:
        package: the folder of its package, for example "jax_plugins/mychip".
        library: the name of the plugin library in it; "": there is none, the wheel is pure Python.
        modules: all other files of the package.
        requirement: the range of jax in its metadata, for example "jax>=0.10.2,<0.13"; "": none.
        entry_point: the module that the entry point names; "": there is none.
        build_paths: folders of the machine that built it.
        core: what it requires beside jax, for example "mychip-pjrt-core==0.1.0"; "": nothing.
        licences: the files with their texts.
        components: names of the software of others in it.
        libraries: files of theirs that are bundled, named as before the repair.
    """

    package: str
    library: str
    modules: frozenset[str]
    requirement: str
    entry_point: str = ""
    build_paths: tuple[str, ...] = ()
    core: str = ""
    licences: frozenset[str] = frozenset({"LICENSE"})
    components: frozenset[str] = frozenset()
    libraries: frozenset[str] = frozenset()


def read(path: Path) -> Wheel:
    """Read a wheel, all of it.

    Raises:
        zipfile.BadZipFile: it is none.
    """
    with zipfile.ZipFile(path) as archive:
        # A repaired wheel lists its folders too.
        names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
        contents = {name: archive.read(name) for name in names}
    return Wheel(path.name, path.stat().st_size, contents)


def read_library(data: bytes) -> Library:
    """What a library of Linux, macOS or Windows exports and needs.

    Raises:
        ValueError: it is none of those.
    """
    parsed = lief.parse(list(data))
    if isinstance(parsed, lief.ELF.Binary):
        paths = [
            path
            for entry in parsed.dynamic_entries
            if isinstance(entry, lief.ELF.DynamicEntryRpath | lief.ELF.DynamicEntryRunPath)
            for path in entry.paths
        ]
        exported = [str(symbol.name) for symbol in parsed.dynamic_symbols if symbol.exported]
        return Library(tuple(exported), tuple(map(str, parsed.libraries)), tuple(paths))
    if isinstance(parsed, lief.MachO.Binary):
        exported = [str(symbol.name).removeprefix("_") for symbol in parsed.exported_symbols]
        _own, *others = parsed.libraries  # the first is its own name
        needed = [str(library.name) for library in others]
        search_path = tuple(rpath.path for rpath in parsed.rpaths)
        return Library(tuple(exported), tuple(needed), search_path, "macos")
    if isinstance(parsed, lief.PE.Binary):
        table = parsed.get_export()
        exported = [str(entry.name) for entry in table.entries] if table else []
        needed = [str(entry.name) for entry in parsed.imports]
        return Library(tuple(exported), tuple(needed), system="windows")
    raise ValueError("this is no library of Linux, macOS or Windows")


def check(wheel: Wheel, expected: Expected) -> list[str]:
    """All that is wrong with a wheel, a sentence each; nothing when it is as it should be."""
    return [finding for rule in RULES for finding in rule(wheel, expected)]


def check_tag(wheel: Wheel, expected: Expected) -> Iterator[str]:
    """One wheel serves every Python, and only its platform; a pure one serves all."""
    pure = not expected.library
    if pure and not wheel.name.endswith("-py3-none-any.whl"):
        yield f"{wheel.name} is not of the tag py3-none-any"
    if not pure and not re.search(
        r"-py3-none-((manylinux|macosx|win)[a-z0-9_]+\.?)+\.whl$", wheel.name
    ):
        yield f"{wheel.name} is not of a tag py3-none-<platform> that can be uploaded"
    headers = wheel.text("WHEEL")
    tags = wheel.name.removesuffix(".whl").split("-")[-1].split(".")
    if sorted(headers.get_all("Tag", [])) != sorted(f"py3-none-{tag}" for tag in tags):
        yield f"the tags in WHEEL, {headers.get_all('Tag')}, are not those of {wheel.name}"
    said = "Root-Is-Purelib: " + ("true" if pure else "false")
    if headers.get_all("Root-Is-Purelib") != [said.split()[1]]:
        what = "pure Python" if pure else "of one platform"
        yield f"WHEEL does not say once that the wheel is {what} ({said})"


def check_contents(wheel: Wheel, expected: Expected) -> Iterator[str]:
    """The package, the library, the metadata, and nothing else."""
    names = filter(None, (*expected.modules, expected.library))
    wanted = {f"{expected.package}/{name}" for name in names}
    wanted |= {f"{wheel.info}/{name}" for name in ("METADATA", "RECORD", "WHEEL")}
    wanted |= {f"{wheel.info}/licenses/{name}" for name in expected.licences}
    if expected.library:
        wanted.add(wheel.sbom)
    if expected.entry_point:
        wanted.add(f"{wheel.info}/entry_points.txt")
    grafted = {
        before: f"{wheel.name.split('-')[0]}.libs/{n}" for n, before in wheel.grafted.items()
    }
    wanted |= {grafted.get(name, name) for name in expected.libraries}
    # auditwheel describes here what it grafted.
    there = wheel.contents.keys() - {f"{wheel.info}/sboms/auditwheel.cdx.json"}
    yield from (f"{name} is missing" for name in sorted(wanted - there))
    yield from (f"{name} does not belong here" for name in sorted(there - wanted))


def check_size(wheel: Wheel, expected: Expected) -> Iterator[str]:
    """People install what is small."""
    if wheel.size > MEGABYTES * 1_000_000:
        yield f"it has {wheel.size / 1e6:.1f} MB, more than {MEGABYTES}"


def check_library(wheel: Wheel, expected: Expected) -> Iterator[str]:
    """The library lives in a process with everybody else's, on machines that have not built it."""
    data = wheel.contents.get(f"{expected.package}/{expected.library}")
    if data is None:
        return  # the contents' fault
    yield from library_findings(read_library(data), wheel.grafted)
    for path in expected.build_paths:
        if path.encode() in data:
            yield f"the library holds the path {path} of the machine that built it"


def library_findings(library: Library, grafted: Collection[str] = ()) -> Iterator[str]:
    """What is wrong with a library, apart from its bytes; `grafted` ones come with it."""
    system = SYSTEMS[library.system]
    if library.exported != ("GetPjrtApi",):
        yield f"the library exports {', '.join(library.exported) or 'nothing'}, not just GetPjrtApi"
    for path in library.search_path:
        if path != system.here and not path.startswith(f"{system.here}/"):
            yield f"the library looks for others in {path}; only {system.here} goes with it"
    for name in library.needed:
        if not system.libraries.fullmatch(name) and name not in grafted:
            yield f"the library needs {name}, which {system.name} does not have"


def check_metadata(wheel: Wheel, expected: Expected) -> Iterator[str]:
    """What an index and pip read."""
    metadata = wheel.text("METADATA")
    required = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    wanted = [line for line in (expected.requirement, expected.core) if line]
    if {_split(line) for line in required} != {_split(line) for line in wanted}:
        yield f"it requires {required}, not {' and '.join(wanted) or 'nothing'}"
    if metadata.get_all("License-File") != sorted(expected.licences):
        files = metadata.get_all("License-File")
        yield f"its licence files are {files}, not {', '.join(sorted(expected.licences))}"
    if not metadata["License-Expression"]:
        yield "it has no License-Expression"
    if metadata["Description-Content-Type"] != "text/markdown":
        yield f"its readme is {metadata['Description-Content-Type']}, not text/markdown"
    elif not readme_renderer.markdown.render(str(metadata.get_payload())):
        yield "its readme cannot be rendered"
    found = wheel.contents.get(f"{wheel.info}/entry_points.txt", b"").decode()
    modules = re.findall(r"^\w+ = (\S+)$", found, re.M)
    if modules != ([expected.entry_point] if expected.entry_point else []):
        yield f"its entry points name {modules}, not {expected.entry_point or 'nothing'}"


def check_sboms(wheel: Wheel, expected: Expected) -> Iterator[str]:
    """What is in the wheel, said as CycloneDX has it (PEP 770): all of it, with licences."""
    for name in sorted(wheel.contents):
        if name.startswith(f"{wheel.info}/sboms/"):
            wrong = _wrong_with_sbom(wheel.contents[name])
            yield from ([f"{name} {wrong}"] if wrong else [])
            if name == wheel.sbom and not wrong:
                yield from _sbom_findings(wheel, json.loads(wheel.contents[name]), expected)


def _wrong_with_sbom(data: bytes) -> str:
    """Why this is no CycloneDX; empty when it is."""
    try:
        document = json.loads(data)
        schema = SchemaVersion.from_version(str(document["specVersion"]))
    except (ValueError, LookupError, TypeError) as error:
        return f"is no CycloneDX in JSON: {error!r}"
    wrong = JsonStrictValidator(schema).validate_str(data.decode())
    return f"is not as CycloneDX has it: {wrong.data.message}" if wrong else ""


def _sbom_findings(wheel: Wheel, document: Any, expected: Expected) -> Iterator[str]:
    """What the build's SBOM does not say, or says wrongly."""
    plugin, metadata = document["metadata"]["component"], wheel.text("METADATA")
    for header in ("Name", "Version"):
        if plugin[header.lower()] != metadata[header]:
            yield f"the SBOM is about {header} {plugin[header.lower()]}, not {metadata[header]}"
    licence = metadata["License-Expression"]
    if licence and plugin.get("licenses") != [{"expression": licence}]:
        yield f"the SBOM gives the wheel the licence {plugin.get('licenses')}"
    if once := {"serialNumber", "timestamp"} & (document.keys() | document["metadata"].keys()):
        yield f"the SBOM holds what the next build says otherwise: {', '.join(sorted(once))}"
    components = document["components"]
    if sorted(c["name"] for c in components) != sorted(expected.components):
        names = ", ".join(c["name"] for c in components)
        yield f"the SBOM lists [{names}], not [{', '.join(sorted(expected.components))}]"
    for component in components:
        name, said = component["name"], component.get("properties", [])
        texts = [entry["value"] for entry in said if entry["name"] == "wheel:license-file"]
        if not component.get("licenses") or not texts:
            yield f"the SBOM gives {name} no licence and text of it"
        lacking = [t for t in texts if f"{wheel.info}/licenses/{t}" not in wheel.contents]
        yield from (f"the licence of {name}, {text}, is not in the wheel" for text in lacking)
    named = {
        entry["value"]
        for component in components
        for entry in component.get("properties", [])
        if entry["name"] == "wheel:library"
    }
    for name, before in sorted(wheel.grafted.items()):
        if before not in named:
            yield f"the SBOM does not name the bundled library {name}"


RULES: Final[tuple[Callable[[Wheel, Expected], Iterator[str]], ...]] = (
    check_tag,
    check_contents,
    check_size,
    check_library,
    check_metadata,
    check_sboms,
)


def differences(one: Wheel, other: Wheel, but: Collection[str] = ()) -> list[str]:
    """Files of two wheels that are not the same, those in `but` left out."""
    names = sorted(one.contents.keys() | other.contents.keys())
    return [n for n in names if n not in but and one.contents.get(n) != other.contents.get(n)]


def _split(requirement: str) -> tuple[str, frozenset[str]]:
    """The name and the bounds of a requirement, these in whatever order."""
    found = re.match(r"[\w.-]*", requirement := requirement.replace(" ", ""))
    name = found[0] if found else ""
    return name, frozenset(requirement.removeprefix(name).split(","))
