"""Finds ops that block every gradient of the loss to a variable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tensortap.core.dtypes import Array, is_floating
from tensortap.core.errors import TensortapError
from tensortap.index.query.node_detail import node_detail
from tensortap.index.run_index import RunIndex

from .op_types import SHAPES, ops
from .roles import Roles

STOPS = "StopGradient"  # the program says that it wants none
# Ops for which TensorFlow has no gradient, or one that is always zero (tensorflow/python/ops/*_grad.py).
_CUTTING = ops(
    "StopGradient ArgMax ArgMin Round Rint Floor Ceil Sign FloorDiv OneHot Bucketize Equal NotEqual Greater "
    "GreaterEqual Less LessEqual ApproximateEqual IsNan IsInf IsFinite LogicalNot LogicalAnd LogicalOr Where "
    "Multinomial PyFunc PyFuncStateless Bincount DenseBincount HistogramFixedWidth LookupTableFindV2"
)
_LOSSES = 32  # with cached paths, because many variables are checked


@dataclass(frozen=True, slots=True)
class Cut:
    """The first op, in data flow order, of those that cut all ways to the loss. `source`: file:line, or
    empty.

    If the step requests the gradient, ops behind a `stop_gradient` do not count, and `stop_gradient` itself
    is named last, because it is intended.
    """

    node: str
    op_type: str
    source: str

    @property
    def why(self) -> str:
        """Why a variable gets no gradient, without a full stop."""
        line = f", {self.source}" if self.source else ""
        return f"{self.node} ({self.op_type}{line}) blocks the gradient"


def find_gradient_cut(run: RunIndex, roles: Roles, variable: str) -> Cut | None:
    """Finds the node that blocks the gradient of a variable. None if there is none, the loss is unknown, or
    it does not depend on the variable."""
    reads = roles.reads.get(variable, [])
    losses = [each for each in _losses(roles, variable) if not _derived_from(roles, each)[reads].any()]
    if not losses:
        return None
    order = roles.graph.order
    ends = [row for row in _ends(roles, reads) if roles.graph.op_type[row] not in SHAPES]
    leading = [row for row in ends if any(_upstream(roles, loss)[row] for loss in losses)]
    if not leading:
        return None
    asked = leading if roles.trainable.get(variable) else []
    decisive = [
        row for row in asked if any(_unstopped(roles, loss)[roles.consumers(row)].any() for loss in losses)
    ]
    unwanted = [row for row in decisive if roles.graph.op_type[row] != STOPS]
    row = min(unwanted or decisive or leading, key=lambda row: int(order[row]))
    node = roles.graph.names[row]
    return Cut(node, roles.graph.op_type[row], source_of(run, roles.graph.id, node))


def is_unused(roles: Roles, variable: str) -> bool:
    """Whether no node that a loss depends on uses a variable."""
    losses, reads = _losses(roles, variable), roles.reads.get(variable, [])
    return bool(losses) and not any(_upstream(roles, loss)[reads].any() for loss in losses)


def _losses(roles: Roles, variable: str) -> set[int]:
    """Losses that may train a variable: if a gradient of one is requested, all losses that a tape
    differentiates (none of them has a gradient); else the loss of the step."""
    marked = roles.of_kind("loss") if roles.trainable.get(variable) else []
    return set(marked) or ({roles.loss} if roles.loss is not None else set())


def _cuts(roles: Roles, row: int) -> bool:
    """Whether no gradient goes back through a node."""
    if roles.graph.op_type[row] != "Cast":
        return roles.graph.op_type[row] in _CUTTING | SHAPES
    dtype = next(iter(roles.graph.slot_texts(row)), ("", ""))[0]
    return bool(dtype) and not is_floating(dtype)


def _ends(roles: Roles, rows: list[int]) -> list[int]:
    """Among nodes of the forward pass, the first that give the others no gradient."""
    reached, ends, waiting = set[int](), dict[int, None](), list(rows)
    while waiting:
        row = waiting.pop()
        if row in reached or row in ends or roles.is_backward(row):
            continue
        if _cuts(roles, row):
            ends[row] = None
        else:
            reached.add(row)
            waiting += roles.consumers(row)
    return list(ends)


@lru_cache(maxsize=_LOSSES)
def _upstream(roles: Roles, loss: int) -> Array:
    """bool[nodes]: the nodes of the forward pass that a loss depends on."""
    return _before(roles, loss, lambda roles, row: False)


@lru_cache(maxsize=_LOSSES)
def _derived_from(roles: Roles, loss: int) -> Array:
    """bool[nodes]: whether the op gives this input a gradient."""
    return _before(roles, loss, _cuts)


@lru_cache(maxsize=_LOSSES)
def _unstopped(roles: Roles, loss: int) -> Array:
    """bool[nodes]: the nodes from which a way without `stop_gradient` leads to a loss."""
    return _before(roles, loss, lambda roles, row: roles.graph.op_type[row] == STOPS)


def _before(roles: Roles, loss: int, cut: Callable[[Roles, int], bool]) -> Array:
    mask, waiting = np.zeros(len(roles.graph), np.bool_), [loss]
    while waiting:
        row = waiting.pop()
        if not (mask[row] or roles.is_backward(row) or cut(roles, row)):
            mask[row] = True
            waiting += [source for source, _, _ in roles.inputs(row)]
    return mask


def source_of(run: RunIndex, graph: str, node: str) -> str:
    """The source line that created a node, `file:line`; empty if the dump lacks it."""
    try:
        stack = node_detail(run, node, graph=graph).stack
    except TensortapError:
        return ""
    return f"{stack[-1].file}:{stack[-1].line}" if stack else ""
