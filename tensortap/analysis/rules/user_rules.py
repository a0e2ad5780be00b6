"""Rules that a settings file defines: a condition on the statistics of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tensortap.core.errors import TensortapError
from tensortap.index.query.search import Filters, check_filters, find_rows

from ..run_view.run_view import RunView
from ..run_view.snapshot_rows import Rows
from .finding import SEVERITIES, Hit
from .rule import Limits, Rule, hits

_TEXTS = ("where", "match", "op_type", "layer", "kind", "help", "severity")
_KINDS = ("input", "output", "weight", "gradient", "loss")


class ConditionError(TensortapError):
    """A rule of a settings file is not complete, or its condition cannot be parsed."""


def condition_rule(name: str, table: Mapping[str, Any]) -> Rule:
    """A rule that notices snapshots for which `where` holds (`abs_max > 100 and step > 10`).

    `match` (a regular expression searched in tensor names), `op_type`, `layer` and `kind` restrict it;
    `share` is the least share of a tensor's snapshots that must fit (0 by default: one is enough).

    Raises:
        ConditionError: something else is given, or of another type.
    """
    _check_table(name, table)
    where = table["where"]

    def check(view: RunView, limits: Limits) -> Iterable[Hit]:
        filters: dict[str, Any] = {key: table.get(key) for key in ("match", "op_type", "layer")}
        found = find_rows(view.run, Filters(where=where, **filters))
        looked = find_rows(view.run, Filters(**filters))
        rows = Rows(view.run, looked[looked < view.rows_seen])
        if table.get("kind"):
            wanted = {tensor.code for tensor in view.of_kind(str(table["kind"]))}
            rows = Rows(view.run, rows.rows[np.isin(rows.tensor, list(wanted))])
        yield from hits(
            view,
            rows,
            np.isin(rows.rows, found),
            rows["abs_max"],
            "abs max",
            share=limits["share"],
            text=lambda t, value: f"{t.name}: {where} (abs max {value:.4g}).",
        )

    return Rule(
        name=name,
        about=where,
        check=check,
        thresholds={"share": float(table.get("share", 0.0))},
        severity=table.get("severity", "medium"),
        severity_set="severity" in table,
        source="your settings",
        help=str(table.get("help", "")),
    )


def _check_table(name: str, table: Mapping[str, Any]) -> None:
    """Raises ConditionError."""
    for key, value in table.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = isinstance(value, str) if key in _TEXTS else key == "share" and number
        if key == "enabled" and isinstance(value, bool):
            continue
        if not fits or (key == "severity" and value not in SEVERITIES):
            allowed = ", ".join((*_TEXTS, "share", "enabled"))
            raise ConditionError(f"{key} = {value!r} is nothing for the rule {name}.", f"Use {allowed}.")
    if table.get("kind", _KINDS[0]) not in _KINDS:
        raise ConditionError(
            f"kind = {table['kind']!r} is nothing for the rule {name}.", f"Use {', '.join(_KINDS)}."
        )
    try:
        check_filters(Filters(where=table["where"], match=table.get("match")))
    except TensortapError as error:
        raise ConditionError(f"The rule {name}: {error.message}", error.hint) from error
