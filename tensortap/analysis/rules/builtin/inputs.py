"""Rules about the data: normalization, balance of classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tensortap.core.dtypes import Array, is_floating
from tensortap.core.text import number_text

from ...model_graph.call_dataflow import dataflow_of
from ...model_graph.op_types import BATCH_NORMS, CALLS, CONVOLUTIONS, MATRIX_PRODUCTS, ops
from ...model_graph.roles import Roles, TensorRole
from ...run_view.run_view import RunView
from ...run_view.snapshot_rows import SnapshotRows, distinct, stored_values
from ..finding import Evidence, Hit, Severity
from ..reinforcement import is_policy_gradient, is_reward, trains_a_policy
from ..rule import Limits, rule
from .loss_inputs import is_class_label

_LOOKED_INTO = 50  # batches of labels that are counted
_MAX_BYTES = 1 << 20
_MOST_CLASSES = 10_000
_COPYING = ("_Arg", "Identity", "Cast", "Reshape", "ExpandDims", "OptionalGetValue")
_FOLLOWED = 2000  # nodes
_NORMALIZING = BATCH_NORMS | ops("Cos Sin Tanh Sigmoid Softmax")
# Products with weights, and what may hold them.
_WEIGHING = MATRIX_PRODUCTS | CONVOLUTIONS | CALLS
# They compute no other numbers.
_SELECTING = ops(
    "Transpose Pad PadV2 MirrorPad Slice StridedSlice Split SplitV Unpack Pack ConcatV2 GatherV2 Squeeze "
    "ReverseV2 Roll ResizeBilinear ResizeNearestNeighbor TensorListFromTensor SpaceToBatchND EnsureShape "
    "StopGradient Snapshot"
)


def feeds_layer(view: RunView, tensor: TensorRole) -> bool:
    """Whether an input feeds a layer, rather than being a target or weight of the loss."""
    roles = view.roles(tensor.graph)
    if not any(roles.graph.layer.values):
        return bool(weight_inputs(view, tensor).tensors)
    waiting, seen = list(roles.consumers(tensor.row, tensor.slot)), set[int]()
    while waiting and len(seen) < 1000:
        row = waiting.pop()
        if row in seen or roles.is_backward(row):
            continue
        seen.add(row)
        if roles.graph.layer[row]:
            return True
        waiting += roles.consumers(row, None) if roles.graph.op_type[row] in _COPYING else []
    return False


def is_number(view: RunView, tensor: TensorRole, rows: SnapshotRows) -> bool:
    """Whether an input is a measurement: floating point, or integers (pixels) that are cast to floating point
    first. Tokens, which index rows of a table, are not."""
    dtypes, names = view.dtypes(rows)
    if all(is_floating(names[code]) for code in set(dtypes.tolist())):
        return True
    roles = view.roles(tensor.graph)
    waiting, seen = list(roles.consumers(tensor.row, tensor.slot)), set[int]()
    while waiting and len(seen) < 1000:
        row = waiting.pop()
        if row in seen:
            continue
        seen.add(row)
        texts = roles.graph.slot_texts(row)
        if roles.graph.op_type[row] == "Cast" and texts and is_floating(texts[0][0]):
            return True
        waiting += roles.consumers(row) if roles.graph.op_type[row] in _COPYING else []
    return False


@rule(
    "InputNotNormalized",
    "inputs that are not centred, are far outside -1 … 1, tiny, or all equal",
    title="Input not normalized",
    thresholds={"abs_mean": 0.2, "range": 1.0, "far": 10.0, "tiny": 0.004, "samples": 50},
    source="abs_mean: SageMaker Debugger (over 500 samples); range: UMLAUT; far, samples: tensortap; tiny: "
    "pixels divided by 255 twice reach 1/255",
    help="Use keras.layers.Normalization or (x - mean) / std; divide pixels by 255.",
    next_look="Check the histogram of the input.",
)
def input_not_normalized(view: RunView, limits: Limits) -> Iterable[Hit]:
    yield from _constants(view, limits["samples"])
    features = [
        fed
        for fed in view.of_kind("input")
        if feeds_layer(view, fed) and is_number(view, fed, view.rows([fed], floats=False))
    ]
    for fed in features:
        tensor, is_sure = _judged(view, fed)
        rows = view.rows([tensor], floats=False)
        if not len(rows):
            continue
        shapes = [
            view.run.catalog.shapes.values[code] for code in view.run.catalog.column("shape", rows.rows)
        ]
        samples = sum(shape[0] if shape else 1 for shape in shapes)
        finite = rows.finite
        if samples < limits["samples"] or not finite.sum():
            continue  # too few to say anything about their mean
        mean = float(np.nansum(rows["mean"] * finite) / finite.sum())
        furthest = int(np.nanargmax(rows["abs_max"]))
        extreme = float(rows["abs_max"][furthest])
        shifted, wide = abs(mean) > limits["abs_mean"], extreme > limits["range"]
        far = wide and extreme > limits["far"] * limits["range"]
        tiny = 0 < extreme < limits["tiny"]
        if not (shifted or far or tiny) or _is_constant(rows):
            continue
        alone = sum(each.graph == fed.graph for each in features) == 1
        severity: Severity = "high" if is_sure and ((shifted and far) or (tiny and alone)) else "low"
        text = (
            f"{tensor.name} has mean {number_text(mean)} over {samples:,} samples "
            f"and reaches {'only ' if tiny else ''}{number_text(extreme)}."
        )
        hit = Hit.at(
            *(rows.steps, len(rows.steps), tensor, text),
            Evidence(int(rows.step[0]), "mean", mean, limits["abs_mean"]),
            Evidence(int(rows.step[furthest]), "max |x|", extreme, limits["tiny" if tiny else "range"]),
            severity=severity,
        )
        yield replace(hit, help=_TINY) if tiny else hit


def _constants(view: RunView, least: float) -> Iterable[Hit]:
    """Graphs whose features are one number everywhere. (Zeros have their own rule.)"""
    for graph in sorted({tensor.graph for tensor in view.of_kind("gradient")}):
        features = [fed for fed in view.of_kind("input") if fed.graph == graph and feeds_layer(view, fed)]
        found = [(fed, view.rows([fed], floats=False)) for fed in features]
        if not found or not all(_is_constant(rows) for _, rows in found):
            continue
        tensor, rows = found[0]
        shapes = view.run.catalog.shapes.values
        sizes = [shapes[code][:1] or (1,) for code in view.run.catalog.column("shape", rows.rows)]
        samples, value = sum(size[0] for size in sizes), float(rows["max"][0])
        if samples >= least and min(sizes)[0] > 1 and value and len(rows.steps) > 1:
            text = f"{tensor.name} is {number_text(value)} everywhere, in all {samples:,} samples."
            evidence = Evidence(int(rows.step[0]), "max - min", 0.0)
            hit = Hit.at(rows.steps, len(rows.steps), tensor, text, evidence, severity="high")
            yield replace(hit, help=_NO_INFORMATION)


def _is_constant(rows: SnapshotRows) -> bool:
    return len(rows) > 0 and bool(
        np.all(rows["min"] == rows["max"][0]) and np.all(rows["max"] == rows["max"][0])
    )


_NO_INFORMATION = (
    "Nothing can be learned from it. Check the input pipeline: decoding, clipping, casts, and the vocabulary."
)
_TINY = "Scale it to about -1 … 1. Pixels may have been divided by 255 twice, e.g. by a Rescaling layer, too."


def _judged(view: RunView, fed: TensorRole) -> tuple[TensorRole, bool]:
    """The tensor of an input that the first weights read, if captured: a model may scale its inputs
    itself."""
    taken = weight_inputs(view, fed)
    if taken.as_it_is:
        return fed, True
    wanted = set(taken.tensors)
    scaled = view.where(lambda t: t.graph == fed.graph and (t.row, t.slot) in wanted)
    return (scaled[0], True) if scaled else (fed, False)


@rule(
    "ClassImbalance",
    "classes with very different frequencies",
    thresholds={"ratio": 10.0, "samples": 100},
    source="ratio: SageMaker Debugger; samples: tensortap",
    help="Use class_weight, resampling, or a balancing loss such as focal loss; evaluate recall per class.",
    next_look="Check the values of the labels.",
)
def class_imbalance(view: RunView, limits: Limits) -> Iterable[Hit]:
    for tensor in view.of_kind("input"):
        rows, roles = view.rows([tensor], floats=False), view.roles(tensor.graph)
        if not len(rows) or feeds_layer(view, tensor) or not is_class_label(roles, tensor):
            continue
        if is_policy_gradient(view, roles):
            continue  # labels are the actions that were drawn
        counts, steps = _count_classes(view, rows)
        if len(counts) < 2 or counts.sum() < limits["samples"]:
            continue
        ratio = float(counts.max() / counts.min())
        if ratio > limits["ratio"]:
            times = number_text(ratio)
            text = f"The most frequent label of {tensor.name} is {times} times as frequent as the rarest."
            evidence = Evidence(int(steps[-1]), "most/least frequent", ratio, limits["ratio"])
            looked_at = f"checked values, of {int(np.count_nonzero(rows.kept)):,} stored"
            yield Hit.at(steps, len(steps), tensor, text, evidence, looked_at=looked_at)


def _count_classes(view: RunView, rows: SnapshotRows) -> tuple[Array, Array]:
    """How often each integer occurs in the stored labels, if at all, and at which steps they were stored.
    One-hot rows count as their class."""
    found, steps = [], []
    for snapshot, value in stored_values(view.run, rows.rows[rows.kept][:_LOOKED_INTO], _MAX_BYTES):
        if (value.ndim == 1 or value.shape[1:] == (1,)) and _names_classes(value):
            found.append(value.reshape(-1))
        elif value.ndim == 2 and value.dtype.kind in "fiu" and np.all(value.sum(axis=1) == 1):
            found.append(value.argmax(axis=1))
        else:
            continue
        steps.append(snapshot.step)
    labels = np.concatenate(found) if found else np.zeros(0, np.int64)
    labels = labels[(labels >= 0) & (labels < _MOST_CLASSES)].astype(np.int64)
    counts = np.bincount(labels)
    return counts[counts > 0], distinct(np.array(steps, np.int64))


@rule(
    "LabelInInput",
    "a feature that equals the label",
    thresholds={"correlation": 0.9999, "samples": 64},
    severity="high",
    source="tensortap: correlation of each feature with the labels, in stored values",
    help="Remove this feature: it will not be available at inference.",
    next_look="Compare this column of the input with the labels.",
)
def label_in_input(view: RunView, limits: Limits) -> Iterable[Hit]:
    """Not of rewards and actions: a reward may be a column of the state, an action follows from it."""
    if trains_a_policy(view):
        return
    for graph in sorted({tensor.graph for tensor in view.of_kind("gradient")}):
        fed = [tensor for tensor in view.of_kind("input") if tensor.graph == graph]
        features = [tensor for tensor in fed if feeds_layer(view, tensor)]
        roles = view.roles(graph)
        labels = [tensor for tensor in fed if tensor not in features and not is_reward(roles, tensor)]
        alone = len(features) == 1
        values = {label.code: _values_by_step(view, label) for label in labels}
        measured = sum(map(_is_measured, values.values()))
        for feature in features:
            for label in labels:
                several = measured > 1 and _is_measured(values[label.code])
                if not several and _predicts(roles, feature, label):
                    yield from _leaked(view, feature, label, values[label.code], limits, alone=alone)


def _is_measured(label: Mapping[int, Array]) -> bool:
    """Whether a label is not the number of a class. Of several such targets some may be inputs, as of an
    autoencoder."""
    return any(not np.all(value % 1 == 0) for value in label.values())


def _predicts(roles: Roles, feature: TensorRole, label: TensorRole) -> bool:
    """Whether what the loss compares a label with is computed from a feature."""
    used, waiting = set[int](), roles.consumers(feature.row, feature.slot)
    while waiting:
        row = waiting.pop()
        if row not in used and not roles.is_backward(row):
            used.add(row)
            waiting += roles.consumers(row)
    seen, waiting = set[int](), roles.consumers(label.row, label.slot)
    while waiting:
        row = waiting.pop()
        if row in seen or roles.is_backward(row):
            continue
        seen.add(row)
        if not roles.reached[row]:
            waiting += roles.consumers(row)
        elif any(source in used and roles.reached[source] for source, _, _ in roles.inputs(row)):
            return True
    return False


def _leaked(
    view: RunView,
    feature: TensorRole,
    label: TensorRole,
    y: Mapping[int, Array],
    limits: Limits,
    *,
    alone: bool,
) -> Iterable[Hit]:
    """`y`: the stored labels by step. `alone`: the model has no other input."""
    x = _values_by_step(view, feature)
    steps = [step for step in x if step in y and len(x[step]) == len(y[step])]
    if steps and all(_are_same_tokens(x[step], y[step]) for step in steps):
        text = (
            f"The labels {label.name} are the tokens {feature.name} themselves, at all "
            f"{x[steps[0]].shape[1]} positions. To predict the next token, shift them by one."
        )
        evidence = Evidence(steps[0], "share of equal tokens", 1.0, 1.0)
        hit = Hit.at(np.array(steps), len(steps), feature, text, evidence, severity="medium")
        yield replace(hit, help=_SHIFT, looked_at="stored values")
        return
    if not steps or x[steps[0]].ndim != 2:
        return  # pixels and tokens are not individually chosen features
    if alone and x[steps[0]].shape[1] == 1:
        return  # the only number to predict from, as of a line that is fitted
    values = np.concatenate([x[step] for step in steps]).astype(np.float64)
    classes = np.concatenate([y[step].reshape(len(y[step]), -1) for step in steps]).astype(np.float64)
    if len(values) < limits["samples"] or not (np.isfinite(values).all() and np.isfinite(classes).all()):
        return
    if classes.shape[1] > 1 and not _is_one_hot(classes):
        return  # an autoencoder, or the next value of a series: several targets that are measured
    if classes.shape[1] == 1 and len(kinds := np.unique(classes)) <= _MOST_SHOWN:
        classes = np.concatenate([classes, (classes == kinds).astype(np.float64)], axis=1)
    if classes.shape[1] > _MOST_SHOWN or values.shape[1] > _MOST_CLASSES:
        return
    often = _most_frequent(classes) <= len(classes) - _FEWEST_OTHERS
    found = np.abs(_correlation(values, classes)) * often
    strength = found.max(axis=1)
    column = int(np.argmax(strength))
    if strength[column] >= limits["correlation"]:
        text = (
            f"Column {column} of {feature.name} predicts the label {label.name}: their correlation is"
            f" {number_text(strength[column])} over {len(values):,} samples."
        )
        evidence = Evidence(steps[0], "correlation", float(strength[column]), limits["correlation"])
        yield Hit.at(np.array(steps), len(steps), feature, text, evidence, looked_at="stored values")


_SHIFT = "Use tokens[:, :-1] as inputs and tokens[:, 1:] as labels. For an autoencoder, no fix is needed."


def _are_same_tokens(x: Array, y: Array) -> bool:
    sequences = x.ndim == 2 and x.shape[1] > 1 and x.size == y.size
    return sequences and {x.dtype.kind, y.dtype.kind} <= set("iu") and np.array_equal(x.ravel(), y.ravel())


_MOST_SHOWN = 100  # classes; each is compared with each feature
_FEWEST_OTHERS = 10  # samples with another label than the most frequent one: fewer may agree by chance


def _most_frequent(classes: Array) -> Array:
    """How often the most frequent number of each column occurs."""
    return np.array([np.unique(column, return_counts=True)[1].max() for column in classes.T])


def _is_one_hot(classes: Array) -> bool:
    return bool(np.isin(classes, (0, 1)).all() and (classes.sum(axis=1) == 1).all())


def _values_by_step(view: RunView, tensor: TensorRole) -> dict[int, Array]:
    rows = view.rows([tensor], floats=False)
    found = stored_values(view.run, rows.rows[rows.kept][:_LOOKED_INTO], _MAX_BYTES)
    return {snapshot.step: value for snapshot, value in found if value.ndim and value.dtype.kind in "fiub"}


def _correlation(features: Array, labels: Array) -> Array:
    """Pearson's coefficients, features by labels; 0 where one of the two is constant."""
    a, b = features - features.mean(axis=0), labels - labels.mean(axis=0)
    scale = np.sqrt((a**2).sum(axis=0))[:, None] * np.sqrt((b**2).sum(axis=0))
    found: Array = np.divide(a.T @ b, scale, out=np.zeros_like(scale), where=scale > 1e-12)
    return found


