"""Graphs as columns, and everything about one node."""

from __future__ import annotations

import numpy as np
import pytest

from tensortap.core.errors import NotFoundError
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.graph.graph_index import forward_node, shape_text
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.node_detail import node_detail
from tensortap.index.query.source_lines import embedded_source


def test_a_graph_is_columns(run, graph_id):
    graph = run.graph(graph_id)
    rows = dict(zip(graph.names, range(len(graph)), strict=True))
    assert graph.name == "train"
    assert graph.op_type[rows["dense/MatMul"]] == "MatMul"
    assert graph.device[rows["dense/MatMul"]] == "/cpu:0"
    assert graph.layer.to_list().count("model/dense") == 2
    assert graph.function[rows["loop/body_add"]] == "body"
    assert (graph.dtype[rows["loop"]], graph.shape[rows["loop"]], graph.slots[rows["loop"]]) == (
        "int32",
        "scalar",
        2,
    )
    assert (graph.dtype[rows["dense/Relu"]], graph.shape[rows["dense/Relu"]]) == ("float32", "?×4")
    assert graph.functions["body"].parent == "step"
    assert graph.paths[rows["loop/body_add"]] == "loop/body/body_add"
    assert graph.paths[rows["dense/Relu"]] == "dense/Relu"  # the wrapper is looked through
    assert graph.row("x") == rows["x"]
    with pytest.raises(NotFoundError, match="Did you mean 'dense/MatMul'"):
        graph.row("dense/MatMu")
    flow = ["x", "arg", "dense/MatMul", "dense/Relu", "loop/body_add", "loop"]
    positions = [graph.order[rows[name]] for name in flow]
    assert positions == sorted(positions)


def test_graphs_are_listed_with_their_sizes(run, graph_id):
    first, second = run.graphs
    assert (first.id, first.nodes, first.functions, first.snapshots, first.nonfinite) == (
        graph_id,
        8,
        3,
        24,
        12,
    )
    assert first.edges == len(run.graph(graph_id).edges) == 10
    assert (second.id, second.nodes, second.edges, second.snapshots) == ("-", 2, 0, 2)
    with pytest.raises(NotFoundError, match="Did you mean"):
        run.graph(graph_id[:-1])


def test_each_graph_has_the_steps_at_which_it_was_captured(run, graph_id):
    assert run.steps.step.tolist() == [0, 7, 10, 20, 30, 40, 50]
    steps = run.steps_of(graph_id)
    assert steps.step.tolist() == [0, 10, 20, 30, 40, 50]
    assert steps.time.tolist() == [1000, 1010, 1020, 1030, 1040, 1050]
    assert steps.snapshots.tolist() == [4] * 6
    assert (steps.nan.tolist(), steps.inf.tolist()) == ([0, 0, 0, 4, 4, 4], [0, 0, 0, 4, 4, 4])
    assert (run.steps_of("-").step.tolist(), run.steps_of("-").snapshots.tolist()) == ([7], [2])
    spans = [(graph.first_step, graph.last_step, graph.step_count) for graph in run.graphs]
    assert spans == [(0, 50, 6), (7, 7, 1)]
    with pytest.raises(NotFoundError, match="Did you mean"):
        run.steps_of(graph_id[:-1])


def test_snapshots_without_a_graph_make_one(run):
    graph = run.graph("-")
    assert graph.names == graph.paths == ["loose", "text"]
    assert (graph.dtype.to_list(), graph.shape.to_list()) == (["int16", "string"], ["3×4", "2×2"])
    assert graph is run.graph("-")


def test_a_node_in_detail(run, graph_id):
    node = node_detail(run, "dense/MatMul")
    assert (node.graph, node.op_type, node.layer, node.path) == (
        graph_id,
        "MatMul",
        "model/dense",
        "dense/MatMul",
    )
    assert node.attributes == {"transpose_a": "false"}
    assert [(i.tensor, i.node, i.op_type, i.dtype, i.shape) for i in node.inputs] == [
        ("arg:0", "arg", "_Arg", "float32", "?×4")
    ]
    assert node.control_inputs == ["arg"]
    (output,) = node.outputs
    assert (output.tensor, output.snapshots, output.kept, output.consumers) == (
        "dense/MatMul:0",
        6,
        6,
        ["dense/Relu"],
    )
    assert [(f.file, f.line, f.text) for f in node.stack] == [
        ("train.py", 2, "y = x @ w"),
        ("other.py", 9, None),
    ]


def test_calls_consumers_and_forward_nodes(run):
    call = node_detail(run, "Call")
    assert [(c.function, c.role) for c in call.calls] == [("step", "call")]
    assert call.outputs[0].consumers == []
    relu = node_detail(run, "dense/Relu").outputs[0]
    assert relu.consumers == ["gradient_tape/dense/MatMul/MatMul", "loop", "loop/body_add"]
    assert (relu.snapshots, relu.kept) == (12, 0)
    gradient = node_detail(run, "gradient_tape/dense/MatMul/MatMul")
    assert gradient.forward == "dense/MatMul"
    assert [output.snapshots for output in gradient.outputs] == [6]  # a slot that only snapshots know
    assert len(node_detail(run, "loop").outputs) == 2


