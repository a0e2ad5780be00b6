"""What the nodes of a graph are to the model, told by their op types."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from synthetic_runs import node, synthetic_run

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
