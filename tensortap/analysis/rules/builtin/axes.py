"""Rules about softmaxes and broadcasts: an axis or a mask that is wrong, a loss that broadcasts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from tensortap.core.dtypes import Array, float_limits, is_floating
from tensortap.core.text import number_text

from ...model_graph.op_types import (
    CONVOLUTIONS,
    MATRIX_PRODUCTS,
    SELECTS,
    SHAPES,
    constant_text,
    is_true,
    nested_list,
    ops,
)
from ...model_graph.roles import Roles, Slot, TensorRole
from ...run_view.run_view import RunView
from ...run_view.snapshot_rows import SnapshotRows
from ..finding import Evidence, Hit
from ..forward_sources import (
    CROSS_ENTROPIES,
    Shape,
    captured_tensor,
    forward_rows,
    shape_of,
    source_of,
    sources_of,
    trained_graphs,
)
from ..rule import MOSTLY, Limits, rule

_SOFTMAXES = ops("Softmax LogSoftmax")
_ADDITIONS = ops("Add AddV2 BiasAdd")
_SCALINGS = ops("Mul RealDiv")
_MASKINGS = SELECTS | ops("Add AddV2 Sub")
_ARITHMETIC = {"Add": np.add, "AddV2": np.add, "Sub": np.subtract, "FloorMod": np.mod}  # of axes
_REDUCTIONS = ops("Sum Mean Max Min")
_DIFFERENCES = ops("Sub SquaredDifference")
_COMBINING = ops("Add AddV2 Mul")
_ELEMENTWISE = ops("Log Maximum Minimum Neg")  # that a loss applies to probabilities
_MOST_NODES = 2000  # that are followed from one operand
_DEEP = 20  # ops between a softmax and what uses it, or that compute a permutation
_MAX_RANK = 64  # numbers of a permutation; a damaged dump may request any length
_PRODUCTS = MATRIX_PRODUCTS | CONVOLUTIONS


@rule(
    "SoftmaxAxis",
    "a softmax over a single element, over the batch, or over the queries of an attention",
    title="Softmax over the wrong axis",
    severity="high",
    source="tensortap: the shapes of the softmax and of its input",
    help="For two classes, use one unit with a sigmoid or two with a softmax; otherwise axis=-1.",
    next_look="Check the shape of the softmax: its values must sum to 1 over the classes.",
)
def softmax_axis(view: RunView, limits: Limits) -> Iterable[Hit]:
    del limits
    for roles in trained_graphs(view):
        for row in forward_rows(roles, _SOFTMAXES.__contains__):
            shape, name = shape_of(roles, (row, 0)), roles.graph.names[row]
            value = 1 if roles.graph.op_type[row] == "Softmax" else "log(1) = 0"
            if shape and shape[-1] == 1 and _is_layer_output(roles, row):
                text = f"{name} ({_text(shape)}) is a softmax over one element, which is always {value}."
                yield from _at(view, roles, row, text, Evidence(0, "elements of the softmax", 1.0, 2.0))
            elif taken := _transposed_batch(roles, row):
                text = (
                    f"{name} is a softmax over the batch: its input was {_text(taken)} and is "
                    f"transposed to {_text(shape or ())}. The result of a sample depends on the "
                    "other samples in its batch."
                )
                evidence = Evidence(0, "axis of the softmax", 0.0, len(taken) - 1)
                yield from _at(view, roles, row, text, evidence)
            elif use := _summed_axis(view, roles, row):
                text = (
                    f"{name} makes attention weights ({_text(use.shape)}) that sum to 1 over axis "
                    f"{use.normalized}, but {roles.graph.names[use.product]} sums over axis {use.summed}: "
                    "the result is not an average of the values."
                )
                evidence = Evidence(0, "axis of the softmax", use.normalized, use.summed)
                for hit in _at(view, roles, row, text, evidence):
                    yield replace(hit, help=f"Use axis={use.summed - len(use.shape)} in the softmax.")
            elif loss := _axis_before_loss(roles, row):
                text = (
                    f"{name} makes probabilities that sum to 1 over axis {loss.normalized} of "
                    f"{_text(loss.shape)}, but {roles.graph.names[loss.product]} takes those of axis "
                    f"{loss.summed} as classes."
                )
                evidence = Evidence(0, "axis of the softmax", loss.normalized, loss.summed)
                yield from _at(view, roles, row, text, evidence)


def _is_layer_output(roles: Roles, row: int) -> bool:
    """Whether a node uses the output of a layer with weights rather than the scores of attention, which may
    have length 1."""
    found = [source for source, _ in sources_of(roles, row)[:1]]
    if found and roles.graph.op_type[found[0]] in _ADDITIONS:
        found = [source for source, _ in sources_of(roles, found[0])]
    return any(
        roles.graph.op_type[each] in _PRODUCTS
        and any(roles.kind.get(source) == "weight" for source, _ in sources_of(roles, each))
        for each in found
    )


def _transposed_batch(roles: Roles, row: int) -> Shape | None:
    """The shape of a softmax's input before it was transposed to put its first axis last.

    None for one score a sample, which pools the batch (multiple instance learning), and for the similarities
    of two batches (contrastive losses).
    """
    for source, _, position in roles.inputs(row):
        if position != 0 or roles.graph.op_type[source] != "Transpose":
            continue
        before = next((place[:2] for place in roles.inputs(source) if place[2] == 0), (source, 0))
        old, new = shape_of(roles, before), shape_of(roles, (source, 0))
        is_moved = old and new and old[0] == new[-1] and old[-1] != new[-1] and old.count(old[0]) == 1
        is_meant = (old or (1,))[-1] == 1 or _is_similarity(roles, before)
        return old if is_moved and not is_meant and _is_batch(roles, old[0] if old else None) else None
    return None


@dataclass(frozen=True, slots=True)
class _Use:
    """A product with attention weights: its row; the shape of the weights there, the axis over which they sum
    to 1, and the axis over which the product sums."""

    product: int
    shape: Shape
    normalized: int
    summed: int


def _summed_axis(view: RunView, roles: Roles, row: int) -> _Use | None:
    """The product of attention weights that sums over another axis than the softmax, both as long (queries
    and keys of self-attention), or than one over the batch.

    None where weights are divided by their sum afterwards, as in slot attention, and for assignments to
    clusters, whose scores are no product of queries and keys.
    """
    scores = next((place[:2] for place in roles.inputs(row) if place[2] == 0), None)
    if scores is None or not _is_similarity(roles, scores):
        return None
    uses = _uses(roles, row, _captured_shape(view, roles, (row, 0)))
    if not uses or any(use.summed == use.normalized for use in uses):
        return None
    use = uses[0]
    is_square = use.shape[use.summed] == use.shape[use.normalized] is not None
    over_batch = use.normalized == 0 and len(use.shape) > 2 and _is_batch(roles, use.shape[0])
    return use if is_square or over_batch else None


def _uses(roles: Roles, row: int, shape: Shape) -> list[_Use]:
    """The products that take the output of a softmax, of this shape. Empty if their axes are unknown, or
    if the output is summed, too."""
    found, waiting = list[_Use](), [(row, tuple(range(len(shape))))]
    seen = set[tuple[int, tuple[int, ...]]]()
    while waiting and len(shape) > 1:
        at, axes = state = waiting.pop()
        if state in seen:
            continue
        seen.add(state)
        for user in roles.consumers(at):
            op_type = roles.graph.op_type[user]
            if roles.is_backward(user):
                continue
            if op_type in MATRIX_PRODUCTS:
                position = next(each for source, _, each in roles.inputs(user) if source == at)
                summed = _contracted(roles, user, position, len(axes))
                if summed is None:
                    return []
                moved = tuple(shape[axis] for axis in axes)
                found.append(_Use(user, moved, axes.index(len(shape) - 1), summed))
            elif op_type in _REDUCTIONS:
                return []
            elif after := _moved(roles, at, user, axes):
                waiting.append((user, after))
    return found


def _axis_before_loss(roles: Roles, row: int) -> _Use | None:
    """The cross-entropy of a softmax's output, or of its logits if the loss does not depend on the output
    (Keras' losses take the logits), if its classes are another axis."""
    shape = shape_of(roles, (row, 0)) or ()
    waiting = [(row, tuple(range(len(shape))))]
    moved = next(iter(sources_of(roles, row)), (row, 0))[0]
    if roles.graph.op_type[moved] == "Transpose" and not _reaches_loss(roles, row):
        logits, order = sources_of(roles, moved)[0], _integers(roles, sources_of(roles, moved)[1])
        if order is not None and sorted(order.tolist()) == list(range(len(shape))):
            waiting.append((logits[0], tuple(np.argsort(order).tolist())))
    seen = set[tuple[int, tuple[int, ...]]]()
    while waiting and shape:
        at, axes = state = waiting.pop()
        if state in seen:
            continue
        seen.add(state)
        for user in roles.consumers(at):
            op_type, last = roles.graph.op_type[user], len(shape) - 1
            if roles.is_backward(user):
                continue
            if op_type in CROSS_ENTROPIES and axes[-1] != last:
                return _Use(user, tuple(shape[axis] for axis in axes), axes.index(last), last)
            ends = ((shape_of(roles, (each, 0)) or (None,))[-1] for each in (at, user))
            is_same = op_type in _ELEMENTWISE or (op_type == "Reshape" and len(set(ends)) == 1)
            if after := axes if is_same else _moved(roles, at, user, axes):
                waiting.append((user, after))
    return None


def _reaches_loss(roles: Roles, row: int) -> bool:
    waiting, seen = [row], set[int]()
    while waiting:
        row = waiting.pop()
        if row == roles.loss:
            return True
        if row not in seen and not roles.is_backward(row):
            seen.add(row)
            waiting += roles.consumers(row)
    return False


def _moved(roles: Roles, row: int, user: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of a node's output after an op that transposes it, copies it or drops some; else none."""
    op_type, others = roles.graph.op_type[user], [each for each, _, _ in roles.inputs(user) if each != row]
    if op_type == "Transpose":
        order = _integers(roles, (others[-1], 0)) if others else None
        known = order is not None and sorted(order.tolist()) == sorted(axes)
        return tuple(axes[axis] for axis in order.tolist()) if known and order is not None else ()
    is_drop = op_type in SELECTS | {"Mul"} and not any(_is_from(roles, each, "weight") for each in others)
    return axes if is_drop or op_type in ("Identity", "Cast") else ()


def _captured_shape(view: RunView, roles: Roles, place: Slot) -> Shape:
    """The shape of a tensor as first captured; else as recorded in the graph."""
    tensor = captured_tensor(view, roles, place, exactly=True)
    rows, catalog = view.rows([tensor] if tensor else []), view.run.catalog
    if not len(rows):
        return shape_of(roles, place) or ()
    return tuple(catalog.shapes.values[int(catalog.column("shape", rows.rows[:1])[0])])


def _contracted(roles: Roles, row: int, position: int, rank: int) -> int | None:
    """The axis of an operand that a product sums over; None for several, and if unknown."""
    attributes = roles.attributes(row)
    if roles.graph.op_type[row] != "Einsum":
        name = ("adj_x", "adj_y")[position] if "adj_x" in attributes else f"transpose_{'ab'[position]}"
        return rank - 2 + (is_true(attributes, name) == (position == 1))
    operands, _, result = attributes.get("equation", "").replace(" ", "").partition("->")
    letters = operands.split(",")[position : position + 1]
    if not letters or "." in letters[0]:
        return None
    summed = [axis for axis, letter in enumerate(letters[0]) if letter not in result]
    return summed[0] if len(summed) == 1 else None


def _integers(
    roles: Roles, place: Slot, deep: int = 0, known_rows: dict[int, Array | None] | None = None
) -> Array | None:
    """The whole numbers that a node computes from constants, such as the permutation of a transpose; None if
    unknown, or if they are too many."""
    known_rows = {} if known_rows is None else known_rows
    row = place[0]
    if row not in known_rows:
        known_rows[row] = None
        found = _computed(roles, row, deep, known_rows)
        known_rows[row] = None if found is None or found.size > _MAX_RANK else found
    return known_rows[row]


def _computed(roles: Roles, row: int, deep: int, known_rows: dict[int, Array | None]) -> Array | None:
    op_type = roles.graph.op_type[row]
    if op_type == "Const":
        found = nested_list(constant_text(roles.attributes(row)) or "")
        return None if found is None else np.array(found, np.int64)
    sources = sources_of(roles, row) if deep < _DEEP else []
    parts = [_integers(roles, source, deep + 1, known_rows) for source in sources]
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    if op_type in _ARITHMETIC:
        return np.asarray(_ARITHMETIC[op_type](*known))
    if op_type == "Range":
        return np.array(range(*(int(part) for part in known))[: _MAX_RANK + 1], np.int64)
    if op_type in ("Pack", "ConcatV2"):
        return np.concatenate([part.reshape(-1) for part in known[: -1 if op_type == "ConcatV2" else None]])
    return None


def _is_similarity(roles: Roles, place: Slot) -> bool:
    """Whether a tensor is a product of two others than weights, or that scaled, masked or transposed."""
    row = source_of(roles, place)[0]
    for _ in range(_DEEP):
        if roles.graph.op_type[row] not in _SCALINGS | _MASKINGS | {"Transpose"}:
            break
        scaled = [source for source, _ in sources_of(roles, row) if roles.reached[source]]
        if len(scaled) != 1:
            break
        row = scaled[0]
    weighs = any(roles.kind.get(source) == "weight" for source, _ in sources_of(roles, row))
    return roles.graph.op_type[row] in MATRIX_PRODUCTS and not weighs


def _is_batch(roles: Roles, extent: int | None) -> bool:
    """Whether the inputs of the step have this first dimension."""
    inputs = [shape_of(roles, (row, 0)) for row in roles.of_kind("input")]
    return extent is None or any(shape and shape[0] == extent for shape in inputs)


@rule(
    "MaskSign",
    "a mask that adds large positive numbers to the scores of a softmax",
    title="Mask with the wrong sign",
    severity="high",
    source="tensortap: the scores before and after the mask, and the precision of their dtype",
    help="Add a large negative number where the mask hides an element, and 0 elsewhere.",
    next_look="Compare the scores before and after the mask.",
)
def mask_sign(view: RunView, limits: Limits) -> Iterable[Hit]:
    """Where the sum is so large that rounding removes the scores."""
    del limits
    for roles in trained_graphs(view):
        for row in forward_rows(roles, _SOFTMAXES.__contains__):
            masked = next(iter(sources_of(roles, row)), (row, 0))
            if roles.graph.op_type[masked[0]] == "Transpose":
                masked = sources_of(roles, masked[0])[0]
            scores = [place for place in sources_of(roles, masked[0]) if roles.reached[place[0]]]
            if roles.graph.op_type[masked[0]] not in _MASKINGS or len(scores) != 1:
                continue
            before, after = (captured_tensor(view, roles, at, exactly=True) for at in (scores[0], masked))
            if before is not None and after is not None:
                yield from _lost_scores(view, before, after)


def _lost_scores(view: RunView, before: TensorRole, after: TensorRole) -> Iterator[Hit]:
    rows, others = _in_pairs(view.rows([after]), view.rows([before]))
    if not len(rows):
        return
    codes, dtypes = view.dtypes(rows)
    bits = np.array([float_limits(each).nmant if is_floating(each) else 52 for each in dtypes])[codes]
    highest, size = rows["max"], others["abs_max"]
    lost = np.isfinite(highest) & (size > 0) & (highest * 2.0**-bits > size)
    if np.count_nonzero(lost) >= max(1, MOSTLY * len(rows)):
        worst = int(np.argmax(np.where(lost, highest, 0)))
        text = (
            f"{after.name} reaches {number_text(highest[worst])}, where the scores before it "
            f"({before.name}) are at most {number_text(size[worst])}: the softmax chooses the elements that "
            "the mask marks, and rounding removes their scores."
        )
        evidence = Evidence(int(rows.step[worst]), "largest masked score", highest[worst], size[worst])
        yield Hit.at(np.unique(rows.step[lost]), len(rows.steps), after, text, evidence)


def _in_pairs(rows: SnapshotRows, others: SnapshotRows) -> tuple[SnapshotRows, SnapshotRows]:
    """The rows of two tensors that were captured at the same moment: any may have been dropped."""
    left, right = (np.rec.fromarrays([each.step, each["visit"], each["worker"]]) for each in (rows, others))
    _, here, there = np.intersect1d(left, right, return_indices=True)
    return rows.part(here), others.part(there)


@rule(
    "BroadcastLoss",
    "a vector and a column of data, such as targets and outputs, so that the result broadcasts",
    title="Broadcast in the loss",
    severity="high",
    source="tensortap: the shapes of the targets, of the output and of their difference",
    help="Give both the same shape, e.g. with tf.squeeze(outputs, -1) or targets[:, None].",
    next_look="Check the shapes of the two inputs of this op.",
)
def broadcast_loss(view: RunView, limits: Limits) -> Iterable[Hit]:
    del limits
    for roles in trained_graphs(view):
        for row in forward_rows(roles, (_DIFFERENCES | _COMBINING).__contains__):
            if roles.graph.shape[row].count("×") != 1:  # saves parsing the shapes of the inputs
                continue
            places = [(source, slot) for source, slot, position in roles.inputs(row) if position >= 0]
            shapes = [shape_of(roles, place) for place in places]
            if len(places) != 2 or not _is_outer(*shapes):
                continue
            is_difference = roles.graph.op_type[row] in _DIFFERENCES
            for output, target in (places, places[::-1]):
                is_target = _is_given(roles, target)
                is_target &= is_difference or not any(_is_reshaped(roles, place) for place in places)
                # A parameter may be as long as a batch by chance.
                if is_target and roles.reached[output[0]] and _is_from(roles, output[0], "input"):
                    of = dict(zip(places, map(_text, shapes), strict=True))
                    names, result = roles.graph.names, _text(shape_of(roles, (row, 0)))
                    text = (
                        f"{names[row]} compares targets of shape {of[target]} with outputs of shape "
                        f"{of[output]}: the difference has shape {result}, every output minus every target."
                    )
                    if not is_difference:
                        text = (
                            f"{names[row]} combines {names[target[0]]}, of shape {of[target]}, with "
                            f"{names[output[0]]}, of shape {of[output]}: the result has shape {result}, "
                            "every number of a sample with those of all samples."
                        )
                    yield from _at(view, roles, row, text, Evidence(0, "rank of the result", 2.0, 1.0))
                    break


def _is_given(roles: Roles, place: Slot) -> bool:
    """Whether an operand is an input, or a constant less an input (1 - done)."""
    row = source_of(roles, place)[0]
    if roles.graph.op_type[row] == "Sub":
        others = [each for each, _ in sources_of(roles, row) if roles.graph.op_type[each] != "Const"]
        row = others[0] if len(others) == 1 else row
    return roles.kind.get(row) == "input"


def _is_reshaped(roles: Roles, place: Slot) -> bool:
    """Whether the program gave an operand its shape, as `x[:, None]` does: then it broadcasts on purpose."""
    return roles.graph.op_type[place[0]] in ("ExpandDims", "Reshape", "StridedSlice", "Transpose")


def _is_from(roles: Roles, row: int, kind: str) -> bool:
    """Whether a node computes its numbers from inputs or weights: not from their shapes, nor draws them (the
    state of a seed is a variable, too)."""
    waiting, seen = [row], set[int]()
    while waiting and len(seen) < _MOST_NODES:
        row = waiting.pop()
        if roles.kind.get(row) == kind:
            return True
        op_type = roles.graph.op_type[row]
        if row not in seen and op_type not in SHAPES and "Random" not in op_type:
            seen.add(row)
            waiting += [source for source, _, _ in roles.inputs(row)]
    return False


def _is_outer(one: Shape | None, other: Shape | None) -> bool:
    """Whether two operands are a vector [n] and a column [n, 1]: then each meets each."""
    if one is None or other is None:
        return False
    vector, column = sorted((one, other), key=len)
    return len(vector) == 1 and len(column) == 2 and column == (vector[0], 1) and vector[0] != 1


def _at(view: RunView, roles: Roles, row: int, text: str, evidence: Evidence) -> Iterator[Hit]:
    tensor = captured_tensor(view, roles, (row, 0))
    steps = view.rows([tensor] if tensor else []).steps
    if tensor is not None and len(steps):
        evidence = replace(evidence, step=int(steps[0]))
        yield replace(Hit.at(steps, len(steps), tensor, text, evidence), source_node=roles.graph.names[row])


def _text(shape: Shape | None) -> str:
    extents = ["batch" if extent is None else f"{extent:,}" for extent in shape or ()]
    return "×".join(extents)
