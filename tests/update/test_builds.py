"""Updated repositories build without an edit, and their tests pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generated.conftest import make
from tests.support.rendering import contents, git
from tests.update.conftest import Rendered
from tests.update.histories import commit, generate, own_backend, update, work_in
from tests.update.test_histories import VERSIONS
from tools import plugins
from tools.jaxlibs_matrix import TESTED

# The oldest and the newest jaxlib that generated wheels declare, each with a Python that it has.
JAXLIBS = {row.jaxlib: row.python for row in (TESTED[0], TESTED[-1])}

GAPS = "expected_unimplemented.txt"


@pytest.mark.slow
def test_own_backend(repository: Path, rendered: Rendered) -> None:
    """The owner's work and backend, across two releases of the template and to the newest API."""
    owned = own_backend(work_in(repository), rendered("v0.3.0", backend="own"))
    done = update(owned.path, api="latest", template="v0.3.0", data={"backend": "own"})
    assert done.merge.unmerged == ()
    make(owned.path, "test")


@pytest.mark.long
@pytest.mark.parametrize("backend", ["reference_cpu", "own"])
def test_every_history(backend: str, template: Path, rendered: Rendered, tmp_path: Path) -> None:
    """Repositories begun at any API version end up equal, so one of them is built for all.

    But for the list of functions that are left out, which is the owner's: each is tried in turn.
    """
    updated = {
        version: _updated(version, backend, template, rendered, tmp_path / version)
        for version in VERSIONS
    }
    gaps = {version: (path / GAPS).read_bytes() for version, path in updated.items()}
    built, *others = updated.values()
    for other in others:
        assert _without_history(other) == _without_history(built)
    for jaxlib, python in JAXLIBS.items():
        interpreter = plugins.find_python(python)
        if interpreter is None:
            pytest.skip(f"there is no Python {python} for jaxlib {jaxlib}")
        log = tmp_path / f"make test, jaxlib {jaxlib}.log"
        options = [f"PYTHON={interpreter}", f"JAX=jax=={jaxlib}"]
        plugins.run(["make", "test", *options], log, cwd=built)
    assert git(built, "status", "--porcelain") == ""
    for version, text in gaps.items():
        (built / GAPS).write_bytes(text)
        log = tmp_path / f"gaps of {version}.log"
        plugins.run(["ctest", "--test-dir", "build/wheel", "-R", "unimplemented"], log, cwd=built)
        assert "100% tests passed, 0 tests failed out of 1" in log.read_text(encoding="utf-8")


def _updated(version: str, backend: str, template: Path, rendered: Rendered, dest: Path) -> Path:
    """A repository begun at a version, worked in, and brought to the newest in two steps."""
    repository = generate(template, dest, pjrt_api_version=version)
    owned = work_in(repository)
    if backend == "own":
        owned = own_backend(owned, rendered("v0.3.0", backend="own"))
    for ref in ("v0.2.0", "v0.3.0"):
        done = update(owned.path, api="latest", template=ref, data={"backend": backend})
        assert done.merge.unmerged == ()
        commit(owned.path, "Update")
    assert owned.lost() == []
    return owned.path


def _without_history(repository: Path) -> dict[str, bytes]:
    files = contents(repository)
    del files[GAPS]
    return files
