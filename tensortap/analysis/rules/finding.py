"""A finding: the finding of a rule, its place, and the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tensortap.core.dtypes import Array
from tensortap.index.query.node_detail import FrameDetail

from ..model_graph.roles import TensorRole

Severity = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number of the evidence of a finding: `name` of the statistic, its value at a step, and its limit
    (None for plain facts)."""

    step: int
    name: str
    value: float
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One report of a rule; the runner adds the rule's own texts.

    Attributes:
        tensor: code of the tensor in the run's catalog.
        text: what was found, a sentence. evidence: the worst first.
        first_step, last_step: where it was so. steps: at how many steps, `of` how many that were checked.
        severity: another one than the rule's. help, next_look: another advice than the rule's.
        looked_at: what `of` counts where it is not all captured steps ("checked values, of 120 stored").
        unless: rules that give the reason, if they report the same variable: then it is skipped.
        explains: rules with findings that it causes on its graph; it gets high severity if one of these has
            it.
        source_node: the node with the source line, if it is not the tensor's; frame: the line itself.
    """

    tensor: int
    text: str
    evidence: list[Evidence]
    first_step: int
    last_step: int
    steps: int
    of: int
    severity: Severity | None = None
    help: str = ""
    looked_at: str = ""
    next_look: str = ""
    unless: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    source_node: str = ""
    frame: FrameDetail | None = None

    @classmethod
    def at(
        cls,
        steps: Array,
        of: int,
        tensor: TensorRole,
        text: str,
        *evidence: Evidence,
        severity: Severity | None = None,
        looked_at: str = "",
    ) -> Hit:
        """A hit at some steps (ascending, unique, at least one), out of `of` checked steps."""
        first, last = int(steps[0]), int(steps[-1])
        return cls(
            tensor.code, text, list(evidence), first, last, len(steps), of, severity, looked_at=looked_at
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """A hit with all that a person needs to judge it.

    Attributes:
        rule, title, severity, text, help: the rule, its title, severity, sentence, and usual fix.
        source: where the rule's thresholds come from; thresholds: those that were applied.
        tensor, node, graph, op_type, layer: where. variable: path of the variable that the tensor reads, or
            empty.
        frame: the innermost line of user code, or None.
        next_look: what to look at next, a sentence.
        muted: the user does not want to see it.
        looked_at: what `of` counts, as in `Hit`; empty: captured steps.
    """

    rule: str
    severity: Severity
    text: str
    tensor: str
    node: str
    graph: str
    op_type: str
    layer: str
    first_step: int
    last_step: int
    steps: int
    of: int
    evidence: list[Evidence]
    help: str
    source: str
    thresholds: Mapping[str, float] = field(default_factory=dict)
    next_look: str = ""
    frame: FrameDetail | None = None
    muted: bool = False
    looked_at: str = ""
    variable: str = ""
    title: str = ""
