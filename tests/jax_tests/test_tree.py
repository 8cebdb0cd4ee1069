"""Where JAX's tests are taken from, and what is said when they are not to be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from pjrt_scaffold.errors import MissingError, UsageError
from pjrt_scaffold.jax_tests import tree as trees
from tests.jax_tests.conftest import Tree
from tests.support.rendering import commit_all, git

OPS = "def test(): pass\n"


def test_a_checkout_of_the_release(tree: Tree) -> None:
    root = tree("0.11.0", ops_test=OPS, helper=OPS)
    with trees.tests(root, "0.11.0") as folder:
        assert trees.choose(folder, []) == ["ops_test.py"]
        assert sorted(path.name for path in folder.iterdir()) == [trees.MODULES, "tests"], "no jax"
    assert (root / "tests" / "ops_test.py").exists()


@pytest.mark.parametrize("bare", [False, True])
def test_another_checkout_whose_history_has_the_release(
    tree: Tree, bare: bool, tmp_path: Path
) -> None:
    root = tree("0.11.0", ops_test=OPS)
    commit_all(root)
    git(root, "tag", "jax-v0.11.0")
    (root / "jax" / "version.py").write_text('_version = "0.12.0"\n')
    (root / "tests" / "new_test.py").write_text(OPS)
    commit_all(root)
    if bare:
        git(tmp_path, "clone", "-q", "--bare", str(root), str(tmp_path / "bare"))
        root = tmp_path / "bare"
    with trees.tests(trees.find(root, "0.11.0"), "0.11.0") as folder:
        assert trees.choose(folder, []) == ["ops_test.py"]


def test_another_release_is_refused(tree: Tree) -> None:
    root = tree("0.10.2", ops_test=OPS)
    for made in (False, True):
        if made:
            commit_all(root)
        with (
            pytest.raises(UsageError, match=r"is JAX 0\.10\.2, and its history has no tests"),
            trees.tests(root, "0.11.0"),
        ):
            pass


def test_found_where_it_usually_is(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree(ops_test=OPS)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.delenv(trees.ENVIRONMENT, raising=False)
    with pytest.raises(MissingError, match=r"(?s)Looked for .*git clone .*jax-v0\.11\.0"):
        trees.find(None, "0.11.0")
    monkeypatch.setenv(trees.ENVIRONMENT, str(root))
    assert trees.find(None, "0.11.0") == root
    monkeypatch.delenv(trees.ENVIRONMENT)
    root.rename(tmp_path / "jax")
    assert trees.find(None, "0.11.0") == tmp_path / "jax"
    with pytest.raises(MissingError, match=r"Looked for a checkout at .*/here"):
        trees.find(here, "0.11.0")


@pytest.mark.parametrize("kept_as", ["files", "history"])
def test_files_in_folders_and_the_helpers_they_import(tree: Tree, kept_as: str) -> None:
    root = tree("0.11.0", lax_test=OPS)
    for place in ("tests/pallas", "jax/_src/pallas"):
        (root / place).mkdir(parents=True)
    (root / "tests/pallas/call_test.py").write_text(OPS)
    (root / "jax/_src/pallas/call_test_util.py").write_text("")
    if kept_as == "history":
        commit_all(root)
        git(root, "tag", "jax-v0.11.0")
        (root / "jax" / "version.py").write_text('_version = "0.12.0"\n')
        commit_all(root)
    with trees.tests(root, "0.11.0") as folder:
        assert trees.choose(folder, []) == ["lax_test.py", "pallas/call_test.py"]
        assert trees.choose(folder, ["pallas/*"]) == ["pallas/call_test.py"]
        assert (folder / trees.MODULES / "pallas/call_test_util.py").exists()


def test_files_by_name_and_pattern(tree: Tree) -> None:
    root = tree("1", lax_test=OPS, lax_numpy_test=OPS, nn_test=OPS)
    with trees.tests(root, "1") as folder:
        for wanted, found in {
            ("lax_test",): ["lax_test.py"],
            ("tests/lax_test.py", "nn*"): ["lax_test.py", "nn_test.py"],
            ("lax_*",): ["lax_numpy_test.py", "lax_test.py"],
        }.items():
            assert trees.choose(folder, wanted) == found
        with pytest.raises(UsageError, match=r"is named lux_test.*\n.*3, from lax_numpy_test.py"):
            trees.choose(folder, ["lux_test"])
