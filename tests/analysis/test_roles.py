"""What the nodes of a graph are to the model, told by their op types."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from synthetic_runs import GRADIENT, TRAINING, node, synthetic_run

from tensortap.analysis.model_graph.op_types import ops
from tensortap.analysis.model_graph.roles import roles_of

UPDATES = ops(
    "AssignAddVariableOp ResourceApplyAdam ResourceSparseApplyFtrl ResourceScatterNdUpdate ScatterAdd "
    "ScatterNdUpdate ApplyMomentum ResourceStridedSliceAssign"
)
OTHERS = ops("ScatterNd ScatterNdNonAliasingAdd TensorScatterUpdate ReadVariableOp ResourceGather")


def test_ops_that_change_a_variable_are_reported_from_those_that_only_sound_so(tmp_path: Path) -> None:
    nodes = [node(op_type, op_type) for op_type in UPDATES | OTHERS]
    run = synthetic_run(tmp_path, nodes, [("ScatterNd", np.float32(1), 0)])
    roles = roles_of(run.graph(run.graphs[0].id))
    assert {name for name, row in roles.graph.rows.items() if roles.is_update(row)} == UPDATES


def test_the_loss_is_what_a_tape_differentiates_even_if_a_part_is_named_loss(tmp_path: Path) -> None:
    part, total = (
        node("huber_loss/Sum", "Sum", "product"),
        node("add", "AddV2", "huber_loss/Sum", kind="loss"),
    )
    scalars = [replace(each, output_shapes=[[]]) for each in (part, total)]
    run = synthetic_run(tmp_path, [*TRAINING[:3], *scalars, GRADIENT], [("add", np.float32(1), 0)])
    roles = roles_of(run.graph(run.graphs[0].id))
    assert roles.loss == roles.graph.rows["add"]
