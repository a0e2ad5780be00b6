"""Rules of the ledger: gradients that are exactly zero, updates lost to rounding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tensortap.core.text import counted
from tensortap.index.query.node_detail import FrameDetail
from tensortap.index.query.source_lines import source_lines

from ...dead_layers.ledger import UNUSED, LedgerEntry, dead_layer_ledger
from ...model_graph.gradient_cuts import STOPS
from ...model_graph.roles import TensorRole
from ...run_view.hit_counts import snapshot_counts_of
from ...run_view.run_view import RunView
from ...run_view.trained_variables import changes, is_ambiguous, is_trained_by_another_graph
from ..finding import Evidence, Hit, Severity
from ..rule import MOSTLY, Limits, rule
from .losses import is_fitted

_WHOLLY = 0.99  # of the updates: then the layer does not learn
_LASTING = 0.1  # share of the captured steps from which a gradient that has been 0 ever since is dead
_TURNS = 2  # times as long as any stretch of zeros before: longer than it takes until a part is used again


@rule(
    "DeadGradient",
    "gradients that are exactly zero, and where the zeros start",
    title="Zero gradient",
    thresholds={"steps_share": MOSTLY, "last_steps": 5},
    severity="high",
    source="tensortap: exact zeros, followed back through the graph",
    help="Find where the zeros start: a dead or saturated activation, a mask, or a dtype that is too narrow.",
    next_look="Check the tensor where the zeros start, and its inputs.",
)
def dead_gradient(view: RunView, limits: Limits) -> Iterable[Hit]:
    for entry, tensor in _entries(view):
        often = entry.zero_steps >= limits["steps_share"] * entry.steps
        if entry.zero_steps and _is_dead(entry, limits):
            yield _dead(view, entry, tensor)
        elif entry.zero_steps and often and tensor.is_kernel:
            yield _at_times(view, entry, tensor)
    yield from _cut_off(view)


def _is_dead(entry: LedgerEntry, limits: Limits) -> bool:
    """Whether a gradient is 0 at all captured steps, or without a break from one step on. That stretch must
    be longer than the pauses of a part that only some batches use (an expert, a task in turn)."""
    if entry.dead_steps == entry.steps:
        return True
    enough = max(limits["last_steps"], entry.steps * _LASTING)
    enough = min(enough, limits["steps_share"] * entry.steps)
    return entry.dead_steps >= enough and entry.dead_steps > _TURNS * entry.passing_steps


def _dead(view: RunView, entry: LedgerEntry, tensor: TensorRole) -> Hit:
    first = entry.dead_since or 0
    since = f" since step {first}" if entry.dead_steps < entry.steps else ""
    text = f"The gradient of {entry.variable} is exactly 0{since}: {entry.why}."
    evidence = [Evidence(first, "share of exact zeros", 1.0, 1.0)]
    learnt = not tensor.is_kernel or is_fitted(view, tensor.graph, first)
    severity: Severity | None = "low" if learnt else None
    at = (first, snapshot_counts_of(view).last(tensor.code), entry.dead_steps, entry.steps)
    hit = Hit(tensor.code, text, evidence, *at, severity)
    return _advised(hit, entry) if entry.cut_by else hit


def _at_times(view: RunView, entry: LedgerEntry, tensor: TensorRole) -> Hit:
    """A gradient that is 0 at most captured steps, but recovers: only some batches train it."""
    first, share = entry.first_zero_step or 0, entry.zero_steps / entry.steps
    seen = f"is exactly 0 at {entry.zero_steps:,} of {counted(entry.steps, 'captured step')}"
    more = "but recovers" if entry.zero_steps < entry.steps else "but not in every iteration"
    text = f"The gradient of {entry.variable} {seen}, {more}: {entry.why}."
    evidence = [Evidence(first, "share of all-zero steps", share, 1.0)]
    at = (first, snapshot_counts_of(view).last(tensor.code), entry.zero_steps, entry.steps)
    return Hit(tensor.code, text, evidence, *at, "low", help=_BY_TURNS, next_look=_WHICH_STEPS)


_BY_TURNS = (
    "This is fine if only some batches use the layer (mixture of experts, alternating tasks). "
    "Otherwise, find where the zeros start."
)
_WHICH_STEPS = "Check the history of the gradient: at which steps, and for which batches, is it 0?"


_OTHER_OP = (
    "Use an op that has a gradient (softmax instead of argmax, a straight-through estimator). If "
    "this is intended, set trainable=False."
)
_NO_STOP = "Remove the stop_gradient, or set trainable=False."
_UNUSED_HELP = "Use the layer in the loss, or set trainable=False."


def _cut_off(view: RunView) -> Iterator[Hit]:
    """Variables whose gradient an op without gradient blocks, and variables that the loss does not depend on
    although their gradient is requested. Low severity if the dump does not show which variables are trained:
    `stop_gradient` without a requested gradient is intended, e.g. for a teacher."""
    weights = {(tensor.graph, tensor.name): tensor for tensor in view.of_kind("weight")}
    for entry in _ledger(view):
        tensor = weights.get((entry.graph, entry.tensor))
        if tensor is None or not (entry.cut_by or entry.why == UNUSED):
            continue
        asked = bool(view.roles(entry.graph).trainable.get(entry.variable)) and not is_ambiguous(view, tensor)
        if (entry.cut_by == STOPS and not asked) or is_trained_by_another_graph(view, tensor):
            continue
        steps = view.rows([tensor]).steps
        if len(steps):
            note = "The step requests its gradient." if asked else "This is fine if it is frozen."
            if asked and changes(view, tensor):  # a target network, a codebook of moving averages
                asked, note = False, "It still changes, so something else updates it."
            text = f"{entry.variable} gets no gradient: {entry.why}. {note}"
            evidence = Evidence(int(steps[0]), "steps with a gradient", 0.0)
            meant = not entry.cut_by  # perhaps: a head that is not used yet
            severity: Severity = ("medium" if meant else "high") if asked and tensor.is_kernel else "low"
            hit = Hit.at(steps, len(steps), tensor, text, evidence, severity=severity)
            yield _advised(hit, entry)


def _advised(hit: Hit, entry: LedgerEntry) -> Hit:
    """Adds advice on a variable without a gradient, and where to look."""
    advice = {"": _UNUSED_HELP, STOPS: _NO_STOP}.get(entry.cut_by, _OTHER_OP)
    if not entry.cut_by:
        return replace(hit, help=advice, next_look="Check where the output of the layer is used.")
    node = entry.begins.rpartition(":")[0]
    look = "Check the node that blocks the gradient."
    return replace(hit, help=advice, next_look=look, source_node=node)


@rule(
    "UnusedLayer",
    "trainable layers that the step never calls",
    severity="high",
    source="tensortap: variables that nothing reads, although the step requests their gradients",
    help="Call the layer in the model, or remove it.",
    next_look="Check the line that creates the layer, and call() of the model.",
)
def unused_layer(view: RunView, limits: Limits) -> Iterable[Hit]:
    del limits
    graphs = {tensor.graph for tensor in view.tensors}
    for loss in view.of_kind("loss"):
        read = {path for graph in graphs for path in view.roles(graph).reads}
        unread = {path: at for path, at in view.roles(loss.graph).unread.items() if path not in read}
        layers: dict[str, list[str]] = {}
        for path in unread:
            layers.setdefault(path.rpartition("/")[0], []).append(path)
        steps = view.rows([loss]).steps
        for layer, paths in layers.items() if len(steps) else ():
            names = ", ".join(path.rpartition("/")[2] for path in paths)
            text = f"No step calls {layer}: its gradients are requested ({names}), but nothing reads it."
            if not layer:
                text = f"No step reads {names}, though its gradient is requested."
            evidence = Evidence(int(steps[0]), "variables that nothing reads", float(len(paths)))
            frame = _frame_of(view, loss.graph, unread[paths[0]])
            yield replace(Hit.at(steps, len(steps), loss, text, evidence), frame=frame)


def _frame_of(view: RunView, graph: str, line: tuple[str, int, str] | None) -> FrameDetail | None:
    if line is None:
        return None
    file, number, function = line
    texts = source_lines(view.run.graph(graph).about.get("sources", {}).get(file))
    text = texts[number - 1].strip() if 0 < number <= len(texts) else None
    return FrameDetail(file, number, function, text)


def _ledger(view: RunView) -> list[LedgerEntry]:
    return view.cached("ledger", lambda: dead_layer_ledger(view.run, view, view.advance))


@rule(
    "AbsorbedUpdate",
    "updates lost to rounding: w + update == w",
    title="Updates lost to rounding",
    thresholds={"share": 0.5},
    source="tensortap: comparison of stored values of consecutive steps",
    help="Keep a float32 copy of the weights (mixed precision), or raise the learning rate.",
    next_look="Compare the update with the weights, and check the dtype of the weights.",
)
def absorbed_update(view: RunView, limits: Limits) -> Iterable[Hit]:
    weights = {(tensor.graph, tensor.variable): tensor for tensor in view.of_kind("weight")}
    for entry, tensor in _entries(view):
        if entry.absorbed is not None and entry.absorbed_at and entry.absorbed > limits["share"]:
            weight = weights.get((entry.graph, entry.variable))
            dtype = _dtype(view, weight) if weight else ""
            text = f"{entry.absorbed:.0%} of the updates of {entry.variable} have no effect"
            text += f": w + update == w{f' in {dtype}' if dtype else ''}."
            first, last = entry.absorbed_at[0], entry.absorbed_at[-1]
            evidence = [Evidence(last, "share of absorbed updates", entry.absorbed, limits["share"])]
            at = (first, last, len(entry.absorbed_at), entry.absorbed_steps)
            whole = entry.absorbed >= _WHOLLY and tensor.is_kernel
            severity: Severity | None = "high" if whole else None
            kept = "pairs of steps with stored values"
            if entry.absorbed_steps < entry.absorbed_of:
                kept += f", sampled evenly from {entry.absorbed_of:,}"
            advice = _TINY if dtype in ("float32", "float64") else ""
            yield Hit(tensor.code, text, evidence, *at, severity=severity, looked_at=kept, help=advice)


_TINY = "Raise the learning rate, or the limit of clipnorm or clipvalue: such updates are far too small."


def _dtype(view: RunView, tensor: TensorRole) -> str:
    codes, names = view.dtypes(view.rows([tensor]))
    return names[int(codes[-1])]


def _entries(view: RunView) -> Iterator[tuple[LedgerEntry, TensorRole]]:
    """The ledger's entries of variables with a gradient, each with that."""
    gradients = {(tensor.graph, tensor.name): tensor for tensor in view.of_kind("gradient")}
    for entry in _ledger(view):
        tensor = gradients.get((entry.graph, entry.tensor))
        if tensor is not None:
            yield entry, tensor
