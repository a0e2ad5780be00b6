"""How variables are used: as factors of products, as filters, as lookup tables (embeddings)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..nonfinite.upstream import CALLS
from ..run_view.run_view import RunView
from .node_roles import Roles
from .op_sets import ops
from .tensor_role import TensorRole

_PRODUCTS = CALLS | ops(
    "MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum Conv2D Conv3D Conv2DBackpropInput "
    "Conv3DBackpropInputV2 DepthwiseConv2dNative CudnnRNN CudnnRNNV2 CudnnRNNV3"
)
# The numbers of what they take stay as they are, whole or in part.
_SAME_NUMBERS = ops(
    "Identity IdentityN Cast Reshape Transpose Squeeze ExpandDims StridedSlice Slice Split SplitV Unpack "
    "Pack ConcatV2 _Arg ReadVariableOp"
)
_LOOKUPS = ops("Gather GatherV2 GatherNd ResourceGather ResourceGatherNd")


def is_factor(view: RunView, weight: TensorRole) -> bool:
    """Whether a product takes a weight as it is, at once or in a loop or function that is given it."""
    return weight.variable in _factors(view, weight.graph)


def is_filter(view: RunView, weight: TensorRole) -> bool:
    """Whether a convolution takes a weight."""
    types = view.roles(weight.graph).graph.op_type
    rows = _factors(view, weight.graph).get(weight.variable, ())
    return any(types[row].startswith(("Conv", "Depthwise")) for row in rows)


def is_last_factor(view: RunView, weight: TensorRole) -> bool:
    """Whether no product with another weight comes behind that of a weight: it makes the model's output."""
    factors, roles = _factors(view, weight.graph), view.roles(weight.graph)
    others = set().union(*(rows for variable, rows in factors.items() if variable != weight.variable))
    own = factors.get(weight.variable, set())
    return not any(row in others - own for row in _forward(roles, own))


def _factors(view: RunView, graph: str) -> dict[str, set[int]]:
    """Path of each variable that products take -> rows of these."""
    return view.once(f"factors of {graph}", lambda: dict(_find(view.roles(graph))))


def _find(roles: Roles) -> Iterator[tuple[str, set[int]]]:
    types = roles.graph.op_type
    for variable, reads in roles.reads.items():
        same, waiting, products = set(reads), list(reads), set[int]()
        while waiting:
            for row in roles.consumers(waiting.pop()):
                if roles.is_backward(row) or row in same:
                    continue
                if types[row] in _PRODUCTS:
                    products.add(row)
                elif types[row] in _SAME_NUMBERS:
                    same.add(row)
                    waiting.append(row)
        if products:
            yield variable, products


def _forward(roles: Roles, rows: Iterable[int]) -> set[int]:
    """All nodes of the forward pass that take something of some nodes, and these."""
    seen, waiting = set(rows), list(rows)
    while waiting:
        for row in roles.consumers(waiting.pop()):
            if row not in seen and not roles.is_backward(row):
                seen.add(row)
                waiting.append(row)
    return seen


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
