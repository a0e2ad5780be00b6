"""The range of a statistic over all steps: what travels, and what is refused."""

from __future__ import annotations

from small_dump import Api


def test_a_range_is_told_and_nothing_at_all_is_nan(api: Api, graph: str) -> None:
    told = api.json(f"{graph}/range?statistic=max")
    assert told["least"] <= told["low"] <= told["high"] <= told["largest"]
    assert told["zeros"] in (True, False)
    assert "median" in api.json(f"{graph}/range?statistic=median", status=400)["error"]
    assert "worker" in api.json(f"{graph}/range?worker=nobody", status=404)["error"].lower()
