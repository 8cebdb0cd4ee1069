"""The registry and the generated headers against the official headers in public wheels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pjrt_scaffold.registry import Registry, load, load_ffi
from pjrt_scaffold.registry._snapshot import FFI, PJRT, extension_name, foreign_includes
from pjrt_scaffold.registry.importer import import_headers
from pjrt_scaffold.registry.sources import opened
from tests.registry.conftest import OFFERED, Render, compile_and_run
from tests.registry.layouts import facts, program
from tests.registry.wheels import NIGHTLY, SMALL, STABLE, UnavailableError, Wheel, headers_of

Headers = Callable[[Wheel], Path]

WHEELS = (
    SMALL,
    *(pytest.param(wheel, marks=pytest.mark.long) for wheel in STABLE),
    *(pytest.param(wheel, marks=[pytest.mark.long, pytest.mark.nightly]) for wheel in NIGHTLY),
)
WITH_NEWEST_FFI = [
    one for one in WHEELS if getattr(one, "values", [one])[0].ffi == load_ffi().minors[-1]
]
WITH_PJRT = [one for one in WHEELS if getattr(one, "values", [one])[0].pjrt is not None]


@pytest.fixture(scope="session")
def headers(request: pytest.FixtureRequest) -> Headers:
    """The headers of a public wheel, from pytest's cache or downloaded with pip."""
    assert request.config.cache is not None
    cache = Path(request.config.cache.mkdir("header-wheels"))

    def get(wheel: Wheel) -> Path:
        try:
            return headers_of(wheel, cache)
        except UnavailableError as error:
            if wheel in NIGHTLY:
                pytest.skip(f"nightly wheels are withdrawn after some months: {error}")
            pytest.fail(f"this test needs a package index or its cache: {error}")

    return get


@pytest.mark.parametrize("wheel", WHEELS, ids=str)
def test_import_gives_the_facts_of_the_registry(
    wheel: Wheel, headers: Headers, registry: Registry, tmp_path: Path
) -> None:
    (tmp_path / "annotations.json").write_text('{"format": 1, "functions": {}}')
    done = import_headers(headers(wheel), folder=tmp_path)
    minors = {one.family: one.minor for one in done}
    compared = 0
    for family, minor, read, ours in (
        ("PJRT C API", wheel.pjrt, load, registry),
        ("XLA FFI C API", wheel.ffi, load_ffi, load_ffi()),
    ):
        if minor is not None:
            assert minors[family] == minor
            official = read(tmp_path).at(minor)
            shipped = {struct.header for struct in official.structs.values()}
            wanted = facts(ours.at(minor), shipped)
            for name in wheel.late:
                del wanted[name]
            assert facts(official, shipped) == wanted
            compared += len(wanted)
    assert compared > 100


@pytest.mark.slow
@pytest.mark.parametrize("wheel", WITH_PJRT, ids=str)
def test_generated_headers_have_the_layout_of_the_official_ones(
    wheel: Wheel, headers: Headers, registry: Registry, csrc: Render, tmp_path: Path
) -> None:
    """A compiler sees the same sizes, offsets, values and slots in both.

    Extension headers that need C++ of XLA are left out; those the test above compares.
    """
    assert wheel.pjrt is not None
    api, rendered = registry.at(wheel.pjrt), csrc(wheel.pjrt)
    with c_headers(headers(wheel)) as (root, names):
        compared = frozenset(names)
        output = {}
        for side, include, files in (
            ("ours", rendered, ["generated/pjrt_extensions.h"]),
            ("theirs", root, list(names.values())),
        ):
            source = tmp_path / f"{side}.cc"
            text = program(api, files, compared).splitlines(keepends=True)
            source.write_text("".join(line for line in text if not late(line, wheel)))
            output[side] = compile_and_run(source, include, "-w", "-O0", env=dict(os.environ))
    assert output["ours"].splitlines() == output["theirs"].splitlines()
    assert output["ours"].count("\n") > 900
    assert wheel is SMALL or len(names) > 2


@pytest.mark.slow
@pytest.mark.parametrize("wheel", WITH_NEWEST_FFI, ids=str)
def test_generated_ffi_header_has_the_layout_of_the_official_one(
    wheel: Wheel, headers: Headers, csrc: Render, tmp_path: Path
) -> None:
    assert wheel.ffi is not None
    api = load_ffi().at(wheel.ffi)
    output = {}
    with opened(headers(wheel)) as sources:
        (root,) = (source.root for source in sources if source.family is FFI)
        for side, include, file in (
            ("ours", csrc(OFFERED[-1]), "generated/xla_ffi_c_api.h"),
            ("theirs", root, FFI.main),
        ):
            source = tmp_path / f"{side}.cc"
            source.write_text(program(api, [file], frozenset({""}), "XLA_FFI_Api"))
            output[side] = compile_and_run(source, include, "-w", "-O0", env=dict(os.environ))
    assert output["ours"].splitlines() == output["theirs"].splitlines()
    assert output["ours"].count("\n") > 250


def late(line: str, wheel: Wheel) -> bool:
    return any(f'"{name}"' in line for name in wheel.late)


@contextmanager
def c_headers(wheel: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """The include root, and of its headers those that C++ reads alone: name to include."""
    with opened(wheel) as sources:
        (root,) = (source.root for source in sources if source.family is PJRT)
        paths = [path for glob in PJRT.extensions for path in root.glob(glob)]
        names = {"": PJRT.main} | {
            extension_name(path): path.relative_to(root).as_posix()
            for path in sorted(paths)
            if not foreign_includes(path, root)
        }
        yield root, names
