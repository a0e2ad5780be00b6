"""A small dump with everything the API tells about, and a client that checks what holds for every answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from polling import until
from werkzeug.test import Client, TestResponse

from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter

ODD_NODES = (
    "a//b",
    "/leading",
    "trailing/",
    "50%/x%2Fy",
    "up/../down",
    "dots/./here",
    "π/日本",
    "q?x=1&y#z",
    "line\nbreak",
)
WEIGHTS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def small_graph() -> Graph:
    """x -> dense/MatMul -> dense/Relu -> call, and a node for each odd name."""
    nodes = [
        Node("x", "Placeholder", output_dtypes=["float32"], output_shapes=[[None, 3]]),
        Node("w", "ReadVariableOp", output_dtypes=["float32"], output_shapes=[[3, 4]]),
        Node(
            "dense/MatMul",
            "MatMul",
            inputs=["x:0", "w:0"],
            attributes={"transpose_a": "false"},
            layer="model/dense",
            stack=0,
            output_dtypes=["float32"],
            output_shapes=[[None, 4]],
        ),
        Node(
            "dense/Relu",
            "Relu",
            ["dense/MatMul:0", "^x"],
            output_dtypes=["float32"],
            output_shapes=[[None, 4]],
        ),
        Node("call", "PartitionedCall", ["dense/Relu:0"], output_dtypes=["float32"], output_shapes=[None]),
        Node(
            "call/inner",
            "Exp",
            ["dense/Relu:0"],
            function="inner",
            output_dtypes=["float32"],
            output_shapes=[None],
        ),
        *(Node(name, "Identity", output_dtypes=["float32"], output_shapes=[[2]]) for name in ODD_NODES),
    ]
    return Graph(
        "train_step",
        nodes,
        functions={
            "train_step": Function(),
            "inner": Function("train_step", "call", "call", ["call/inner:0"]),
        },
        stacks=[[("train.py", 2, "step")]],
        sources={"train.py": "import x\ny = x @ w\n"},
    )


def write_dump(logdir: Path) -> None:
    """Runs `exp/first` (a graph, three steps, a NaN from step 1 on) and `numpy` (no graph)."""
    with DumpWriter(logdir, run="exp/first", info={"command": "train.py"}) as writer:
        graph = writer.graph(small_graph())
        writer.event("batch", step=1, ids=["7", "8"], files=["a.png", "b.png"], count=2)
        writer.event("batch", step=2, ids=["9"], files=["a.png"], count=1)
        writer.event("trigger", step=1, trigger="NonFinite()", reason="dense/MatMul:0 has 1 NaN", stops=False)
        for step in range(3):
            product = WEIGHTS * (step + 1)
            if step:
                product[0, step] = np.nan
            writer.log(
                "dense/MatMul:0", product, step=step, graph=graph, device="/device:CPU:0", keep="value"
            )
            writer.log("dense/Relu:0", np.maximum(product, 0), step=step, graph=graph, keep="summary")
            for name in ODD_NODES:
                writer.log(f"{name}:0", np.ones(2, np.float32), step=step, graph=graph, keep="value")
    with DumpWriter(logdir, run="numpy") as writer:
        writer.log("big:0", np.zeros((2**20, 5), np.float32), step=0, keep="value")
        writer.log("noise:0", np.random.default_rng(0).normal(size=(64, 8)), step=0, keep="value")


@dataclass
class Api:
    """Asks an application, and checks on the way what holds for every answer."""

    client: Client

    def get(self, path: str, status: int = 200, **options: Any) -> TestResponse:
        answer = self.client.get(path, **options)
        assert answer.status_code == status, answer.get_data(as_text=True)[:500]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        if status == 200:
            assert answer.headers["ETag"]
        if status >= 400:
            assert set(answer.get_json()) == {"error", "hint"}
        return answer

    def json(self, path: str, status: int = 200, **options: Any) -> Any:
        answer = self.get(path, status, **options)
        assert answer.content_type == "application/json"
        return answer.get_json()

    def columns(self, path: str) -> tuple[dict[str, Any], dict[str, Any]]:
        answer = self.get(path)
        from tensortap.server.responses.columns_format import CONTENT_TYPE, read_columns

        assert answer.content_type == CONTENT_TYPE
        return read_columns(answer.get_data())

    def finished(self, path: str) -> dict[str, Any]:
        """The answer of an analysis or replay once it is no longer working."""
        answers: list[dict[str, Any]] = []

        def done() -> bool:
            answers.append(self.json(path))
            return not answers[-1]["working"]

        until(done, f"the result of {path}", 60)
        return answers[-1]

    def run_id(self, name: str) -> str:
        return next(run["id"] for run in self.json("/api/runs")["runs"] if run["name"] == name)
