"""How far a computed step is from the recorded one, as the API tells it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tensortap.replay.protocol import StepperAnswer
from tensortap.server.jobs.replay_jobs import ComputedStep
from tensortap.server.routes.replay import _result


@pytest.mark.parametrize(
    ("differing", "ulp", "farthest"),
    [
        (["w", "v"], {"w": 3, "v": 1}, 3),
        (["w", "v"], {"w": 3}, None),  # of v only a hash is known
        (["w"], {"w": 0}, 0),
        ([], {}, None),
    ],
)
def test_the_farthest_result_is_told_where_all_are_known(
    differing: list[str], ulp: dict[str, int], farthest: int | None
) -> None:
    run: Any = SimpleNamespace(id="computed-1", graphs=[])
    answer = StepperAnswer(5, not differing, 1, 2, differing, "", "", [], {}, untapped=True, ulp=ulp)
    result = _result(ComputedStep(answer, run))
    assert (result["untapped"], result["ulp"]) == (True, farthest)
