"""A rule: a name, thresholds, and a function that looks at a run; and how rows that broke it become hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..rows import Rows, distinct
from ..view import RunView, TensorRole
from .finding import Evidence, Hit, Severity

Array = np.ndarray[Any, np.dtype[Any]]
Limits = Mapping[str, float]
Check = Callable[[RunView, Limits], Iterable[Hit]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        name: as it is known. about: what it notices, a short sentence.
        check: yields hits. thresholds: names and defaults of its limits.
        severity, source, help, next_look: as in `Finding`; a hit may say otherwise of severity and help.
        severity_set: the user chose the severity, whatever a hit says.
    """

    name: str
    about: str
    check: Check
    thresholds: Limits = field(default_factory=dict)
    severity: Severity = "medium"
    source: str = ""
    help: str = ""
    next_look: str = "Its history and histograms over steps."
    severity_set: bool = False


def rule(name: str, about: str, **options: Any) -> Callable[[Check], Rule]:
    """Makes a rule of a function `(view, limits) -> hits`.

        @rule("HotEmbedding", "an embedding grows", thresholds={"abs_max": 5.0}, help="Clip it.")
        def hot_embedding(view, limits):
            rows = view.rows(view.where(lambda t: t.kind == "weight" and "embedding" in t.variable))
            yield from hits(view, rows, rows["abs_max"] > limits["abs_max"], rows["abs_max"], "abs max")

    Args:
        options: further fields of `Rule`.
    """
    return lambda check: Rule(name, about, check, **options)


def hits(
    view: RunView,
    rows: Rows,
    broken: Array,
    values: Array,
    name: str,
    limit: float | None = None,
    *,
    share: float = 0.0,
    least: int = 1,
    low: bool = False,
    text: Callable[[TensorRole, float], str] | None = None,
    severity: Callable[[TensorRole], Severity | None] | None = None,
) -> Iterable[Hit]:
    """One hit for each tensor of which enough snapshots broke a rule.

    Args:
        broken: which snapshots did. values: what was measured of each; `name` says what.
        limit: what it was compared with.
        share: the least share of a tensor's snapshots that must have.
        least: at how many steps at least one must have.
        low: the smallest value is the worst, not the largest.
        text: the sentence for a tensor and its worst value.
        severity: another severity for some tensors.
    """
    with np.errstate(invalid="ignore"):
        keys = np.where(broken & ~np.isnan(values), -values if low else values, -np.inf)
    for code, part in rows.groups():
        fired = broken[part]
        count = int(np.count_nonzero(fired))
        if not count or count < least or count < share * (part.stop - part.start):
            continue
        tensor, steps = view.tensors[code], distinct(rows.step[part][fired])
        if len(steps) < least:
            continue
        worst = part.start + int(np.argmax(keys[part]))
        value = float(values[worst])
        yield Hit.at(
            steps,
            len(distinct(rows.step[part])),
            tensor,
            text(tensor, value) if text else f"{name} of {tensor.name} is {value:.4g}.",
            Evidence(int(rows.step[worst]), name, value, limit),
            severity=severity(tensor) if severity else None,
        )
