"""Which findings follow from which: causes come first, and are as bad as the worst that they explain.

What several rules or graphs would say of one tensor is said once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product

from ..model_graph.roles import TensorRole
from ..run_view.run_view import RunView
from .builtin.losses import explodes
from .finding import SEVERITIES, Finding, Hit, Severity
from .rule import MOSTLY
from .traces import FunctionTensor, codes_by_function, function_tensor

_ORIGINS = "ExplodingTensor"  # everything downstream is affected
_OF_TRAINING = (
    *("DeadRelu", "SaturatedActivation", "ExplodingGradient", "DeadGradient", "VanishingGradient"),
    *("UnchangedTensor", "WeightUpdateRatio", "LargeWeights", "LossNotDecreasing", "LargeLoss"),
)
# Rule -> what its findings lead to, causes before what follows from them.
_LEADS_TO: Mapping[str, tuple[str, ...]] = {
    "LossInputMismatch": _OF_TRAINING,
    "SoftmaxAxis": _OF_TRAINING,
    "MaskSign": _OF_TRAINING,
    "BroadcastLoss": _OF_TRAINING,
    "TargetOutOfRange": _OF_TRAINING,
    "NegatedLoss": (_ORIGINS, *_OF_TRAINING),
    "UnusedLayer": ("UnchangedTensor", "LossNotDecreasing"),
    "HighDropout": ("DeadGradient", "VanishingGradient", "LossNotDecreasing"),
    "LearningRate": (
        *(
            _ORIGINS,
            "AbsorbedUpdate",
            "DeadRelu",
            "SaturatedActivation",
            "ExplodingGradient",
            "UnchangedTensor",
        ),
        *("WeightUpdateRatio", "LargeWeights", "LossNotDecreasing", "LargeLoss"),
    ),
    "InputNotNormalized": (_ORIGINS, "DeadRelu", "SaturatedActivation", "LossNotDecreasing", "LargeLoss"),
    "PoorWeightInit": ("SaturatedActivation", "ExplodingGradient", "VanishingGradient"),
    "ShrinkingWeights": (*_OF_TRAINING, "AllZero"),
    "AllZero": ("DeadRelu", "DeadGradient", "LossNotDecreasing"),
    "ExplodingGradient": (
        *("DeadRelu", "SaturatedActivation", "Float16Overflow", "WeightUpdateRatio", "LossNotDecreasing"),
    ),
    "DeadRelu": ("DeadGradient", "VanishingGradient"),
    "SaturatedActivation": ("DeadGradient", "VanishingGradient"),
    "Float16Overflow": ("DeadGradient", "LossNotDecreasing"),
    "DeadGradient": ("AbsorbedUpdate", "UnchangedTensor", "LossNotDecreasing"),
    "AbsorbedUpdate": ("UnchangedTensor", "LossNotDecreasing"),
    "VanishingGradient": ("UnchangedTensor", "LossNotDecreasing"),
    "UnchangedTensor": ("LossNotDecreasing",),
    "WeightUpdateRatio": ("LargeWeights", "LossNotDecreasing"),
    "LargeWeights": ("LossNotDecreasing",),
    "LossNotDecreasing": ("LargeLoss",),
    "LargeLoss": (),
    _ORIGINS: (),
}
_RANKS = {name: rank for rank, name in enumerate(_LEADS_TO)}


def sort_key(view: RunView, findings: Sequence[Finding]) -> Callable[[Finding], tuple[object, ...]]:
    """The sort key of some findings of a run.

    Those that are not muted first; of these the worst, of equals origins of NaN and infinity (and what makes
    numbers grow, where they grew until then), then the newest, then in data flow order. What leads to others
    of its graph that are as bad is as new as these, and comes before them.
    """
    places = view.cached("places of tensors", lambda: _places(view))
    origins: dict[str, int] = {}  # graph -> the first step with NaN or infinity
    for finding in findings:
        if finding.rule == _ORIGINS and finding.severity == SEVERITIES[0] and not finding.muted:
            origins[finding.graph] = min(origins.get(finding.graph, finding.first_step), finding.first_step)
    grown = {graph for graph in origins if explodes(view, graph)}
    newest: dict[tuple[str, str, bool, str], int] = {}
    for finding in findings:
        key = _peers(finding, finding.rule)
        newest[key] = max(newest.get(key, finding.first_step), finding.first_step)

    def order(finding: Finding) -> tuple[object, ...]:
        behind = (newest.get(_peers(finding, rule), 0) for rule in _all_consequences(finding.rule))
        since = max((finding.first_step, *behind))
        severity = SEVERITIES.index(finding.severity)
        rank = _RANKS.get(finding.rule, 0)
        # Origins are in the order of the NaN report: of a loop, by iteration.
        place = ("", 0) if finding.rule == _ORIGINS else places[finding.graph, finding.tensor]
        origin = finding.rule == _ORIGINS or (
            _ORIGINS in _all_consequences(finding.rule)
            and finding.graph in grown
            and finding.first_step < origins[finding.graph]
        )
        return finding.muted, severity, not origin, -since, rank, -finding.first_step, place

    return order


def _places(view: RunView) -> dict[tuple[str, str], tuple[str, int]]:
    return {(tensor.graph, tensor.name): (tensor.graph, tensor.order) for tensor in view.tensors}


def _peers(finding: Finding, rule: str) -> tuple[str, str, bool, str]:
    """Findings of a rule that one cause could explain."""
    return finding.graph, finding.severity, finding.muted, rule


@cache
def _all_consequences(rule: str) -> frozenset[str]:
    """The rules whose findings follow from those of a rule, directly or through other rules."""
    direct = _LEADS_TO.get(rule, ())
    return frozenset(direct).union(*(_all_consequences(each) for each in direct))


def raise_severities(found: Sequence[tuple[Finding, Hit]], chosen: Collection[str]) -> list[Finding]:
    """The findings of some hits. Findings that explain one of high severity get high severity, too.

    Args:
        chosen: rules of which the user chose the severity.
    """
    worst = {(f.graph, f.rule) for f, _ in found if f.severity == "high" and not f.muted}
    return [
        replace(finding, severity="high")
        if finding.rule not in chosen and any((finding.graph, rule) in worst for rule in hit.explains)
        else finding
        for finding, hit in found
    ]


_Key = tuple[str, str, int]  # kind, path, number of the variable among those of the path
_Read = tuple[str, str]  # layer, shape

# Rule -> those that say the same of a tensor, and why.
_SAY_MORE = {"AllZero": ("DeadGradient", "DeadRelu"), "UnchangedTensor": ("DeadGradient",)}


class Deduplicator:
    """Drops hits that repeat another one."""

    def __init__(self) -> None:
        self._tensors: dict[str, set[int]] = {}
        self._variables: dict[str, dict[str, set[str]]] = {}  # rule -> variable -> layers

    def of(self, view: RunView, rule: str, hits: Iterable[Hit], severity: Severity) -> list[Hit]:
        """The hits of a rule (of a severity, where they do not say another) without those that an earlier
        rule explains better, and those on further tensors of a variable (a GAN reads the critic's weights in
        both its steps, and several times in one): of these the worst story counts, of equals the longest.
        Variables of one path in layers of different models are different ones."""
        said = set[int]().union(*(self._tensors.get(other, ()) for other in _SAY_MORE.get(rule, ())))
        found = [hit for hit in hits if hit.tensor not in said and not self._explained(view, hit)]
        self._tensors[rule] = {hit.tensor for hit in found}
        tensors = [view.tensors[hit.tensor] for hit in found]
        layers = self._variables[rule] = {}
        for tensor in tensors:
            layers.setdefault(tensor.variable, set()).add(tensor.layer)
        keys = _variables(view, found)
        teller = _chosen_tensors(keys, found, severity)
        kept = [
            hit for hit, key in zip(found, keys, strict=True) if teller.get(key, hit.tensor) == hit.tensor
        ]
        return _without_validation(view, _once_per_function(view, kept, lasting=rule in _LASTING))

    def _explained(self, view: RunView, hit: Hit) -> bool:
        """Whether a rule that is the reason for this reported the same variable, of this graph or another."""
        tensor = view.tensors[hit.tensor]
        layers = (self._variables.get(rule, {}).get(tensor.variable, set()) for rule in hit.unless)
        return any(_ends_alike(tensor.layer, layer) for layer in set[str]().union(*layers))


# Rules about what lasts: in a trace for the smaller batch at the end of an epoch, it may be chance.
_LASTING = ("DeadGradient", "DeadRelu", "SaturatedActivation", "VanishingGradient", "AllZero")


def _once_per_function(view: RunView, hits: Sequence[Hit], *, lasting: bool) -> list[Hit]:
    """Joins hits on one tensor in several traces of a function. A function is traced again for inputs of
    other shapes, and each step runs one of its traces: the hit with the most steps then counts the steps of
    all traces.

    Args:
        lasting: give low severity to what fills some traces, but not most steps of all.
    """
    codes = codes_by_function(view)
    groups: dict[FunctionTensor, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(function_tensor(view, view.tensors[hit.tensor]), []).append(hit)
    joined, repeated = dict[int, Hit](), set[int]()
    for key, group in groups.items():
        if len(codes[key]) == 1:
            continue
        steps = {code: _steps(view, code) for code in codes[key]}
        group.sort(key=lambda hit: -hit.steps)
        for at, hit in enumerate(group[1:], 1):
            if all(steps[hit.tensor].isdisjoint(steps[longer.tensor]) for longer in group[:at]):
                repeated.add(hit.tensor)
        captured = set[int]().union(*steps.values())
        if len(captured) == sum(map(len, steps.values())):
            joined[group[0].tensor] = hit = _joined(group, len(captured))
            fills = all(each.steps == each.of for each in group)
            if lasting and fills and not hit.looked_at and hit.steps < MOSTLY * hit.of:
                joined[hit.tensor] = replace(hit, severity="low")
    return [joined.get(hit.tensor, hit) for hit in hits if hit.tensor not in repeated]


def _steps(view: RunView, code: int) -> set[int]:
    catalog = view.run.catalog
    return set(catalog.column("step", catalog.rows_of_tensor(code)).tolist())


def _joined(group: Sequence[Hit], steps: int) -> Hit:
    """The first hit with the steps of all traces of its function, whose tensor was captured at `steps`
    steps."""
    hit = group[0]
    if hit.looked_at:  # it doesn't count steps
        return hit
    first, last = min(each.first_step for each in group), max(each.last_step for each in group)
    return replace(hit, steps=sum(each.steps for each in group), of=steps, first_step=first, last_step=last)


def _without_validation(view: RunView, hits: Sequence[Hit]) -> list[Hit]:
    """Without hits on the validation in `fit` that repeat one on the same op of the training step."""
    tensors = [view.tensors[hit.tensor] for hit in hits]
    names = [view.roles(tensor.graph).graph.name for tensor in tensors]
    ops = [(tensor.name, tensor.op_type) for tensor in tensors]
    trained = {op for op, name in zip(ops, names, strict=True) if name == "train_step"}
    repeats = [name == "test_step" and op in trained for op, name in zip(ops, names, strict=True)]
    return [hit for hit, repeated in zip(hits, repeats, strict=True) if not repeated]


def _chosen_tensors(keys: Sequence[_Key], found: Sequence[Hit], severity: Severity) -> dict[_Key, int]:
    """Variable -> the tensor that represents it."""

    def badness(hit: Hit) -> tuple[int, int]:
        return -SEVERITIES.index(hit.severity or severity), hit.steps

    best: dict[_Key, Hit] = {}
    for hit, key in zip(found, keys, strict=True):
        if key[1] and (key not in best or badness(hit) > badness(best[key])):
            best[key] = hit
    return {key: hit.tensor for key, hit in best.items()}


def _variables(view: RunView, found: Iterable[Hit]) -> list[_Key]:
    """Which variable each hit is about."""
    known: dict[tuple[str, str], list[set[_Read]]] = {}
    keys = []
    for hit in found:
        tensor = view.tensors[hit.tensor]
        reads = _reads(view, tensor)
        several = known.setdefault((tensor.kind, tensor.variable), [])
        fits = (at for at, others in enumerate(several) if any(map(_is_one, product(reads, others))))
        number = next(fits, len(several))
        if number == len(several):
            several.append(set())
        several[number] |= reads
        keys.append((tensor.kind, tensor.variable, number))
    return keys


def _reads(view: RunView, tensor: TensorRole) -> set[_Read]:
    """Layer and shape of the reads of a tensor's variable in its graph; of the tensor itself if it is not a
    variable."""
    roles = view.roles(tensor.graph)
    rows = roles.reads.get(tensor.variable) or ([tensor.row] if tensor.row >= 0 else [])
    return {(roles.graph.layer[row], roles.graph.shape[row]) for row in rows} or {(tensor.layer, "")}


def _is_one(pair: tuple[_Read, _Read]) -> bool:
    """Whether two reads of one path may be of one variable: of one shape, in layers that end alike."""
    (one, shape), (other, other_shape) = pair
    return shape == other_shape and _ends_alike(one, other)


def _ends_alike(one: str, other: str) -> bool:
    """Whether two layers may be one that a graph calls by itself and another one inside a model
    (`critic/dense`, `gan/critic/dense`); of nodes outside layers it is unknown."""
    ends = f"/{one}".endswith(f"/{other}") or f"/{other}".endswith(f"/{one}")
    return ends or not one or not other
