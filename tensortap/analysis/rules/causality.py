"""Which findings follow from which: causes come first, and are as bad as the worst that they explain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache

from ..run_view.run_view import RunView
from .finding import SEVERITIES, Finding, Hit

_BIRTHS = "ExplodingTensor"  # spoils all that comes behind it
# Rule -> what its findings lead to, causes before what follows from them.
_LEADS_TO: Mapping[str, tuple[str, ...]] = {
    "LearningRate": (
        *("AbsorbedUpdate", "DeadRelu", "SaturatedActivation", "ExplodingGradient", "UnchangedTensor"),
        *("WeightUpdateRatio", "LargeWeights", "LossNotDecreasing", "LargeLoss"),
    ),
    "InputNotNormalised": ("DeadRelu", "SaturatedActivation", "LossNotDecreasing", "LargeLoss"),
    "PoorWeightInit": ("SaturatedActivation", "ExplodingGradient", "VanishingGradient"),
    "AbsorbedUpdate": ("UnchangedTensor", "LossNotDecreasing"),
    "AllZero": ("DeadRelu", "DeadGradient", "LossNotDecreasing"),
    "ExplodingGradient": (
        *("DeadRelu", "SaturatedActivation", "Float16Overflow", "WeightUpdateRatio", "LossNotDecreasing"),
    ),
    "DeadRelu": ("DeadGradient", "VanishingGradient"),
    "SaturatedActivation": ("DeadGradient", "VanishingGradient"),
    "Float16Overflow": ("DeadGradient", "LossNotDecreasing"),
    "DeadGradient": ("UnchangedTensor", "LossNotDecreasing"),
    "VanishingGradient": ("UnchangedTensor", "LossNotDecreasing"),
    "UnchangedTensor": ("LossNotDecreasing",),
    "WeightUpdateRatio": ("LargeWeights", "LossNotDecreasing"),
    "LargeWeights": ("LossNotDecreasing",),
    "LossNotDecreasing": ("LargeLoss",),
    "LargeLoss": (),
}
_RANKS = {name: rank for rank, name in enumerate(_LEADS_TO)}


def sort_key(view: RunView, findings: Sequence[Finding]) -> Callable[[Finding], tuple[object, ...]]:
    """The sort key of some findings of a run.

    Those that are not muted first; of these the worst, of equals NaN that is born, then the newest, then
    in data flow order. What leads to others of its graph that are as bad is as new as these, and comes
    before them.
    """
    places = view.once("places of tensors", lambda: _places(view))
    newest: dict[tuple[str, str, bool, str], int] = {}
    for finding in findings:
        key = _peers(finding, finding.rule)
        newest[key] = max(newest.get(key, finding.first_step), finding.first_step)

    def order(finding: Finding) -> tuple[object, ...]:
        behind = (newest.get(_peers(finding, rule), 0) for rule in _all_consequences(finding.rule))
        since = max((finding.first_step, *behind))
        severity = SEVERITIES.index(finding.severity)
        rank = _RANKS.get(finding.rule, 0)
        place = places[finding.graph, finding.tensor]
        return finding.muted, severity, finding.rule != _BIRTHS, -since, rank, -finding.first_step, place

    return order


def _places(view: RunView) -> dict[tuple[str, str], tuple[str, int]]:
    return {(tensor.graph, tensor.name): (tensor.graph, tensor.order) for tensor in view.tensors}


def _peers(finding: Finding, rule: str) -> tuple[str, str, bool, str]:
    """What findings of a rule have in common that one could lead to."""
    return finding.graph, finding.severity, finding.muted, rule


@cache
def _all_consequences(rule: str) -> frozenset[str]:
    """The rules whose findings follow from those of one, at once or by others."""
    direct = _LEADS_TO.get(rule, ())
    return frozenset(direct).union(*(_all_consequences(each) for each in direct))


def raise_severities(found: Sequence[tuple[Finding, Hit]], chosen: Collection[str]) -> list[Finding]:
    """The findings made of some hits, those of high severity too that explain one of high severity.

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
