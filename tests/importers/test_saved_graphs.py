"""SavedModels and frozen GraphDefs, and the table of op types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensortap.dump.read.runs import RunReader
from tensortap.importers.tf_formats.graphdef import OPS


def graph_of(importing: Any) -> Any:
    reader = RunReader(importing.logdir / "run")
    (graph_id,) = reader.graph_ids()
    return reader.graph(graph_id)


def test_a_frozen_graph(importing: Any) -> None:
    importing("graphs/frozen.pb")

    graph = graph_of(importing)
    nodes = {node.name: node for node in graph.nodes}
    product = nodes["product"]
    assert (product.op_type, product.output_dtypes) == ("MatMul", ("float32",))
    assert product.inputs[0] == "x:0"
    assert product.attributes["T"] == "float32"
    assert nodes["top"].output_dtypes == ("float32", "int32")
    roles = {function.role for function in graph.functions.values()}
    assert {"root", "cond", "body"} <= roles
    for function in graph.functions.values():
        assert all(output.rpartition(":")[0] in nodes for output in function.outputs)
    assert graph.graph_def


def test_a_saved_model(importing: Any) -> None:
    importing("graphs/saved")

    graph = graph_of(importing)
    names = {node.name for node in graph.nodes}
    assert any(node.op_type == "MatMul" for node in graph.nodes)
    for node in graph.nodes:
        for text in node.inputs:
            assert text.removeprefix("^").split(":")[0] in names, f"{node.name} reads {text}"
    assert "'variables'" in importing.notes


def test_the_table_of_op_types_is_tensorflows(artefacts: Path) -> None:
    made = (artefacts / "ops.txt").read_text()
    assert OPS.read_text() == made, f"copy {artefacts / 'ops.txt'} to importers/"
