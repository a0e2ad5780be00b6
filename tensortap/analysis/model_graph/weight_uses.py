"""How variables are used: as factors of products, filters of convolutions, lookup tables (embeddings)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from .op_types import CALLS, ops
from .roles import GRAPHS, Roles

_PRODUCTS = CALLS | ops(
    "MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum Conv2D Conv3D Conv2DBackpropInput "
    "Conv3DBackpropInputV2 DepthwiseConv2dNative CudnnRNN CudnnRNNV2 CudnnRNNV3"
)
# Ops that copy numbers of their input, all or some.
_COPYING = ops(
    "Identity IdentityN Cast Reshape Transpose Squeeze ExpandDims StridedSlice Slice Split SplitV Unpack "
    "Pack ConcatV2 _Arg ReadVariableOp"
)
_LOOKUPS = ops("Gather GatherV2 GatherNd ResourceGather ResourceGatherNd")


def is_factor(roles: Roles, variable: str) -> bool:
    """Whether a product takes a variable unchanged, directly or in a loop or function that is given it."""
    return variable in _factors(roles)


def is_filter(roles: Roles, variable: str) -> bool:
    """Whether a convolution takes a variable."""
    types = roles.graph.op_type
    return any(types[row].startswith(("Conv", "Depthwise")) for row in _factors(roles).get(variable, ()))


def is_last_factor(roles: Roles, variable: str) -> bool:
    """Whether no product with another variable is downstream of a variable's: it makes the model's output."""
    factors = _factors(roles)
    others = set().union(*(rows for other, rows in factors.items() if other != variable))
    own = factors.get(variable, set())
    return not any(row in others - own for row in _downstream(roles, own))


def is_lookup_table(roles: Roles, variable: str) -> bool:
    """Whether rows of a variable are taken by index, so that nothing sums over them."""
    return variable in _lookup_tables(roles)


@lru_cache(maxsize=GRAPHS)
def _factors(roles: Roles) -> dict[str, set[int]]:
    """Path of each variable that products take -> rows of these."""
    types, found = roles.graph.op_type, dict[str, set[int]]()
    for variable, reads in roles.reads.items():
        copies, waiting, products = set(reads), list(reads), set[int]()
        while waiting:
            for row in roles.consumers(waiting.pop()):
                if roles.is_backward(row) or row in copies:
                    continue
                if types[row] in _PRODUCTS:
                    products.add(row)
                elif types[row] in _COPYING:
                    copies.add(row)
                    waiting.append(row)
        if products:
            found[variable] = products
    return found


@lru_cache(maxsize=GRAPHS)
def _lookup_tables(roles: Roles) -> set[str]:
    types = roles.graph.op_type
    return {
        variable
        for variable, rows in roles.reads.items()
        if any(types[consumer] in _LOOKUPS for row in rows for consumer in roles.consumers(row))
    }


def _downstream(roles: Roles, rows: Iterable[int]) -> set[int]:
    """Some nodes, and all of the forward pass downstream of them."""
    seen, waiting = set(rows), list(rows)
    while waiting:
        for row in roles.consumers(waiting.pop()):
            if row not in seen and not roles.is_backward(row):
                seen.add(row)
                waiting.append(row)
    return seen
