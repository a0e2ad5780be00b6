"""The dump that the tests of index and API read, written with DumpWriter (no TensorFlow)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter


def small_graph(name="train") -> Graph:
    """x -> wrapper call -> arg -> dense/MatMul -> dense/Relu; a gradient; a loop with a body."""
    known = {"output_dtypes": ["float32"], "output_shapes": [[None, 4]]}
    return Graph(
        name,
        [
            Node("x", "Placeholder", function="outer", **known),
            Node("Call", "PartitionedCall", inputs=["x:0"], function="outer", **known),
            Node("arg", "_Arg", inputs=["x:0"], function="step", **known),
            Node(
                "dense/MatMul",
                "MatMul",
                ["arg:0", "^arg"],
                "step",
                device="/cpu:0",
                attributes={"transpose_a": "false"},
                layer="model/dense",
                stack=0,
                **known,
            ),
            Node("dense/Relu", "Relu", ["dense/MatMul:0"], "step", layer="model/dense", **known),
            Node(
                "gradient_tape/dense/MatMul/MatMul", "MatMul", ["dense/Relu:0"], "step", layer="model/dense_2"
            ),
            Node(
                "loop",
                "While",
                ["dense/Relu:0"],
                "step",
                output_dtypes=["int32", "float32"],
                output_shapes=[[], None],
            ),
            Node("loop/body_add", "AddV2", ["dense/Relu:0"], "body", **known),
        ],
        functions={
            "outer": Function(),
            "step": Function("outer", "Call", "call", ["dense/Relu:0"]),
            "body": Function("step", "loop", "body", ["loop/body_add:0"]),
        },
        stacks=[[("train.py", 2, "build"), ("other.py", 9, "call")]],
        sources={"train.py": "import tensorflow\n    y = x @ w\n"},
    )


def write_indexed_dump(path: Path) -> Path:
    """Run `exp/a`: a graph over 6 steps, two visits of the ReLU, NaN from step 30 on; tensors without one."""
    rng = np.random.default_rng(0)
    with DumpWriter(path, "exp/a", info={"command": "train.py"}) as writer:
        graph = writer.graph(small_graph())
        for step in range(0, 60, 10):
            product = rng.normal(size=(3, 4)).astype(np.float32)
            if step >= 30:
                product[0, 1] = np.nan
                product[2, 3] = np.inf
            at = {"step": step, "graph": graph, "time": 1000.0 + step}
            writer.log("dense/MatMul:0", product, device="/cpu:0", **at)
            for visit in range(2):
                writer.log("dense/Relu:0", np.maximum(product, 0) * (visit + 1), keep="summary", **at)
            writer.log(
                "gradient_tape/dense/MatMul/MatMul:0", product if step >= 20 else np.zeros((3, 4)), **at
            )
        writer.log("loose", np.arange(12, dtype=np.int16).reshape(3, 4), step=7)
        writer.log("text", [["a", "bcd"], ["", "ü"]], step=7)
    return path
