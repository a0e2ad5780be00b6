"""A rule: a name, thresholds, and a function that looks at a run; and how rows that broke it become hits."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tensortap.core.dtypes import Array
from tensortap.core.text import number_text

from ..model_graph.roles import TensorRole
from ..run_view.hit_counts import HitCounts, SnapshotCounts, hit_counts_of, snapshot_counts_of
from ..run_view.run_view import RunView
from ..run_view.snapshot_rows import SnapshotRows
from .finding import Evidence, Hit, Severity

Limits = Mapping[str, float]
Check = Callable[[RunView, Limits], Iterable[Hit]]

MOSTLY = 0.5  # share of a tensor's snapshots from which a trait counts as lasting


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        name: its name. about: the fault that it detects, in a few words.
        title: its name as a heading; without one, the words of the name.
        check: yields hits. thresholds: names and defaults of its limits.
        severity, source, help, next_look: as in `Finding`; a hit may say otherwise of all but source.
        severity_set: the user set the severity, which overrides that of hits.
    """

    name: str
    about: str
    check: Check
    thresholds: Limits = field(default_factory=dict)
    severity: Severity = "medium"
    source: str = ""
    help: str = ""
    next_look: str = "Check its history and its histograms over steps."
    severity_set: bool = False
    title: str = ""

    @property
    def heading(self) -> str:
        """`UnchangedTensor` -> `Unchanged tensor`, unless the rule has a title."""
        return self.title or re.sub(
            r"(?<=[a-z0-9])[A-Z](?=[a-z])", lambda letter: f" {letter[0].lower()}", self.name
        )


def rule(name: str, about: str, **options: Any) -> Callable[[Check], Rule]:
    """Create a rule from a function `(view, limits) -> hits`.

    `tensortap rules --rules FILE` and `check_rules` apply it (docs/problems.md).

    Args:
        name: in CamelCase, unlike those of other rules.
        about: what it reports, a noun phrase or clause.
        options: other fields of `Rule`: `thresholds`, `severity`, `help`, `source`.

    Example:
        ```python
        from tensortap.analysis import hits, rule

        @rule("HotEmbedding", "an embedding grows", thresholds={"abs_max": 5.0}, help="Clip it.")
        def hot_embedding(view, limits):
            rows = view.rows(view.where(lambda t: t.kind == "weight" and "embedding" in t.variable))
            yield from hits(view, rows, rows["abs_max"] > limits["abs_max"], rows["abs_max"], "max |x|")
        ```
    """
    return lambda check: Rule(name, about, check, **options)


def hits(
    view: RunView,
    rows: SnapshotRows,
    broken: Array,
    values: Array,
    name: str,
    limit: float | None = None,
    *,
    low: bool = False,
    **options: Any,
) -> Iterable[Hit]:
    """One hit for each tensor with enough snapshots that break a rule.

    Args:
        view: the run, as a rule gets it.
        rows: snapshots to check, from `view.rows`.
        broken: which of them break the rule, bool [rows].
        values: the measured number of each, float64 [rows], described by `name`.
        limit: the threshold.
        low: whether the smallest value is the worst.
        options: those of `hits_of`.

    Example:
        ```python
        from tensortap.analysis import hits, rule

        @rule("TinyWeights", "all weights of a variable are near 0", thresholds={"abs_max": 1e-6})
        def tiny_weights(view, limits):
            rows = view.rows(view.where(lambda t: t.kind == "weight"))
            tiny = rows["abs_max"] < limits["abs_max"]
            yield from hits(view, rows, tiny, rows["abs_max"], "max |x|", limits["abs_max"], low=True)
        ```
    """
    fired, counted = HitCounts(), SnapshotCounts()
    if len(rows):
        counted.add(rows)
        fired.add(rows, broken, values, low=low)
    yield from hits_of(view, fired, counted, name, limit, **options)


def incremental_hits(
    view: RunView,
    key: Hashable,
    tensors: Iterable[TensorRole],
    measure: Callable[[SnapshotRows], tuple[Array, Array]],
    name: str,
    limit: float | None = None,
    *,
    low: bool = False,
    **options: Any,
) -> Iterable[Hit]:
    """The hits among all snapshots of some tensors; only snapshots since the previous call are measured.

    Args:
        key: identifies the measurement and all limits that `measure` uses.
        measure: (which snapshots broke the rule, the measured number of each).
    """
    fired = hit_counts_of(view, key, tensors, measure, low=low)
    yield from hits_of(view, fired, snapshot_counts_of(view), name, limit, **options)


def hits_of(
    view: RunView,
    fired: HitCounts,
    counted: SnapshotCounts,
    name: str,
    limit: float | None = None,
    *,
    share: float = 0.0,
    least: int = 1,
    text: Callable[[TensorRole, float], str] | None = None,
    severity: Callable[[TensorRole], Severity | None] | None = None,
) -> Iterable[Hit]:
    """One hit for each tensor with enough snapshots that break a rule.

    Args:
        name: of the measured statistic. limit: its limit.
        share: the least share of a tensor's snapshots that must have.
        least: at how many steps at least one must have.
        text: the sentence for a tensor and its worst value.
        severity: another severity for some tensors.
    """
    for code, found in sorted(fired.by_tensor.items()):
        if found.steps < least or found.rows < share * counted.rows(code):
            continue
        tensor, value = view.tensors[code], found.value
        yield Hit(
            tensor=code,
            text=text(tensor, value) if text else f"{name} of {tensor.name} is {number_text(value)}.",
            evidence=[Evidence(found.step, name, value, limit)],
            first_step=found.first,
            last_step=found.last,
            steps=found.steps,
            of=counted.steps(code),
            severity=severity(tensor) if severity else None,
        )
