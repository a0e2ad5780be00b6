"""What would be told twice: of one variable by several graphs, of one tensor by a rule that says why and one
that does not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..view import RunView
from .finding import SEVERITIES, Hit, Severity

# Rule -> those that say the same of a tensor, and why.
_SAY_MORE = {"AllZero": ("DeadGradient", "DeadRelu"), "UnchangedTensor": ("DeadGradient",)}


class Once:
    """Leaves out hits that repeat what another one says."""

    def __init__(self) -> None:
        self._tensors: dict[str, set[int]] = {}

    def of(self, view: RunView, rule: str, hits: Iterable[Hit], severity: Severity) -> list[Hit]:
        """The hits of a rule (of a severity, where they do not say another) without those that an earlier
        rule explains better, and those on a variable's tensors in further graphs (a GAN reads the critic's
        weights in both its steps): of these the graph with the worst story counts, of equals the longest."""
        said = set[int]().union(*(self._tensors.get(other, ()) for other in _SAY_MORE.get(rule, ())))
        found = [hit for hit in hits if hit.tensor not in said]
        self._tensors[rule] = {hit.tensor for hit in found}
        graph_of = _graphs(view, found, severity)
        return [hit for hit in found if graph_of.get(_variable(view, hit), "") in ("", _graph(view, hit))]


def _graphs(view: RunView, found: Sequence[Hit], severity: Severity) -> dict[tuple[str, str], str]:
    """(kind, variable) -> the graph that tells it."""

    def badness(hit: Hit) -> tuple[int, int]:
        return -SEVERITIES.index(hit.severity or severity), hit.steps

    best: dict[tuple[str, str], Hit] = {}
    for hit in found:
        key = _variable(view, hit)
        if key[1] and (key not in best or badness(hit) > badness(best[key])):
            best[key] = hit
    return {key: _graph(view, hit) for key, hit in best.items()}


def _variable(view: RunView, hit: Hit) -> tuple[str, str]:
    tensor = view.tensors[hit.tensor]
    return tensor.kind, tensor.variable


def _graph(view: RunView, hit: Hit) -> str:
    return view.tensors[hit.tensor].graph
