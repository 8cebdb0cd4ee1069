"""What vendors say of others' software in third_party.toml: what is refused, what the SBOM has."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.support.rendering import Renderer

GOOD = """\
[[component]]
name = "fastmath"
version = "1.2.3"
license = "BSD-3-Clause"
license-files = ["LICENSE.fastmath"]
libraries = ["libfastmath.so.1"]
purl = "pkg:github/acme/fastmath@1.2.3"
"""
OTHER = GOOD.replace("fastmath", "blas")
SHIPPED = ["LICENSE", "LICENSE.fastmath", "LICENSE.blas"]


@pytest.fixture
def hook(render: Renderer) -> ModuleType:
    """A rendered repository's build hook."""
    spec = importlib.util.spec_from_file_location("hatch_build", render() / "hatch_build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bill(hook: ModuleType, path: Path) -> str:
    components = hook.third_party(path, SHIPPED)
    return str(hook.bill_of_materials("mychip-pjrt", "0.1.0+local", "MIT", components))


def test_nothing_of_others_at_first(hook: ModuleType, render: Renderer, tmp_path: Path) -> None:
    path = render() / hook.THIRD_PARTY
    assert path.is_file()
    assert hook.third_party(path, SHIPPED) == []
    assert hook.third_party(tmp_path / "deleted.toml", SHIPPED) == []
    document = json.loads(bill(hook, path))
    assert document["components"] == []
    assert document["metadata"]["component"]["purl"] == "pkg:pypi/mychip-pjrt@0.1.0%2Blocal"


def test_the_example_in_the_file_is_good(
    hook: ModuleType, render: Renderer, tmp_path: Path
) -> None:
    text = (render() / hook.THIRD_PARTY).read_text(encoding="utf-8")
    example = [line[1:] for line in text.splitlines() if line.startswith("#   ")]
    path = tmp_path / "third_party.toml"
    path.write_text("\n".join(example), encoding="utf-8")
    (component,) = hook.third_party(path, SHIPPED)
    assert component["name"] == "fastmath"


def test_sbom(hook: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "third_party.toml"
    path.write_text(GOOD + OTHER, encoding="utf-8")
    text = bill(hook, path)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    path.write_text(OTHER + GOOD, encoding="utf-8")
    assert bill(hook, path) == text  # nor does it hold the time, or a number that is drawn
    blas, fastmath = json.loads(text)["components"]
    assert blas["name"] == "blas"
    assert fastmath == {
        "type": "library",
        "bom-ref": "fastmath",
        "name": "fastmath",
        "version": "1.2.3",
        "licenses": [{"expression": "BSD-3-Clause"}],
        "purl": "pkg:github/acme/fastmath@1.2.3",
        "properties": [
            {"name": "wheel:license-file", "value": "LICENSE.fastmath"},
            {"name": "wheel:library", "value": "libfastmath.so.1"},
        ],
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[[component]]", "[[component]", "is not TOML"),
        ("[[component]]", "[[components]]", "begins 'components'"),
        ("[[component]]", "[component]", "has one table 'component'"),
        ('version = "1.2.3"\n', "", "lacks the field 'version'"),
        ('license-files = ["LICENSE.fastmath"]\n', "", "lacks the field 'license-files'"),
        ('["LICENSE.fastmath"]', "[]", "'license-files' must be a list of texts, one or more"),
        ('["LICENSE.fastmath"]', '"LICENSE.fastmath"', "must be a list of texts"),
        ('"1.2.3"', "1.2", "'version' must be text in quotes, not 1.2"),
        ('"fastmath"', '""', "'name' must be text in quotes, not ''"),
        ('purl = "', 'url = "', "there is no field 'url'; those there are: name, version,"),
        ("pkg:", "https:", "a purl begins 'pkg:'"),
        ("BSD-3-Clause", "BSD", "Write it as SPDX does, or LicenseRef-Name"),
        ('["LICENSE.fast', '["LICENCE.fast', "'LICENCE.fastmath' does not go into the wheel"),
        ('"libfast', '"lib/libfast', "names of files without folders"),
    ],
)
def test_refused(hook: ModuleType, tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    path = tmp_path / "third_party.toml"
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(hook.ThirdPartyError) as caught:
        hook.third_party(path, SHIPPED)
    assert said in str(caught.value)
    assert "third_party.toml" in str(caught.value)


def test_twice(hook: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "third_party.toml"
    path.write_text(OTHER + GOOD + GOOD, encoding="utf-8")
    with pytest.raises(hook.ThirdPartyError, match="names 'fastmath' twice"):
        hook.third_party(path, SHIPPED)
