"""Runs written by hand: a graph of a few nodes, and what they held at which step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.analysis.rules.finding import Finding
from tensortap.analysis.rules.runner import check_rules
from tensortap.analysis.rules.settings import Settings
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

Fed = tuple[str, Any, int]  # node, value, step


def node(name: str, op_type: str, *inputs: str, dtype: str = "float32", kind: str = "", of: str = "") -> Node:
    """A node with one output; `kind` and `of` (path of its variable) mark it as a tap does."""
    marks = {"tensortap.kind": kind, "tensortap.variable": of}
    return Node(
        name,
        op_type,
        [f"{source}:0" for source in inputs],
        attributes={key: text for key, text in marks.items() if text},
        output_dtypes=[dtype],
        output_shapes=[[]] if name == "loss" else [[None]],
    )


X = node("x", "Placeholder", kind="input")
WEIGHT = node("w", "ReadVariableOp", kind="weight", of="dense/kernel")
GRADIENT = node("gradient_tape/g", "MatMul", "x", kind="gradient", of="dense/kernel")
TRAINING = (X, WEIGHT, node("product", "MatMul", "x", "w"), node("loss", "Sum", "product"), GRADIENT)


def synthetic_run(
    folder: Path, nodes: Sequence[Node], fed: Iterable[Fed], keep: str = "summary", name: str = "made"
) -> RunIndex:
    """A run of which a graph's nodes gave these values; the graph returns `loss`."""
    with DumpWriter(folder, run=name) as writer:
        outputs = ["loss:0"] if any(each.name == "loss" for each in nodes) else []
        graph = writer.graph(Graph("step", list(nodes), functions={"": Function(outputs=outputs)}))
        for each, value, step in fed:
            writer.log(each, np.asarray(value), step=step, graph=graph, keep=keep)  # type: ignore[arg-type]
    log = LogIndex(folder)
    log.refresh()
    return next(run for run in log.runs if run.name == name)


def findings_of(rule: str, run: RunIndex, settings: Settings | None = None) -> list[Finding]:
    """What a rule finds in a run."""
    return [finding for finding in check_rules(run, settings).findings if finding.rule == rule]
