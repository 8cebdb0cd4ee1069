"""From one host's continuous integration to another's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rendering import contents
from tests.update.conftest import Rendered, copy
from tests.update.histories import commit, edit, update


def test_from_host_to_host(rendered: Rendered, tmp_path: Path) -> None:
    """What was not touched is as if the repository had been rendered for the other host."""
    repository = copy(rendered("v0.3.0"), tmp_path / "repository")
    for ci in ("gitlab", "none", "github"):
        assert update(repository, template="v0.3.0", data={"ci": ci}).merge.unmerged == ()
        assert contents(repository) == contents(rendered("v0.3.0", ci=ci)), ci
        commit(repository, f"Continuous integration: {ci}")


@pytest.mark.parametrize("name", [".gitlab-ci.yml", "tools/propose_update.sh"])
def test_changes_of_the_owner_stay(name: str, rendered: Rendered, tmp_path: Path) -> None:
    """With a release of the template and an API version on the way."""
    answers = {"ci": "gitlab", "pjrt_api_version": "0.90"}
    repository = copy(rendered("v0.1.0", **answers), tmp_path / "repository")
    edit(repository / name, "{}\n# Ours.\n".format)
    commit(repository, "Ours")
    assert update(repository, api="latest", template="v0.3.0").merge.unmerged == ()
    assert (repository / name).read_text(encoding="utf-8").endswith("# Ours.\n")
