"""Kernels: how the forward pass uses a variable, its fan-in and fan-out, and its initializer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

from ..model_graph.op_types import CALLS, CONVOLUTIONS, LOOKUPS, MATRIX_PRODUCTS, ops
from ..model_graph.roles import GRAPHS, Roles, TensorRole
from ..run_view.run_view import RunView

_MIN_RANDOM = 200  # number of elements needed to recognize an initializer from range and variance
_TRUNCATED = 0.87962566103423978  # standard deviation of a normal distribution truncated at 2
_LIKELY = 10.0  # exp(-10): how seldom the largest of random elements is as far from the limit


def random_initializer(view: RunView, tensor: TensorRole) -> str:
    """The random initializer of Keras that made a kernel's first snapshot: `GlorotUniform`, …

    Told by mean, variance, and the limit that no element exceeds and the largest comes close to. Empty for
    none, and for few elements.

    Source: Glorot & Bengio 2010, He et al. 2015, LeCun et al. 1998, as Keras computes them.
    """
    rows, catalog = view.rows([tensor]), view.run.catalog
    shape = catalog.shapes.values[int(catalog.column("shape", rows.rows[:1])[0])] if len(rows) else ()
    count = math.prod(shape)
    if len(shape) < 2 or count < _MIN_RANDOM:
        return ""
    largest, spread, mean = (float(rows[name][0]) for name in ("abs_max", "std", "mean"))
    fan_in, fan_out = kernel_fans(view, tensor, shape)[:2]
    for name, variance in (("Glorot", 2 / (fan_in + fan_out)), ("He", 2 / fan_in), ("Lecun", 1 / fan_in)):
        deviation = math.sqrt(variance)
        if abs(mean) > 4 * deviation / math.sqrt(count) or abs(spread / deviation - 1) > 3 / math.sqrt(count):
            continue
        normal = deviation / _TRUNCATED
        ends = ("Uniform", math.sqrt(3) * deviation, 1.0), ("Normal", 2 * normal, normal / 0.113)
        for kind, limit, per_element in ends:
            room = _LIKELY * (limit if kind == "Uniform" else per_element) / count
            if limit - room <= largest <= limit * (1 + 1e-3):
                return name + kind
    return ""


def kernel_fans(view: RunView, tensor: TensorRole, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Fan-in and fan-out of a kernel of two dimensions or more, as Keras counts them: all dimensions but the
    last two are positions of a filter. Of other products it is unknown which dimensions are summed over (of
    attention's kernels the first, or all but the last): the sizes at either end, too."""
    positions = math.prod(shape[:-2])
    fans = positions * shape[-2], positions * shape[-1]
    if len(shape) == 2 or is_filter(view.roles(tensor.graph), tensor.variable):
        return fans
    return *fans, shape[0], math.prod(shape[1:]), math.prod(shape[:-1]), shape[-1]


_PRODUCTS = (
    CALLS
    | MATRIX_PRODUCTS
    | CONVOLUTIONS
    | ops("Conv2DBackpropInput Conv3DBackpropInputV2 CudnnRNN CudnnRNNV2 CudnnRNNV3")
)
# Ops that copy numbers of their input, all or some.
_COPYING = ops(
    "Identity IdentityN Cast Reshape Transpose Squeeze ExpandDims StridedSlice Slice Split SplitV Unpack "
    "Pack ConcatV2 _Arg ReadVariableOp"
)


def is_factor(roles: Roles, variable: str) -> bool:
    """Whether a product uses a variable unchanged, directly or in a loop or function that gets it."""
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


def is_between(roles: Roles, variable: str, others: Iterable[str]) -> bool:
    """Whether the backward pass goes through a product with a variable to some other ones."""
    reads = roles.reads.get(variable, [])
    if not any(roles.is_backward(user) for row in reads for user in roles.consumers(row)):
        return False
    before = _downstream(roles, [row for other in others for row in roles.reads.get(other, [])])
    return any(row in before for row in _factors(roles).get(variable, ()))


def is_before(roles: Roles, variable: str, others: Iterable[str]) -> bool:
    """Whether products with some other variables are downstream of a variable's reads."""
    after = _downstream(roles, roles.reads.get(variable, []))
    return any(row in after for other in others for row in _factors(roles).get(other, ()))


def is_lookup_table(roles: Roles, variable: str) -> bool:
    """Whether rows of a variable are read by index, so that no op sums over them."""
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
        if any(types[consumer] in LOOKUPS for row in rows for consumer in roles.consumers(row))
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
