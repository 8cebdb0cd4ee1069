"""The targets of releases, run on a built skeleton, and what the build needs of the network."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.generated.conftest import STUB, make
from tests.generated.release import publish, repair
from tests.generated.runtime import LICENCES, check_grafted, device_kinds, linked
from tests.support.offline import download, offline
from tests.support.rendering import Renderer
from tools import plugins, wheel_checks
from tools.jaxlibs_matrix import REQUIREMENT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def repository(render: Renderer, stub_repository: Path, stub_wheel: Path) -> Path:
    """The skeleton, whatever other tests made of it, with its wheel in dist/."""
    assert stub_wheel.is_file()  # kept before its repository becomes another one
    render.fresh(STUB, stub_repository)
    make(stub_repository, "build")
    return stub_repository


def wheel_of(repository: Path) -> Path:
    (found,) = (repository / "dist").glob("*.whl")
    return found


def fails(repository: Path, *arguments: str, **environment: str) -> str:
    """What a make that must fail prints."""
    done = subprocess.run(
        ["make", f"PYTHON={sys.executable}", *arguments],
        cwd=repository,
        env={**plugins.clean_environ(), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr


def test_a_release(repository: Path) -> None:
    """From the wheel of this machine to the index."""
    make(repository, "build", "sdist")
    assert "made for one machine's glibc" in fails(repository, "check-dist", "TAG=v0.1.0")
    wheel = repair(wheel_of(repository))
    make(repository, "check-release", "TAG=v0.1.0")
    make(repository, "check-dist", "TAG=v0.1.0")
    make(repository, "test-installed", "PYTEST=tests/test_wheel.py tests/test_discovery.py")
    assert "only what is tagged" in fails(repository, "publish")
    assert "the tag is v9.9.9" in fails(repository, "publish", "TAG=v9.9.9")
    sent = publish(repository)
    assert set(sent) == {"jax_acme-0.1.0.tar.gz", wheel.name}
    for name, data in sent.items():
        assert data == (repository / "dist" / name).read_bytes()


def test_publishing_needs_the_tokens_of_the_job(repository: Path) -> None:
    """Nothing is sent to the public index from a machine that cannot prove who it is."""
    said = fails(repository, "publish", "TAG=v0.1.0", GITLAB_CI="true", SIGSTORE_ID_TOKEN="")
    assert "SIGSTORE_ID_TOKEN" in said
    assert "Uploading" not in said


def test_what_the_index_has_is_enough(repository: Path, tmp_path: Path) -> None:
    """Wheel and sdist are built without any network, from what pip fetched of an index before."""
    tools = ["build", "hatchling>=1.28"]
    tools += [name for name in ("cmake", "ninja") if shutil.which(name) is None]
    pip = download(tmp_path / "wheels", *tools)
    requirements = repository / "requirements/release.txt"
    download(tmp_path / "wheels", "--require-hashes", "-r", requirements)
    for folder in (".venv", "build/release", "dist"):
        shutil.rmtree(repository / folder, ignore_errors=True)
    command = offline(["make", f"PYTHON={sys.executable}", "build", "sdist"])
    environment = {**plugins.clean_environ(), **pip}
    done = subprocess.run(
        command, cwd=repository, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.suffix for path in (repository / "dist").iterdir()) == [".gz", ".whl"]


def test_a_library_that_is_grafted(repository: Path, tmp_path: Path) -> None:
    """Where the runtime lay on the building machine, the wheel does not know."""
    package = repository / "src/acme_x1"
    with linked(repository, ".", tmp_path) as folder:
        make(repository, "build")
        wheel = repair(wheel_of(repository), folder)
        expected = wheel_checks.Expected(
            "acme_x1",
            "pjrt_plugin_acme_x1.so",
            frozenset(p.name for p in package.iterdir() if p.is_file() and p.suffix != ".so"),
            REQUIREMENT,
            "acme_x1",
            build_paths=(str(folder), str(repository)),
            licences=LICENCES,
            components=frozenset({"acmert"}),
            libraries=frozenset({"libacmert.so.2"}),
        )
        check_grafted(wheel, expected)
        shutil.rmtree(folder)
        assert device_kinds([wheel], tmp_path) == "{'of libacmert'}\n"
        # The repository's own tests of the wheel take what third_party.toml names.
        make(repository, "test-installed", "PYTEST=tests/test_wheel.py tests/test_library.py")
