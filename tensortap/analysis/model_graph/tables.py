"""Variables of which rows are looked up: embeddings."""

from __future__ import annotations

from ..series.run_view import RunView
from .node_roles import Roles
from .op_sets import ops
from .tensor_role import TensorRole

_LOOKUPS = ops("Gather GatherV2 GatherNd ResourceGather ResourceGatherNd")


def is_table(view: RunView, weight: TensorRole) -> bool:
    """Whether rows of a weight are taken by number, so that nothing sums over them."""
    return weight.variable in view.once(
        f"tables of {weight.graph}", lambda: _tables(view.roles(weight.graph))
    )


def _tables(roles: Roles) -> set[str]:
    types = roles.graph.op_type
    return {
        variable
        for variable, rows in roles.reads.items()
        if any(types[after] in _LOOKUPS for row in rows for after in roles.consumers(row))
    }
