"""A statistic over the steps: timelines, trends of nodes, and its range over all steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from small_dump import Api

from tensortap.dump.write.writer import DumpWriter
from tensortap.server.routes.series import MAX_ROWS


def test_rows_beyond_what_a_page_takes_are_counted(tmp_path: Path, opened: Callable[[Path], Api]) -> None:
    with DumpWriter(tmp_path, "flat") as writer:
        for i in range(MAX_ROWS + 5):
            writer.log(f"op{i}x:0", np.float32(i), step=0)
    api = opened(tmp_path)
    meta, found = api.columns(f"/api/runs/{api.run_id('flat')}/graphs/-/timeline?opened=…")
    assert meta["left_out"] == 6  # the row that was opened is one, too
    assert len(found["path"]) == len(found["value"]) == MAX_ROWS


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
    ("query", "reported"),
    [
        ("", "'nodes' is missing"),
        ("?nodes=0,x", "cannot be read"),
        ("?nodes=-1", "cannot be read"),
        ("?nodes=99999999", "no node 99999999"),
        ("?nodes=" + ",".join(map(str, range(257))), "257 nodes are too many"),
        ("?nodes=0&statistic=median", "median"),
    ],
)
def test_impossible_trends_are_refused(api: Api, graph: str, query: str, reported: str) -> None:
    assert reported in api.json(f"{graph}/trends{query}", status=400)["error"]


def test_the_range_of_a_statistic(api: Api, graph: str) -> None:
    reported = api.json(f"{graph}/range?statistic=max")
    assert reported["least"] <= reported["low"] <= reported["high"] <= reported["largest"]
    assert reported["zeros"] in (True, False)
    assert "median" in api.json(f"{graph}/range?statistic=median", status=400)["error"]
    assert "worker" in api.json(f"{graph}/range?worker=nobody", status=404)["error"].lower()