def test_a_captured_node_without_a_graph(run):
    node = node_detail(run, "loose")
    assert (node.graph, node.op_type, node.inputs, node.stack) == ("-", "", [], [])
    assert [(o.tensor, o.dtype, o.shape, o.kept) for o in node.outputs] == [("loose:0", "int16", "3×4", 1)]
    with pytest.raises(NotFoundError, match="Did you mean 'loose'"):
        node_detail(run, "looose")


def test_embedded_sources_only(run):
    assert embedded_source(run, "train.py").startswith("import tensorflow")
    for file in ("other.py", "/etc/passwd", "../run.json"):
        with pytest.raises(NotFoundError):
            embedded_source(run, file)


@pytest.mark.parametrize(
    ("name", "forward"),
    [
        ("gradient_tape/dense/MatMul/MatMul_1", "dense/MatMul"),
        ("gradient_tape/dense/Relu/ReluGrad", "dense/Relu"),
        ("gradient_tape_1/dense/Relu/x/y", "dense/Relu"),
        ("model/gradient_tape/dense/Relu/ReluGrad", "model/dense/Relu"),
        ("gradients/dense/Relu_grad/ReluGrad", "dense/Relu"),
        ("gradients_1/dense/Relu_grad_1/ReluGrad", "dense/Relu"),
        ("gradient_tape/other/Relu/ReluGrad", None),
        ("gradient_tape", None),
        ("dense/Relu", None),
    ],
)
def test_the_forward_node_of_a_gradient(name, forward):
    assert forward_node(name, {"dense/MatMul", "dense/Relu", "model/dense/Relu"}) == forward


@pytest.mark.parametrize(
    ("text", "shape"),
    [("[32,null,10]", "32×?×10"), ("[]", "scalar"), ("null", ""), ("", ""), ("x", ""), ("[" * 9999, "")],
)
def test_shapes_are_spelled(text, shape):
    assert shape_text(text) == shape


def test_a_graph_knows_the_workers_that_captured_it(tmp_path):
    """GIVEN two workers, each with a graph of its own and one in common THEN each graph tells whose it is."""
    writers = [DumpWriter(tmp_path, "r", rank=rank) for rank in range(2)]
    log = LogIndex(tmp_path)
    for step in range(2):
        for rank, writer in enumerate(writers):
            for graph in ("both", f"of {rank}"):
                writer.log("a:0", np.zeros(1), step=step, graph=graph)
            writer.flush()
        log.refresh()
    reported = {graph.id: graph.workers for graph in log.runs[0].graphs}
    first, second = (worker.id for worker in log.runs[0].workers)
    assert reported == {"both": [first, second], "of 0": [first], "of 1": [second]}
    for writer in writers:
        writer.close()


def test_handles_are_drawn_under_the_names_of_their_variables(tmp_path):
    """GIVEN what TensorFlow calls `unknown` and `…_resource` THEN both have the path of their variable."""

    def handle(name, variable, function="step", inputs=()):
        marks = {"tensortap.variable": variable} if variable else {}
        known = {"output_dtypes": ["resource"], "output_shapes": [None]}
        return Node(name, "_Arg", inputs, function, attributes=marks, **known)

    nodes = [
        handle("unknown", "dense/kernel"),
        handle("net_dense_matmul_resource", "dense/kernel"),
        handle("net_dense_biasadd_resource", "dense/bias"),
        handle("iterator", ""),
        Node("table", "HashTableV2", (), "step"),
        handle("unknown_0", "", inputs=["table:0"]),
    ]
    with DumpWriter(tmp_path, "r") as writer:
        graph_id = writer.graph(Graph("step", nodes, functions={"step": Function()}))
    log = LogIndex(tmp_path)
    log.refresh()
    assert log.runs[0].graph(graph_id).paths == [
        "variables/dense/kernel",
        "variables/dense/kernel (2)",
        "variables/dense/bias",
        "variables/iterator",
        "table",
        "variables/table",
    ]


def test_a_returned_tensor_without_a_slot_is_the_first_of_its_node(tmp_path):
    returned = Function(outputs=["a:2", "a", "gone:0"])
    with DumpWriter(tmp_path) as writer:
        graph_id = writer.graph(Graph("step", [Node("b", "Const"), Node("a", "Split")], {"step": returned}))
    log = LogIndex(tmp_path)
    log.refresh()
    assert log.runs[0].graph(graph_id).returned("step") == [(1, 2), (1, 0), (-1, 0)]
