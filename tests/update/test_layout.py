"""From one package to two and back: what moves takes the owner's changes along."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pjrt_scaffold import _answers
from tests.support.rendering import contents, git
from tests.update.conftest import Rendered, copy
from tests.update.histories import commit, edit, update, work_in

SPLIT, SINGLE = {"layout": "split"}, {"layout": "single"}
LIBRARIES = "src/jax_plugins/mychip/vendor_libraries.py"


def test_untouched_there_and_back(rendered: Rendered, tmp_path: Path) -> None:
    repository = copy(rendered("v0.3.0"), tmp_path / "repository")
    for layout in (SPLIT, SINGLE):
        assert update(repository, template="v0.3.0", data=layout).merge.unmerged == ()
        have, like = contents(repository), contents(rendered("v0.3.0", **layout))
        assert have == like
        commit(repository, "Another layout")


def test_nothing_of_the_owners_is_lost(repository: Path, rendered: Rendered) -> None:
    """With a release of the template and an API version on the way."""
    owned = work_in(repository)
    edit(repository / "hatch_build.py", "{}\n# Ours: signs the library.\n".format)
    edit(repository / LIBRARIES, "{}\n# Ours.\n".format)
    commit(repository, "More work")
    done = update(repository, api="latest", template="v0.3.0", data=SPLIT)
    assert done.merge.unmerged == ()
    assert owned.lost() == []
    assert git(repository, "ls-files", "--unmerged") == ""
    # What moved.
    hook = (repository / "core/hatch_build.py").read_text(encoding="utf-8")
    assert hook.endswith("# Ours: signs the library.\n")
    assert not (repository / "hatch_build.py").exists()
    assert (repository / LIBRARIES).read_text(encoding="utf-8").endswith("# Ours.\n")
    # What both changed.
    text = (repository / "pyproject.toml").read_text(encoding="utf-8")
    pinned = tomllib.loads(text)["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    assert pinned["core"] == "mychip-pjrt-core"
    assert "numpy>=1.26" in pinned["dependencies"]
    # All else is as rendered.
    have, like = contents(repository), contents(rendered("v0.3.0", **SPLIT))
    own = {*owned.theirs, *owned.lines, _answers.FILE, "expected_unimplemented.txt"}
    own |= {"core/hatch_build.py", LIBRARIES}
    assert {name for name in have if have[name] != like.get(name)} <= own
    assert like.keys() - have.keys() <= own


def test_settings_of_the_owners_that_move_are_shown(repository: Path) -> None:
    """They stand in a part of pyproject.toml that is now in core/, so the owner is asked."""
    setting = '\n[tool.cibuildwheel.linux]\nrepair-wheel-command = "ours"\n'
    edit(repository / "pyproject.toml", lambda text: text + setting)
    commit(repository, "Our repair")
    done = update(repository, template="v0.1.0", data=SPLIT)
    assert [one.path for one in done.merge.unmerged] == ["pyproject.toml"]
    assert setting in (repository / "pyproject.toml").read_text(encoding="utf-8")
