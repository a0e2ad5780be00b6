"""Rules about the numbers themselves: NaN and infinities, overflow, subnormals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..limits import largest
from ..provenance import Birth, nan_report
from ..rows import distinct
from ..view import RunView
from .finding import Evidence, Hit
from .gradients import MOSTLY
from .rule import Limits, hits, rule

_MOST_BIRTHS = 5
# What is said of those that no pattern explains.
_OTHERWISE = {
    "carried": ": a variable held it when the step began.",
    "data": ": it came in with the data.",
    "suspected": ": not all of its inputs were captured.",
}


@rule(
    "ExplodingTensor",
    "NaN and infinities that are born and matter",
    thresholds={"elements": 1},
    severity="high",
    source="SageMaker Debugger (any NaN or Inf); where they are born: tensortap nan",
    help="See 'tensortap nan'.",
    next_look="The chain from the birth to the loss, and the inputs of the node.",
)
def exploding_tensor(view: RunView, limits: Limits) -> Iterable[Hit]:
    told = set[str]()
    for birth in nan_report(view.run, advance=view.advance).births[:_MOST_BIRTHS]:
        if birth.output.bad < limits["elements"]:
            continue
        for found in _birth(view, birth):
            if found.text not in told:  # several outputs of one node
                told.add(found.text)
                yield found


def _birth(view: RunView, birth: Birth) -> Iterable[Hit]:
    found = next((t for t in view.tensors if (t.graph, t.name) == (birth.graph, birth.tensor)), None)
    if found is None:
        return
    rows = view.rows([found])
    bad = (rows["nan"] + rows["pos_inf"] + rows["neg_inf"]) > 0
    steps = distinct(rows.step[bad])
    kind = "NaN" if birth.output.nan else "Infinity"
    born = "is born in" if birth.verdict in ("born", "turned") else "appears first in"
    why = f": {birth.explanation.text}" if birth.explanation else _OTHERWISE.get(birth.verdict, ".")
    evidence = [
        Evidence(birth.step, name, float(count), 0.0)
        for name, count in (("NaN elements", birth.output.nan), ("infinite elements", birth.output.inf))
        if count
    ]
    yield Hit(
        tensor=found.code,
        text=" ".join(
            filter(None, [f"{kind} {born} {birth.node} at step {birth.step}{why}", birth.aftermath])
        ),
        evidence=evidence,
        first_step=birth.step,
        last_step=int(steps[-1]) if len(steps) else birth.step,
        steps=len(steps),
        of=len(rows.steps),
        severity="medium" if birth.aftermath else None,
        help=birth.explanation.help if birth.explanation else "",
    )


@rule(
    "Float16Overflow",
    "numbers close to the end of their dtype's range",
    thresholds={"float16": 65500.0, "headroom": 0.9},
    severity="high",
    source="float16: MindInsight; headroom: TorchLens",
    help="Loss scaling, a lower learning rate, normalization; or this layer in float32 or bfloat16.",
    next_look="The history of its abs max: how fast does it grow?",
)
def float16_overflow(view: RunView, limits: Limits) -> Iterable[Hit]:
    rows = view.all_rows
    codes, names = view.dtypes(rows)
    ends = np.array([_end(name, limits) for name in names] or [np.inf])[codes]
    most = np.array([largest(name) for name in names] or [np.inf])[codes]
    half = np.array([name in ("float16",) or name.startswith("float8") for name in names] or [False])[codes]
    reach = rows["abs_max"]
    # The dtype's own minimum is how masks are written: it is meant.
    mask = (rows["min"] == -most) & ~(rows["max"] > ends)
    infinite = half & ((rows["pos_inf"] + rows["neg_inf"]) > 0)
    broken = ((reach > ends) & ~mask) | infinite
    low = {t.code for t in view.tensors if t.op_type in ("Const", "Fill", "BroadcastTo")}
    yield from (
        hit
        for hit in hits(
            view,
            rows,
            broken,
            np.where(infinite, np.inf, reach),
            "abs max",
            text=lambda t, value: f"{t.name} reaches {value:.5g}, close to or beyond what its dtype holds.",
            severity=lambda t: None,
        )
        if hit.tensor not in low
    )


def _end(dtype: str, limits: Limits) -> float:
    end = limits["headroom"] * largest(dtype)
    return min(end, limits["float16"]) if dtype == "float16" else end


@rule(
    "Subnormals",
    "many numbers below the smallest normal one",
    thresholds={"share": 0.1},
    severity="low",
    source="TorchLens",
    help="Loss scaling for float16; otherwise a sign of vanishing signals. Subnormals are slow, and inexact.",
)
def subnormals(view: RunView, limits: Limits) -> Iterable[Hit]:
    rows = view.all_rows
    share = rows.share("subnormal")
    yield from hits(
        view,
        rows,
        share >= limits["share"],
        share,
        "share of subnormals",
        limits["share"],
        share=MOSTLY,
        text=lambda t, value: f"{value:.0%} of {t.name} are subnormal.",
    )


NUMBER_RULES = (exploding_tensor, float16_overflow, subnormals)
