"""Proof of what counts only suggest, by the very elements, where values were kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...dtype_limits import largest
from ..explanation import Explanation, number
from ..nonfinite_flow import FlowTensor, NonfiniteFlow
from .trace import elementwise


def proven(flow: NonfiniteFlow, bad: FlowTensor, explanation: Explanation | None) -> Explanation | None:
    """The explanation of a quotient or power, certain if one of its elements shows that it is so."""
    if explanation is None or explanation.certain:
        return explanation
    if explanation.pattern not in ("0/0", "division overflow", "pow"):
        return explanation
    end = largest(flow.tensors.snapshot(bad.slot, bad.visit).dtype)
    for index, operands in elementwise(flow, bad):
        if len(operands) != 2:
            continue
        (x, y), place = operands, f"[{', '.join(map(str, index))}]"
        if explanation.pattern == "0/0" and x == y == 0:
            return replace(explanation, certain=True, text=f"{explanation.text} Both are 0 at {place}.")
        if explanation.pattern == "division overflow" and y and abs(x) / abs(y) > end:
            text = f"{explanation.text} At {place} it is {number(x)} / {number(y)}."
            return replace(explanation, certain=True, text=text)
        if explanation.pattern == "pow" and np.isfinite((x, y)).all() and _power(x, y) > end:
            text = f"{explanation.text} At {place} it is {number(x)} ** {number(y)}."
            return replace(explanation, certain=True, text=text)
    return explanation


def _power(x: float, y: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.abs(np.float64(x)) ** np.float64(y))