def _names_classes(value: Array) -> bool:
    """Whether numbers name classes: whole ones by their dtype, or 0 and 1 in any (binary cross entropy takes
    floats). Other whole floats may as well be measured."""
    return value.dtype.kind in "iub" or bool(np.all((value == 0) | (value == 1)))


@dataclass(frozen=True, slots=True)
class WeightInputs:
    """`tensors`: (row, slot) of the inputs of the first products with weights, except those that an op
    bounded. `as_it_is`: whether some of them have the numbers of the input itself."""

    tensors: list[tuple[int, int]]
    as_it_is: bool


def weight_inputs(view: RunView, tensor: TensorRole) -> WeightInputs:
    """Follows an input forward. Empty for targets, which reach no weight."""
    roles = view.roles(tensor.graph)
    found, as_it_is = list[tuple[int, int]](), False
    waiting, seen = [(tensor.row, tensor.slot, True)], set[tuple[int, int]]()
    while waiting and len(seen) < _FOLLOWED:
        row, slot, same = waiting.pop(0)
        if (row, slot) in seen:
            continue
        seen.add((row, slot))
        for user in roles.consumers(row, slot):
            op_type = roles.graph.op_type[user]
            is_followed = user in dataflow_of(roles.graph).called  # the graph has what is called
            if roles.is_backward(user) or op_type in _NORMALIZING or is_followed:
                continue
            if op_type in _WEIGHING:
                found.append((row, slot))
                as_it_is = as_it_is or same
                continue
            kept = same and (op_type in _COPYING or op_type in _SELECTING)
            waiting += [(user, each, kept) for each in range(max(int(roles.graph.slots[user]), 1))]
    return WeightInputs(list(dict.fromkeys(found)), as_it_is)
