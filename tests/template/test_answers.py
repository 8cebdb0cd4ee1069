"""Every question has help and a sane default, and refuses what is wrong by saying what is right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pjrt_scaffold import _new, _source
from pjrt_scaffold.errors import UsageError
from tests.support.rendering import QUESTIONS, Renderer, choices
from tests.template.matrix import VERSIONS

SHORT = "Use 1 to 64 characters on one line"
IDENTIFIER = "Use a lower-case identifier of at most 40"
PLATFORM = "Use at most 40 lower-case letters, digits and single underscores"
WHEEL = "Use at most 64 lower-case letters and digits with single hyphens"

GOOD: dict[str, list[Any]] = {
    "project_name": ["ab", "Acme X-1.0 (no)"[:10], "9 lives+more_things"],
    "plugin_name": ["a", "x1", "my_chip_2", "a" * 40],
    "platform_name": ["x", "my_chip", "cpux"],
    "distribution_name": ["a", "jax-acme-2", "a" * 64],
    "vendor": ["A", "Müller & Søn (R&D), Ltd. 株式会社", "O'Reilly"],
    "num_devices": [1, 64],
    "priority": [-1000, 0, 1000],
    "wheel_platforms": [["macos_arm64"], "[linux_x86_64, linux_aarch64]"],
    "pjrt_api_version": VERSIONS,
    "frameworks": [[], ["torch_xla"]],
}
BAD: dict[str, list[tuple[str, str]]] = {
    "project_name": [
        ("x", "Use 2 to 64"),
        ("", "Use 2 to 64"),
        ("a" * 65, "Use 2 to 64"),
        ("-ab", "Use 2 to 64"),
        ('a"b', "Use 2 to 64"),
        ("a\nb", "Use 2 to 64"),
    ],
    "plugin_name": [
        ("", IDENTIFIER),
        ("My", IDENTIFIER),
        ("my-chip", IDENTIFIER),
        ("1x", IDENTIFIER),
        ("a__b", IDENTIFIER),
        ("a_", IDENTIFIER),
        ("a" * 41, IDENTIFIER),
        ("x\n", IDENTIFIER),
        ("../x", IDENTIFIER),
        ("lambda", "Python keyword"),
        ("template", "C++ compilers reserve"),
        ("jaxlib", "another Python package"),
    ],
    "platform_name": [
        *(
            (name, f"'{name}' belongs to JAX or to another plugin")
            for name in ["cpu", "gpu", "tpu", "cuda", "rocm", "metal", "mps", "oneapi", "neuron"]
        ),
        ("Acme", PLATFORM),
        ("a,b", PLATFORM),
        ("", PLATFORM),
        ("x\n", PLATFORM),
    ],
    "distribution_name": [
        ("A", WHEEL),
        ("a_b", WHEEL),
        ("a--b", WHEEL),
        ("-a", WHEEL),
        ("", WHEEL),
        ("a\n", WHEEL),
        ("jax", "'jax' is taken"),
    ],
    "vendor": [
        ("", SHORT),
        (" a", SHORT),
        ("a\n", SHORT),
        ('a"b', SHORT),
        ("a\\b", SHORT),
        ("{{a}}", SHORT),
        ("a" * 65, SHORT),
    ],
    "license": [("GPL", "Apache-2.0, MIT, BSD-3-Clause, proprietary")],
    "flavour": [("rust", "c_api")],
    "backend": [("gpu", "reference_cpu, stub, own"), ("", "reference_cpu, stub, own")],
    "discovery": [("all", "both, namespace, entry_point")],
    "layout": [("both", "single, split"), ("", "single, split")],
    "ci": [("jenkins", "github, gitlab, none")],
    "pjrt_api_version": [("0.1", VERSIONS[0]), ("1.0", VERSIONS[-1]), ("newest", VERSIONS[0])],
    "frameworks": [("[tensorflow]", "torch_xla"), ("[jax]", "torch_xla")],
    "num_devices": [("0", "from 1 to 64"), ("65", "from 1 to 64"), ("four", "whole number")],
    "priority": [("-1001", "from -1000 to 1000"), ("1e9", "whole number")],
    "wheel_platforms": [
        ("[]", "Choose at least one of linux_x86_64"),
        ("[windows]", "linux_x86_64, linux_aarch64, macos_arm64"),
    ],
}


def test_every_question_is_tried() -> None:
    """A new question brings its good and bad values here, choices count as good ones."""
    assert set(BAD) == set(QUESTIONS)
    assert {*GOOD, *(name for name in QUESTIONS if choices(name))} == set(QUESTIONS)


@pytest.mark.parametrize("question", QUESTIONS)
def test_help_and_default(question: str) -> None:
    details = QUESTIONS[question]
    assert re.fullmatch(r"[A-Z].{10,}[^.]", details["help"]), "one phrase without a full stop"
    assert "default" in details
    assert details["type"] in {"str", "int"}


def _new_with(template: Path, dest: Path, question: str, value: Any) -> _new.Rendering:
    source = _source.resolve(str(template), None, allow_dirty=False)
    text = str(value) if not isinstance(value, list) else f"[{', '.join(value)}]"
    return _new.render(dest, source, {question: text}, defaults=True)


@pytest.mark.parametrize(
    ("question", "value"),
    [(q, v) for q, values in GOOD.items() if q != "pjrt_api_version" for v in values],
)
def test_good_values_are_taken(question: str, value: Any, render: Renderer, tmp_path: Path) -> None:
    made = _new_with(render.template, tmp_path / "out", question, value)
    taken = made.answers[question]
    assert taken == (
        [v.strip() for v in value.strip("[]").split(",")]
        if question == "wheel_platforms" and isinstance(value, str)
        else value
    )


@pytest.mark.parametrize(
    ("question", "value", "message"),
    [(q, v, m) for q, values in BAD.items() for v, m in values],
)
def test_bad_values_are_refused(
    question: str, value: str, message: str, render: Renderer, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as raised:
        _new_with(render.template, tmp_path / "out", question, value)
    assert raised.value.what == f"{question}={value} is not valid."
    assert message in raised.value.why
    assert list(tmp_path.iterdir()) == [], "something was left behind"
