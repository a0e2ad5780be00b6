"""Sentences of a NaN report. The command line and the page both show them without other wording.

Names in them are as the dump has them: the caller escapes control characters when printing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tensortap.core.text import counted, number_text
from tensortap.index.catalog.tensor_table import NO_GRAPH_NAME

from .elements.trace import Element
from .nan_report import NanReport
from .operand import Operand
from .origin import Origin
from .step_flow import NOT_CAPTURED

_NAMED = 3  # functions that a sentence names
_AXES = {1: ("row",), 2: ("row", "feature"), 3: ("row", "token", "feature")}


@dataclass(frozen=True, slots=True)
class OriginText:
    """An origin in words.

    Attributes:
        kind: `NaN` or `Infinity`.
        title: what happened, at which step and node; without a full stop.
        reason: why, in one sentence or two.
        output, inputs: the numbers of the tensors, in the order of the origin's.
    """

    kind: str
    title: str
    reason: str
    output: str
    inputs: list[str]


@dataclass(frozen=True, slots=True)
class ReportText:
    """A report in words.

    Attributes:
        origins, demoted: in the order of the report's.
        goal: the end of the chain: `the loss`, or the name of its last tensor; empty without a chain.
        more: how many origins there are beside the first, empty without any.
        summary: all non-finite tensors of the step, counted.
    """

    origins: list[OriginText]
    demoted: list[OriginText]
    goal: str
    more: str
    summary: str


def report_text(report: NanReport) -> ReportText:
    """All texts of a report."""
    return ReportText(
        origins=[origin_text(origin, report.previous) for origin in report.origins],
        demoted=[origin_text(origin, report.previous) for origin in report.demoted],
        goal=goal_text(report),
        more=more_text(report.origins[1:]),
        summary=summary_text(report),
    )


def origin_text(origin: Origin, previous: int | None) -> OriginText:
    """An origin in words; `previous`: the captured step before it, or None."""
    when = f" at step {origin.step}{_visit(origin.visit)}"
    kind = "NaN" if origin.output.nan else "Infinity"
    return OriginText(
        kind=kind,
        title=title_text(origin, previous, kind=kind, when=when, node=origin.node),
        reason=reason_text(origin),
        output=operand_text(origin.output),
        inputs=list(map(operand_text, origin.inputs)),
    )


def title_text(origin: Origin, previous: int | None, *, kind: str, when: str, node: str) -> str:
    """Title of an origin, without a full stop.

    Args:
        kind: what arose. when: the step as ` at step 3`; empty where it is said already. node: its name.
    """
    forward = origin.forward
    of = "" if forward is None else f", the gradient of {forward.node} ({forward.op_type})"
    if origin.verdict == "from_variable":
        since = "before it" if previous is None else f"after step {previous}"
        where = f"the variable {origin.variable}" if origin.variable else "a variable"
        return f"{kind} was already in {where} at the start of step {origin.step}; it originated {since}"
    if origin.made_by:
        return f"{kind} originates{when} in {origin.made_by}, outside functions"
    if origin.verdict == "data":
        return f"Input {origin.tensor} contains {kind}{when or f' (step {origin.step})'}"
    if origin.verdict == "constant":
        return f"{kind} is a constant in the program"
    if origin.verdict == "suspected":
        entry = origin.explanation is not None and origin.explanation.pattern == NOT_CAPTURED
        why = "its source was not captured" if entry else "some of its inputs were not captured"
        return f"First {kind}{when}: {node}{of}; {why}"
    return f"{kind} originates{when} in {node}{of}"


def reason_text(origin: Origin) -> str:
    """Why an origin is not finite."""
    if origin.explanation is not None:
        return origin.explanation.text + ("" if origin.explanation.certain else " (likely)")
    if origin.verdict == "from_variable":
        return f"{origin.node} only reads it. Capture every earlier step to find the origin."
    if origin.verdict == "data":
        return "Check the input pipeline: the model is not the cause."
    if origin.verdict == "constant":
        return f"{origin.node} is a constant in the program."
    if origin.verdict == "suspected":
        return f"It may come from tensors that were not captured: {', '.join(origin.missing) or 'an input'}."
    of = "infinities" if origin.verdict == "inf_to_nan" else "finite inputs"
    return f"{origin.op_type} produced it from {of}; cause unknown."


def more_text(origins: Sequence[Origin]) -> str:
    """`2 more origins and 1 constant`; `places` where some are unknown to be origins."""
    known = all(origin.verdict in ("origin", "inf_to_nan", "constant") for origin in origins)
    return _count(origins, "more origin" if known else "more place")


def summary_text(report: NanReport) -> str:
    """The non-finite tensors of the step, counted; empty where all is finite."""
    if report.step is None:
        return ""
    expected, constants = len(report.demoted), sum(each.verdict == "constant" for each in report.origins)
    found = report.nonfinite - report.propagated - expected - constants
    parts = [counted(found, "origin"), counted(constants, "constant"), f"{expected:,} expected"]
    parts += [f"{report.propagated:,} propagated"]
    text = f"{counted(report.nonfinite, 'non-finite tensor')} at step {report.step}{_where(report)}: "
    text += ", ".join(part for part in parts if not part.startswith("0 ")) + "."
    if report.recovered:
        verb = "turns" if report.recovered == 1 else "turn"
        text += f" {counted(report.recovered, 'op')} {verb} NaN or Inf into finite values."
    if report.previous is None:
        return text
    of = f" of {report.origins[0].tensor}" if report.origins else ""
    return f"{text} The previous captured step{of} is {report.previous}."


def _where(report: NanReport) -> str:
    """` of model`, or ` of model, loss and 2 more functions`; empty if some tensors have no graph."""
    names = list(dict.fromkeys(filter(None, report.graph_names)))
    if NO_GRAPH_NAME in names:
        return ""
    if len(names) > _NAMED:
        return f" of {', '.join(names[:_NAMED])} and {counted(len(names) - _NAMED, 'more function')}"
    return f" of {' and '.join(filter(None, (', '.join(names[:-1]), *names[-1:])))}" if names else ""


def goal_text(report: NanReport) -> str:
    """End of the chain: `the loss`, or the name of its last tensor; empty without a chain."""
    last = report.chain[-1].tensor if report.chain else ""
    return "the loss" if last and last == report.loss else last


def operand_text(operand: Operand) -> str:
    """The numbers of a tensor: `2 NaN of 320, -1.5 … 4, 7 zeros`."""
    if not operand.known:
        return "not captured"
    if not operand.size:
        return "elements unknown"
    counts = ((operand.nan, "NaN"), (operand.pos_inf, "+inf"), (operand.neg_inf, "-inf"))
    bad = " ".join(f"{count:,} {name}" for count, name in counts if count)
    low, high = number_text(operand.min), number_text(operand.max)
    span = f"{low} … {high}" if operand.finite else "no known finite elements"
    zeros = f", {counted(operand.zero, 'zero')}" if operand.zero else ""
    return f"{bad + ' of ' if bad else ''}{operand.size:,}, {span}{zeros}"


def tensor_text(tensor: str, visit: int) -> str:
    """The name of a tensor, and its visit unless that is the first."""
    return f"{tensor}{_visit(visit)}"


def element_text(element: Element, row: int | None) -> str:
    """An element and its value; `row`: its row of the batch, or None."""
    text = f"{_element_name(element, row)} = {exact_text(element.value)}"
    if element.equal is None:
        return text
    other = replace(element, tensor=element.equal.tensor, index=element.equal.index, visit=0)
    return f"{text}, equal to {_element_name(other, row)}, so the difference is 0"


def place_text(element: Element, row: int | None) -> str:
    """Where an element is: in words (`row 17, token 3, feature 5`) if its first index is the row of the
    batch, else as an index; empty for a scalar.

    Args:
        row: the row of the batch that it belongs to, or None.
    """
    if not element.index:
        return ""
    axes = element.axes or _AXES.get(len(element.index))
    if row is None or element.kind == "weight" or element.index[0] != row:
        return f"[{', '.join(map(str, element.index))}]"
    if axes is None:
        return f"row {row}, [{', '.join(map(str, element.index[1:]))}]"
    return ", ".join(f"{axis} {at}" for axis, at in zip(axes, element.index, strict=True))


def exact_text(value: float) -> str:
    """The fewest digits, six at least, that read back as the same number: just above 1 is not 1."""
    with np.errstate(over="ignore"):
        kind = np.float32 if float(np.float32(value)) == value else np.float64
        texts = (f"{value:.{digits}g}" for digits in range(6, 18))
        return next((text for text in texts if kind(text) == kind(value)), f"{value:.6g}")


def _element_name(element: Element, row: int | None) -> str:
    place = place_text(element, row)
    return f"{place + ' of ' if place else ''}{tensor_text(element.tensor, element.visit)}"


def _count(origins: Sequence[Origin], noun: str) -> str:
    """`2 origins`, `1 origin and 2 constants`."""
    constants = sum(origin.verdict == "constant" for origin in origins)
    counts = ((len(origins) - constants, noun), (constants, "constant"))
    return " and ".join(counted(count, word) for count, word in counts if count)


def _visit(visit: int) -> str:
    return f" (iteration {visit})" if visit else ""
