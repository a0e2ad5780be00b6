"""Two runs written by hand, compared: what of their programs and numbers is to be distinguished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.comparison_records import Comparison
from tensortap.analysis.compare.side import Side
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex

Program = Sequence[Node]
Values = Mapping[str, Any]


def node(name: str, op: str, *inputs: str, shape: Sequence[int | None] = (None,), **more: Any) -> Node:
    """A node whose only output is of float32, or of `dtype`."""
    dtype = more.pop("dtype", "float32")
    taken = [text if text.startswith("^") else f"{text}:0" for text in inputs]
    return Node(name, op, taken, output_dtypes=[dtype], output_shapes=[list(shape)], **more)


def compared(
    folder: Path, a: tuple[Program, Values], b: tuple[Program, Values], **options: Any
) -> Comparison:
    """The comparison of two programs with the values of their nodes; node number i is made in line 10 + i."""
    for name, (nodes, values) in (("a", a), ("b", b)):
        with DumpWriter(folder / name, run=name) as writer:
            stacks = [[("model.py", 10 + line, "call")] for line in range(len(nodes))]
            lines = [replace(each, stack=number) for number, each in enumerate(nodes)]
            graph = writer.graph(Graph("step", lines, functions={"": Function()}, stacks=stacks))
            for tensor, value in values.items():
                writer.log(tensor, np.asarray(value), step=0, graph=graph, keep="value")
    log = LogIndex(folder)
    log.refresh()
    runs = {run.name.rpartition("/")[2]: run for run in log.runs}
    return compare(Side(runs["a"]), Side(runs["b"]), **options)
