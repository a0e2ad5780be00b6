"""Rules about the numbers themselves: NaN and infinities, overflow, subnormals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.names import LOSS_SCALES
from tensortap.core.text import number_text

from ...dtype_limits import largest
from ...nonfinite.nan_report import nan_report
from ...nonfinite.origin import Origin
from ...run_view.run_view import RunView
from ...run_view.snapshot_rows import SnapshotRows
from ..finding import Evidence, Hit
from ..rule import MOSTLY, Limits, incremental_hits, rule
from ..traces import traces_of

_MOST_ORIGINS = 5
_CONSTANT = "constant"  # the verdict on the program's own constants
# A dynamic loss scale looks for the largest that fits: a step whose scaled gradients overflow is skipped, and
# the scale halved. A search from too high a scale is over after some steps.
_SKIPPED: dict[str, Any] = {"share": MOSTLY, "least": 20}
# Texts for origins that no pattern explains.
_OTHERWISE = {
    "from_variable": ": no earlier captured step produced it.",
    "suspected": ": some of its inputs were not captured.",
}


@rule(
    "ExplodingTensor",
    "NaN and infinities that matter, at their origin",
    title="Exploding values",
    thresholds={"elements": 1},
    severity="high",
    source="SageMaker Debugger (any NaN or Inf); their origins: tensortap nan",
    help="See 'tensortap nan'.",
    next_look="Check the inputs of the node, and the path from the origin to the loss.",
)
def exploding_tensor(view: RunView, limits: Limits) -> Iterable[Hit]:
    reported, counted = set[str](), set[int]()
    origins = nan_report(view.run, advance=view.advance).origins[:_MOST_ORIGINS]
    for origin in origins:
        if origin.output.bad < limits["elements"]:
            continue
        for found in _origin(view, origin, alone=origins[0].verdict == _CONSTANT):
            # Several outputs of one node, and other traces of its function.
            if found.text not in reported and found.tensor not in counted:
                reported.add(found.text)
                counted |= {t.code for t in traces_of(view, view.tensors[found.tensor])}
                yield found


def _origin(view: RunView, origin: Origin, *, alone: bool) -> Iterable[Hit]:
    """Describes an origin. `alone`: only constants of the program have NaN or infinities; otherwise constants
    are of low severity, because a mask is not a fault and its consequences are origins themselves."""
    found = next((t for t in view.tensors if (t.graph, t.name) == (origin.graph, origin.tensor)), None)
    if found is None:
        return
    rows = view.rows(traces_of(view, found))
    bad = (rows["nan"] + rows["pos_inf"] + rows["neg_inf"]) > 0
    steps = np.unique(rows.step[bad])
    kind = "NaN" if origin.output.nan else "Infinity"
    constant = origin.verdict == _CONSTANT
    first = int(steps[0]) if constant and len(steps) else origin.step  # it was there before it did harm
    verb = "originates in" if origin.verdict in ("origin", "inf_to_nan") else "appears first in"
    text = f"{kind} {verb} {origin.node} at step {origin.step}"
    text = f"{kind} in {origin.node} is a constant in the program" if constant else text
    if origin.verdict == "from_variable" and origin.variable:
        text = f"{kind} was already in the variable {origin.variable} at the start of step {origin.step}"
    why = f": {origin.explanation.text}" if origin.explanation else _OTHERWISE.get(origin.verdict, ".")
    evidence = [
        Evidence(origin.step, name, float(count), 0.0)
        for name, count in (("NaN elements", origin.output.nan), ("infinite elements", origin.output.inf))
        if count
    ]
    yield Hit(
        tensor=found.code,
        text=" ".join(filter(None, [f"{text}{why}", origin.aftermath])),
        evidence=evidence,
        first_step=first,
        last_step=int(steps[-1]) if len(steps) else origin.step,
        steps=len(steps),
        of=len(rows.steps),
        severity="low" if constant and not alone else "medium" if origin.aftermath else None,
        help=origin.explanation.help if origin.explanation else "",
        frame=origin.frame,
    )


@rule(
    "Float16Overflow",
    "numbers close to the limit of their dtype",
    title="Close to overflow",
    thresholds={"float16": 65500.0, "headroom": 0.9},
    severity="high",
    source="float16: MindInsight; headroom: TorchLens",
    help="Use loss scaling, a lower learning rate, normalization, or float32 or bfloat16 for this layer.",
    next_look="Check the history of its max |x|: how fast does it grow?",
)
def float16_overflow(view: RunView, limits: Limits) -> Iterable[Hit]:
    def measure(rows: SnapshotRows) -> tuple[Array, Array]:
        codes, names = view.dtypes(rows)
        ends = np.array([_end(name, limits) for name in names])[codes]
        most = np.array([largest(name) for name in names])[codes]
        half = np.array([name in ("float16",) or name.startswith("float8") for name in names])[codes]
        reach = rows["abs_max"]
        # The dtype's own minimum is how masks are written, also negated (a gradient): it is expected.
        mask = (rows["min"] == -most) & ~(rows["max"] > ends)
        mask |= (rows["max"] == most) & ~(rows["min"] < -ends) & ~half
        infinite = half & ((rows["pos_inf"] + rows["neg_inf"]) > 0)
        return ((reach > ends) & ~mask) | infinite, np.where(infinite, np.inf, reach)

    tensors = view.where(lambda t: t.op_type not in ("Const", "Fill", "BroadcastTo"))
    scaled = {tensor.code for tensor in tensors if tensor.backward and _scales_loss(view, tensor.graph)}
    for name, some, options in (
        ("scaled", [tensor for tensor in tensors if tensor.code in scaled], _SKIPPED),
        ("", [tensor for tensor in tensors if tensor.code not in scaled], {}),
    ):
        yield from incremental_hits(
            view,
            ("Float16Overflow", limits["headroom"], limits["float16"], name),
            some,
            measure,
            "max |x|",
            text=lambda t, value: (
                f"{t.name} reaches {number_text(value)}, close to or beyond the limit of its dtype."
            ),
            **options,
        )


def _scales_loss(view: RunView, graph: str) -> bool:
    def find() -> bool:
        return any(path.endswith(LOSS_SCALES) for path in view.roles(graph).variable.values())

    return view.cached(f"whether {graph} scales the loss", find)


def _end(dtype: str, limits: Limits) -> float:
    end = limits["headroom"] * largest(dtype)
    return min(end, limits["float16"]) if dtype == "float16" else end


@rule(
    "Subnormals",
    "many subnormal numbers",
    title="Subnormal numbers",
    thresholds={"share": 0.1},
    severity="low",
    source="TorchLens",
    help="Use loss scaling for float16. Otherwise signals may be vanishing; subnormals are slow and "
    "imprecise.",
)
def subnormals(view: RunView, limits: Limits) -> Iterable[Hit]:
    def measure(rows: SnapshotRows) -> tuple[Array, Array]:
        share = rows.share("subnormal")
        return share >= limits["share"], share

    yield from incremental_hits(
        view,
        ("Subnormals", limits["share"]),
        view.tensors,
        measure,
        "share of subnormals",
        limits["share"],
        share=MOSTLY,
        text=lambda t, value: f"{value:.0%} of {t.name} are subnormal.",
    )
