"""Updates of repositories in which their owners have worked: nothing of theirs is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from pjrt_scaffold import _answers, _generated
from tests.support.rendering import contents, git
from tests.update.conftest import Rendered
from tests.update.histories import (
    CHANGED,
    Owned,
    commit,
    generate,
    own_backend,
    update,
    work_in,
)

NEWEST = "latest"
VERSIONS = ["0.54", "0.72", "0.81", "0.90", "0.106"]
# Two workers share the versions; one worker renders what belongs to a version once.
by_version = pytest.mark.parametrize(
    "version", [pytest.param(v, marks=pytest.mark.xdist_group(v)) for v in VERSIONS]
)


def assert_whole(owned: Owned, like: Path, without: str = "/") -> None:
    """Nothing of the owner's is lost, and all else is as in a rendering that nobody worked in.

    Args:
        owned: the repository.
        like: the rendering.
        without: the folder of it that is not expected.
    """
    assert owned.lost() == []
    assert git(owned.path, "ls-files", "--unmerged") == ""
    have = contents(owned.path)
    want = {name: data for name, data in contents(like).items() if not name.startswith(without)}
    own = {*owned.theirs, *owned.lines, _answers.FILE, "expected_unimplemented.txt"}
    assert {name: have.get(name) for name in {*have, *want} - own} == {
        name: want.get(name) for name in {*have, *want} - own
    }


@by_version
def test_owner_keeps_everything(
    version: str, template: Path, rendered: Rendered, tmp_path: Path
) -> None:
    repository = generate(template, tmp_path / "repository", pjrt_api_version=version)
    owned = work_in(repository)
    done = update(owned.path, api=NEWEST, template="v0.3.0")
    assert (done.old.api, done.old.template, done.new.template) == (version, "v0.1.0", "v0.3.0")
    assert done.merge.unmerged == ()
    assert done.healed == ("csrc/generated/table.h",)
    assert_whole(owned, rendered("v0.3.0"))
    # Both sides of the files in which both worked.
    for name in owned.lines:
        text = (owned.path / name).read_text(encoding="utf-8")
        assert "First line of v0.3.0" in text
        assert "Last line of v0.3.0" in text
    assert _generated.check(owned.path, "csrc/generated") == []


@pytest.mark.xdist_group("0.106")
def test_step_by_step_is_the_same(repository: Path, rendered: Rendered) -> None:
    """Through every release of the template, committed in between, ends where one step does."""
    owned = work_in(repository)
    for ref, api in (("v0.2.0", "0.98"), ("v0.3.0", NEWEST)):
        done = update(owned.path, api=api, template=ref)
        assert done.merge.unmerged == ()
        commit(owned.path, "Update")
    assert_whole(owned, rendered("v0.3.0"))


@pytest.mark.xdist_group("0.90")
def test_own_backend_replaces_the_reference(repository: Path, rendered: Rendered) -> None:
    owned = own_backend(work_in(repository), rendered("v0.3.0", backend="own"))
    done = update(owned.path, api=NEWEST, template="v0.3.0", data={"backend": "own"})
    assert done.merge.unmerged == ()
    assert not (owned.path / "csrc/reference").exists()
    # The skeleton is for those who have no backend yet.
    assert not (owned.path / "csrc/vendor/driver").exists()
    assert_whole(owned, rendered("v0.3.0", backend="own"), without="csrc/vendor/driver/")


@pytest.mark.xdist_group("0.90")
def test_untouched_repository_becomes_the_new_rendering(
    repository: Path, rendered: Rendered
) -> None:
    """Whoever changed nothing gets what `new` renders, another backend's skeleton included."""
    update(repository, api=NEWEST, template="v0.3.0", data={"backend": "own"})
    have, like = contents(repository), contents(rendered("v0.3.0", backend="own"))
    # The list of gaps says what somebody has looked at: no update says it for them.
    assert have.pop("expected_unimplemented.txt").startswith(b"# reviewed-through: 0.90\n")
    like.pop("expected_unimplemented.txt")
    assert have == like


@pytest.mark.xdist_group("0.90")
def test_untouched_files_of_owners_follow(repository: Path) -> None:
    update(repository, template="v0.3.0")
    for name in CHANGED:
        path = repository / name.removeprefix("template/").removesuffix(".jinja")
        assert "Last line of v0.3.0" in path.read_text(encoding="utf-8"), name
