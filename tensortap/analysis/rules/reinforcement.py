"""Reinforcement learning as rules see it: losses that need not fall, and rewards, which are no labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..model_graph.op_types import CALLS, SELECTS, ops
from ..model_graph.roles import Roles, Slot, TensorRole
from ..run_view.run_view import RunView
from .forward_sources import CROSS_ENTROPIES, captured_tensor, forward_rows, shape_of, trained_graphs

_COPYING = CALLS | ops(
    "_Arg Identity IdentityN Cast Reshape ExpandDims Squeeze EnsureShape PreventGradient Transpose GatherV2 "
    "GatherNd StridedSlice Pack Neg"
)
_SUMS = ops("Add AddV2 AddN")
_AVERAGES = _COPYING | _SUMS | SELECTS | ops("Sum Mean DivNoNan RealDiv Sub Minimum Maximum ClipByValue")
_PRODUCTS = ops("Mul MulNoNan")
_COMPUTED = _AVERAGES | _PRODUCTS | ops("Sqrt Rsqrt Square SquaredDifference")  # a normalization
_LOGARITHMS = CROSS_ENTROPIES | ops("Log LogSoftmax Log1p Exp")  # of a probability, or the ratio of two
_ERRORS = ops("Square SquaredDifference Abs Pow")
_DRAWS = ops("Multinomial StatelessMultinomial PyFunc PyFuncStateless EagerPyFunc")
_MAX_NODES = 500  # nodes between the loss and a product
_FEW = 0.25  # of the steps: weights of samples have fewer different largest values


def is_policy_gradient(view: RunView, roles: Roles) -> bool:
    """Whether the loss is log-probabilities times an advantage or a return.

    The factor comes from the data, from behind `tf.stop_gradient`, or is a return less an estimate. Weights
    of samples and classes, masks and one-hot targets are none.
    """
    return view.cached(f"policy gradient of {roles.graph.id}", lambda: _has_advantage(view, roles))


def trains_a_policy(view: RunView) -> bool:
    """Whether a step of the run has a policy gradient."""
    return any(is_policy_gradient(view, roles) for roles in trained_graphs(view))


def has_moving_targets(view: RunView, roles: Roles) -> bool:
    """Whether the loss is an error against numbers that a changing network computes without a gradient: those
    of a target network, or behind `tf.stop_gradient`."""
    errors = _from_loss(roles, _AVERAGES | _PRODUCTS | _ERRORS)
    differences = [row for row in errors if roles.graph.op_type[row] in ("Sub", "SquaredDifference")]
    found = (_weights_without_gradient(roles, each) for row in differences for each in _sources(roles, row))
    return any(_change(view, roles, weights) for weights in found)


def is_reward(roles: Roles, label: TensorRole) -> bool:
    """Whether an input of the loss is added to other numbers, as a reward is to the value of the next state.
    A label is compared."""
    waiting, seen = [(label.row, label.slot)], set[Slot]()
    while waiting and len(seen) < _MAX_NODES:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        for user in roles.consumers(*place):
            op_type, taken = roles.graph.op_type[user], list(_sources(roles, user))
            others = [row for row in taken if row != place[0] and not _is_constant(roles, row)]
            if roles.is_backward(user):
                continue
            if op_type in _SUMS and others:
                return True
            if op_type in _COPYING or (op_type in _PRODUCTS and not others):
                waiting.append((user, 0))
    return False


def _has_advantage(view: RunView, roles: Roles) -> bool:
    plays = any(forward_rows(roles, _DRAWS.__contains__))  # an episode, in the step
    for row in _from_loss(roles, _AVERAGES | _PRODUCTS):
        places = [(source, slot) for source, slot, position in roles.inputs(row) if position >= 0]
        if roles.graph.op_type[row] not in _PRODUCTS or len(places) != 2:
            continue
        for chance, factor in (places, places[::-1]):
            if roles.reached[chance[0]] and _is_given(roles, factor[0], plays=plays):
                is_likely = _is_logarithm(roles, chance[0])
                if _varies_like_returns(view, roles, factor, is_likely=is_likely):
                    return True
    return False


def _from_loss(roles: Roles, followed: frozenset[str]) -> list[int]:
    """The nodes that a loss is summed of, upstream through some op types. Ends at the others."""
    marked = roles.of_kind("loss") or ([] if roles.loss is None else [roles.loss])
    waiting, seen = list(marked), set[int]()
    while waiting and len(seen) < _MAX_NODES:
        row = waiting.pop()
        if row not in seen and not roles.is_backward(row):
            seen.add(row)
            waiting += _sources(roles, row) if roles.graph.op_type[row] in followed else ()
    return sorted(seen)


def _sources(roles: Roles, row: int) -> Iterator[int]:
    return (source for source, _, _ in roles.inputs(row))


def _is_constant(roles: Roles, row: int) -> bool:
    return roles.graph.op_type[row] in ("Const", "Shape")


def _is_given(roles: Roles, row: int, *, plays: bool) -> bool:
    """Whether a factor of a loss is data, gets no gradient, or is the difference from such numbers.

    Args:
        plays: whether the step draws actions: then a difference may be one from the rewards of its episode.
    """
    waiting, seen = [row], set[int]()
    while waiting and len(seen) < _MAX_NODES:
        row = waiting.pop()
        if row in seen:
            continue
        seen.add(row)
        op_type = roles.graph.op_type[row]
        if op_type == "StopGradient" or roles.kind.get(row) == "input" or (op_type == "Sub" and plays):
            return True
        followed = _COPYING | ops("Sub Sum") if roles.reached[row] else _COMPUTED
        waiting += _sources(roles, row) if op_type in followed else ()
    return False


def _is_logarithm(roles: Roles, row: int) -> bool:
    waiting, seen = [row], set[int]()
    while waiting and len(seen) < _MAX_NODES:
        row = waiting.pop()
        if roles.graph.op_type[row] in _LOGARITHMS:
            return True
        if row not in seen and roles.graph.op_type[row] in _AVERAGES | _PRODUCTS:
            seen.add(row)
            waiting += _sources(roles, row)
    return False


def _varies_like_returns(view: RunView, roles: Roles, place: Slot, *, is_likely: bool) -> bool:
    """Whether a factor may be an advantage, by its values. `is_likely`: it multiplies log-probabilities."""
    tensor = captured_tensor(view, roles, place, exactly=True) or _input_before(view, roles, place)
    rows = view.rows([tensor] if tensor else [], floats=False)
    if not rows.finite.any():
        return is_likely
    if np.nanmin(rows["min"]) < 0:
        return True
    shape, highest = shape_of(roles, place), rows["max"]
    is_share = np.nanmax(highest) <= 1
    if is_share and (
        roles.graph.op_type[place[0]] == "StopGradient" or (shape and shape[-1:] != (1,) and len(shape) > 1)
    ):
        return False  # a target that is a distribution, or the weight of a focal loss
    return is_likely and len(np.unique(highest)) > _FEW * len(rows)


def _input_before(view: RunView, roles: Roles, place: Slot) -> TensorRole | None:
    """The captured input that a factor is, past ops that copy it."""
    for _ in range(_MAX_NODES):
        sources = roles.inputs(place[0])
        if roles.graph.op_type[place[0]] not in _COPYING or not sources:
            break
        place = sources[0][:2]
    return captured_tensor(view, roles, place, exactly=True)


def _weights_without_gradient(roles: Roles, row: int) -> set[str]:
    """Paths of the weights that a node is computed from; none if a gradient goes back to one of them."""
    waiting, seen = [(row, False)], set[tuple[int, bool]]()
    weights = set[tuple[str, bool]]()
    while waiting:
        row, stopped = waiting.pop()
        if (row, stopped) in seen or not roles.reached[row]:
            continue
        seen.add((row, stopped))
        if roles.kind.get(row) == "weight":
            weights.add((roles.variable.get(row, ""), stopped))
        stopped = stopped or roles.graph.op_type[row] == "StopGradient"
        waiting += [(source, stopped) for source in _sources(roles, row)]
    is_trained = any(path in roles.trained and not stopped for path, stopped in weights)
    return set() if is_trained else {path for path, _ in weights}


def _change(view: RunView, roles: Roles, paths: set[str]) -> bool:
    if paths & roles.trained.keys():
        return True
    read = [
        tensor
        for tensor in view.of_kind("weight")
        if tensor.graph == roles.graph.id and tensor.variable in paths
    ]
    return any(len(np.unique(view.rows([tensor])["l2"])) > 1 for tensor in read)
