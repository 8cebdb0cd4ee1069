"""The renderings over which the tests of the template run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rendering import Answers, Renderer
from tests.template.matrix import MATRIX, params


@pytest.fixture(params=params(MATRIX), scope="module")
def answers(request: pytest.FixtureRequest) -> Answers:
    """Each set of answers of the matrix."""
    chosen: Answers = request.param
    return chosen


@pytest.fixture(scope="module")
def tree(answers: Answers, render: Renderer) -> Path:
    """The repository rendered with `answers`."""
    return render(answers)
