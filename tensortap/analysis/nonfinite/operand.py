"""An operand: the captured facts about one tensor at one step and visit."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tensortap.index.snapshot import Snapshot

from ..model_graph.op_types import CONST, nested_list


@dataclass(frozen=True, slots=True)
class Operand:
    """Counts and extrema of a tensor. `known` is False if it was not captured; `constant`: it is a constant
    of the graph. min, max and abs_max are over finite elements, NaN without any; `visit` is the visit they
    belong to; `graph`: the graph of the call that computed it, if that is another one, else empty."""

    tensor: str
    known: bool
    dtype: str = ""
    shape: tuple[int, ...] | None = None
    size: int = 0
    nan: int = 0
    pos_inf: int = 0
    neg_inf: int = 0
    zero: int = 0
    negative: int = 0
    positive: int = 0
    min: float = math.nan
    max: float = math.nan
    abs_max: float = math.nan
    constant: bool = False
    kept: bool = False
    visit: int = 0
    graph: str = ""

    @property
    def inf(self) -> int:
        """Infinite elements."""
        return self.pos_inf + self.neg_inf

    @property
    def bad(self) -> int:
        """Non-finite elements."""
        return self.nan + self.pos_inf + self.neg_inf

    @property
    def finite(self) -> int:
        """Finite elements."""
        return self.zero + self.negative + self.positive


def unknown(tensor: str, dtype: str = "") -> Operand:
    """A tensor that was not captured."""
    return Operand(tensor, known=False, dtype=dtype)


def of_snapshot(snapshot: Snapshot, tensor: str = "") -> Operand:
    """The operand of a snapshot, under another name if one is given."""
    return Operand(
        tensor or snapshot.tensor,
        known=True,
        dtype=snapshot.dtype,
        shape=snapshot.shape,
        size=snapshot.size,
        nan=snapshot.nan,
        pos_inf=snapshot.pos_inf,
        neg_inf=snapshot.neg_inf,
        zero=snapshot.zero,
        negative=snapshot.negative,
        positive=snapshot.positive,
        min=snapshot.min,
        max=snapshot.max,
        abs_max=snapshot.abs_max,
        kept=snapshot.kept,
        visit=snapshot.visit,
    )


def of_constant(tensor: str, text: str) -> Operand:
    """Operand from the text of a Const's `value` attribute; unknown where the elements are not written
    out."""
    match = CONST.match(text)
    if match is None:
        return unknown(tensor)
    values = _numbers(match["value"] or "")
    if values is None:
        return unknown(tensor, match["dtype"])
    finite = [value for value in values if math.isfinite(value)]
    return Operand(
        tensor,
        known=True,
        dtype=match["dtype"],
        shape=tuple(map(int, re.findall(r"\d+", match["shape"] or ""))),
        size=len(values),
        nan=sum(map(math.isnan, values)),
        pos_inf=values.count(math.inf),
        neg_inf=values.count(-math.inf),
        zero=finite.count(0.0),
        negative=sum(value < 0 for value in finite),
        positive=sum(value > 0 for value in finite),
        min=min(finite, default=math.nan),
        max=max(finite, default=math.nan),
        abs_max=max(map(abs, finite), default=math.nan),
        constant=True,
    )


def _numbers(text: str) -> list[float] | None:
    """The numbers of a nested list in Python syntax; None if it is truncated or contains anything else."""
    found = nested_list(text)
    if found is None:
        return None
    flat, stack = list[float](), [found]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack += reversed(item)
        elif isinstance(item, int | float) and not isinstance(item, bool):
            flat.append(float(item))
        else:
            return None
    return flat
