"""A statistic over the steps: timelines, trends of nodes, and its range over all steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from small_dump import Api

from tensortap.core.records import Graph, Node
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


def _loop(logdir: Path, losses: list[float], *, captured: str = "loss", taped: bool = False) -> None:
    """A custom training loop: nothing is logged, and the loss is a scalar of its graph."""
    shape = {"output_dtypes": ("float32",), "output_shapes": ((),)}
    mark = {"attributes": {"tensortap.kind": "loss"}}
    nodes = [
        Node("w", "VarHandleOp"),
        Node("read", "ReadVariableOp", ("w:0",), output_dtypes=("float32",), output_shapes=((4,),)),
        Node("loss", "Mean", ("read:0",), **shape),
        Node("accuracy", "Mean", ("read:0",), **shape),
        Node("total", "AddV2", ("loss:0", "accuracy:0"), **shape, **(mark if taped else {})),
    ]
    with DumpWriter(logdir, "loop") as writer:
        graph = writer.graph(Graph("train", nodes))
        for step, loss in enumerate(losses):
            for visit in range(2):
                writer.log(f"{captured}:0", np.float32(loss + visit), step=step, visit=visit, graph=graph)


def test_the_loss_of_a_training_loop_without_logs(tmp_path: Path, opened: Callable[[Path], Api]) -> None:
    _loop(tmp_path, [4, np.nan, 2])
    api = opened(tmp_path)
    run = f"/api/runs/{api.run_id('loop')}"
    graph = api.json(run)["graphs"][0]["id"]
    found = api.json(f"{run}/logs?graph={graph}")
    assert (found["tensor"], found["step"]) == ("loss:0", [0, 1, 2])
    assert found["values"] == {"loss:0": [4.5, "NaN", 2.5]}
    assert api.json(f"{run}/logs")["step"] == []
    assert api.json(f"{run}/logs?graph={graph}&phase=test")["step"] == []
    assert "nothing" in api.json(f"{run}/logs?graph=nothing", status=404)["error"]


@pytest.mark.parametrize(
    ("captured", "taped", "tensor"),
    [("accuracy", False, None), ("total", True, "total:0"), ("loss", True, None)],
)
def test_only_the_loss_itself_is_drawn(
    captured: str, taped: bool, tensor: str | None, tmp_path: Path, opened: Callable[[Path], Api]
) -> None:
    _loop(tmp_path, [4, 2], captured=captured, taped=taped)
    api = opened(tmp_path)
    run = f"/api/runs/{api.run_id('loop')}"
    graph = api.json(run)["graphs"][0]["id"]
    assert api.json(f"{run}/logs?graph={graph}")["tensor"] == tensor


def test_logs_of_the_program_come_before_the_captured_loss(
    tmp_path: Path, opened: Callable[[Path], Api]
) -> None:
    _loop(tmp_path, [4, 2])
    with DumpWriter(tmp_path, "loop") as writer:
        writer.event("logs", step=0, phase="train", epoch=0, values={"loss": 7})
    api = opened(tmp_path)
    run = f"/api/runs/{api.run_id('loop')}"
    graph = next(graph["id"] for graph in api.json(run)["graphs"] if graph["name"] == "train")
    found = api.json(f"{run}/logs?graph={graph}")
    assert (found["tensor"], found["values"]) == (None, {"loss": [7]})
