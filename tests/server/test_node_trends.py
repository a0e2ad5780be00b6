"""Trends of the nodes that a page shows: the columns, and what is refused."""

from __future__ import annotations

import pytest
from small_dump import Api


def test_trends_travel_as_columns(api: Api, graph: str) -> None:
    _, nodes = api.columns(graph)
    matmul = nodes["name"].index("dense/MatMul")
    meta, found = api.columns(f"{graph}/trends?nodes={matmul}&statistic=nan_share")
    assert meta == {"statistic": "nan_share"}
    assert found["node"].tolist() == [matmul] * 3
    assert found["step"].tolist() == [0, 1, 2]
    assert found["health"].tolist() == [1, 3, 3]
    assert (found["value"][1:] > 0).all()


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", "'nodes' is missing"),
        ("?nodes=0,x", "cannot be read"),
        ("?nodes=-1", "cannot be read"),
        ("?nodes=99999999", "no node 99999999"),
        ("?nodes=" + ",".join(map(str, range(257))), "257 nodes are too many"),
        ("?nodes=0&statistic=median", "median"),
    ],
)
def test_what_cannot_be_asked_for_is_told(api: Api, graph: str, query: str, told: str) -> None:
    assert told in api.json(f"{graph}/trends{query}", status=400)["error"]
