"""What `tensortap nan` prints: where NaN and infinities were born, why, and how they reached the loss."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from tensortap.core.text import counted, escaped

from ..console import cell, number_text, plain_table

if TYPE_CHECKING:
    from tensortap.analysis.nonfinite.elements.trace import Element, ElementTrace
    from tensortap.analysis.nonfinite.nan_report import NanReport
    from tensortap.analysis.nonfinite.operand import Operand
    from tensortap.analysis.nonfinite.origin import Origin
    from tensortap.analysis.nonfinite.path_to_loss import Link

_WORDS = {
    "born": "born here, of finite inputs",
    "suspected": "suspected: not all inputs were captured",
    "turned": "infinity becomes NaN here",
    "data": "came in with the data",
    "carried": "a variable held it when the step began",
    "constant": "a constant of the program",
}
_OTHERS = 8  # further origins, and harmless ones, that are listed
_ENDS = 5  # links that are shown at either end of a long chain
_TRAIL = 6  # elements that are shown on the way back


def print_report(report: NanReport, out: Console, unknown: int = 0, *, captured: bool = True) -> None:
    """Prints a report: first what and why, then the chain, then the rest.

    `unknown`: how many snapshots of the run may hold some that nobody counted. `captured`: there are any.
    """
    if unknown:
        whose = f"whether {counted(unknown, 'snapshot')} of {report.run} hold NaN or infinities"
        out.print(cell(f"Not known: {whose}; they were not counted ('tensortap info' says why).", "yellow"))
    if report.step is None or not (report.births or report.demoted):
        where = "" if report.step is None else f" at step {report.step}"
        what = "was counted" if unknown else "in any captured tensor"
        if captured:
            colour = "" if unknown else "green"
            out.print(cell(f"{report.run}: no NaN and no infinity {what}{where}.", colour))
        else:
            out.print(cell(f"{report.run}: there is nothing to look at.", "bold yellow"))
        _print_notes(report, out)
        return
    if report.births:
        _print_first(report, report.births[0], out)
        _print_chain(report.chain, report.loss, out)
        _print_others(report.births[1:], out)
    else:
        out.print(cell(f"{report.run}: nothing to worry about at step {report.step}.", "bold green"))
    _print_demoted(report.demoted, out)
    _print_totals(report, out)


def _print_first(report: NanReport, origin: Origin, out: Console) -> None:
    kind = "NaN" if origin.output.nan else "infinity"
    where = f" (visit {origin.visit})" if origin.visit else ""
    out.print(
        cell(f"{report.run}, step {origin.step}{where}: ", "bold"),
        cell(f"{kind} {_verb(origin)} {origin.node} ({origin.op_type})", "bold red"),
        cell(_whose_gradient(origin), "bold"),
        sep="",
    )
    explanation = origin.explanation
    if explanation is not None:
        hedge = "" if explanation.certain else " (fits, not proven)"
        out.print(cell(explanation.text + hedge, "yellow"))
    elif origin.verdict in ("born", "suspected"):
        out.print(cell("No known pattern fits; look at the inputs below.", "yellow"))
    if origin.layer:
        out.print(cell(f"  layer   {origin.layer}"))
    if origin.frame is not None:
        out.print(
            cell(f"  source  {origin.frame.file}:{origin.frame.line}  {origin.frame.text or ''}", "cyan")
        )
    out.print(cell(f"  output  {_operand(origin.output)}"))
    for operand in origin.inputs:
        out.print(cell(f"  input   {_operand(operand)}"))
    for number, trace in enumerate(origin.elements):
        _print_trace(trace, out, 0 if number else _TRAIL)
    if explanation is not None and explanation.help:
        out.print(cell(f"  helps   {explanation.help}", "green"))


def _whose_gradient(origin: Origin) -> str:
    of = origin.forward
    return "" if of is None else f", the gradient of {of.node} ({of.op_type})"


def _verb(origin: Origin) -> str:
    return {"born": "is born in", "suspected": "appears in", "turned": "is born in"}.get(
        origin.verdict, "comes from"
    )


def _operand(operand: Operand) -> str:
    if not operand.known:
        return f"{operand.tensor}  not captured"
    if not operand.size:
        return f"{operand.tensor}  no element is known"
    bad = [f"{count:,} {name}" for name in ("nan", "pos_inf", "neg_inf") if (count := getattr(operand, name))]
    names = " ".join(bad).replace("pos_inf", "+inf").replace("neg_inf", "-inf").replace("nan", "NaN")
    span = (
        f"{number_text(operand.min)} … {number_text(operand.max)}"
        if operand.finite
        else "nothing finite is known"
    )
    zeros = f", {counted(operand.zero, 'zero')}" if operand.zero else ""
    when = f" (visit {operand.visit})" if operand.visit else ""
    return f"{operand.tensor}{when}  {names + ' of ' if bad else ''}{operand.size:,}, {span}{zeros}"


def _print_trace(trace: ElementTrace, out: Console, trail: int) -> None:
    from tensortap.analysis.nonfinite.elements.element_names import place_text

    bad, *back = trace.trail
    sample = f" (sample {trace.sample})" if trace.sample is not None else ""
    if not back:
        out.print(cell(f"  at      {place_text(bad, trace.row) or 'the only element'}{sample}"))
        return
    cause = back[0]
    place = _element(cause, trace.row)
    out.print(cell(f"  at      {place} -> {bad.op_type} = {_exact(bad.value)}{sample}", "magenta"))
    telling = _trail_elements(back)
    for element in telling[: max(trail - 1, 0)]:
        out.print(cell(f"            from {_element(element, trace.row)}", "dim"))
    if trail and len(telling) > trail:
        out.print(cell(f"            … {counted(len(telling) - trail, 'more op')}", "dim"))
    if trail and len(telling) >= trail:
        out.print(cell(f"            from {_element(telling[-1], trace.row)}", "dim"))
    if trail and trace.cut:
        out.print(cell(f"            … not followed further: {len(trace.trail)} ops", "dim"))


def _exact(value: float) -> str:
    """The fewest digits, six at least, that read back as the same number: just above 1 is not 1."""
    with np.errstate(over="ignore"):
        kind = np.float32 if float(np.float32(value)) == value else np.float64
        texts = (f"{value:.{digits}g}" for digits in range(6, 18))
        return next((text for text in texts if kind(text) == kind(value)), number_text(value))


def _element(element: Element, row: int | None) -> str:
    from tensortap.analysis.nonfinite.elements.element_names import place_text

    place = place_text(element, row)
    when = f" (visit {element.visit})" if element.visit else ""
    text = f"{place + ' of ' if place else ''}{element.tensor}{when} = {_exact(element.value)}"
    if element.equal is None:
        return text
    other = replace(element, tensor=element.equal.tensor, index=element.equal.index)
    place = place_text(other, row)
    return f"{text}, as is {place + ' of ' if place else ''}{other.tensor}: the difference is 0"


def _trail_elements(back: list[Element]) -> list[Element]:
    """The elements behind the offending one that tell: those that an op computed, or changed."""
    pairs = zip(back[1:], back, strict=False)
    return [
        element
        for element, behind in pairs
        if element.kind or element.op_type in _TELLING or element.value != behind.value
    ]


_TELLING = (
    "MatMul",
    "Conv2D",
    "BiasAdd",
    "Softmax",
    "Sub",
    "AddV2",
    "RealDiv",
    "Mul",
    "Relu",
    "Exp",
    "Square",
)


def _print_chain(links: list[Link], loss: str | None, out: Console) -> None:
    if len(links) < 2:
        return
    goal = "the loss" if links[-1].tensor == loss else links[-1].tensor
    out.print()
    out.print(cell(f"From there to {goal}, {counted(len(links), 'tensor')}", "bold"))
    table = plain_table("tensor", "op", "NaN", "inf", "of", "", numeric=("NaN", "inf", "of"))
    cut = len(links) > 2 * _ENDS + 1
    for number, link in enumerate(links):
        if cut and _ENDS <= number < len(links) - _ENDS:
            if number == _ENDS:
                table.add_row(cell(f"… {len(links) - 2 * _ENDS} more"))
            continue
        style = "" if link.verdict == "passed" else "red"
        numbers = [f"{count:,}" if count else "" for count in (link.nan, link.inf)]
        word = "" if link.verdict == "passed" else link.verdict
        table.add_row(
            cell(link.tensor, style), cell(link.op_type), *numbers, f"{link.size:,}", cell(word, style)
        )
    out.print(table)


def _print_others(origins: list[Origin], out: Console) -> None:
    if not origins:
        return
    out.print()
    all_born = all(origin.verdict in ("born", "turned", "constant") for origin in origins)
    out.print(cell(f"{_count(origins, 'more birth' if all_born else 'more place')} at this step", "bold"))
    for origin in origins[:_OTHERS]:
        said = origin.explanation.text if origin.explanation else _WORDS[origin.verdict]
        visit = f", visit {origin.visit}" if origin.visit else ""
        texts = [f"  {origin.tensor} ({origin.op_type}{visit}): {said}", origin.aftermath]
        out.print(cell(" ".join(filter(None, texts))))
    if len(origins) > _OTHERS:
        out.print(f"  … {len(origins) - _OTHERS:,} more (--json has all)")


def _count(origins: list[Origin], noun: str) -> str:
    """`2 origins`, `1 origin and 2 constants`."""
    constants = sum(origin.verdict == "constant" for origin in origins)
    told = [(len(origins) - constants, noun), (constants, "constant")]
    return " and ".join(counted(count, word) for count, word in told if count)


def _print_demoted(origins: list[Origin], out: Console) -> None:
    if not origins:
        return
    out.print()
    out.print(cell(f"Harmless, {counted(len(origins), 'tensor')}", "bold"))
    for origin in origins[:_OTHERS]:
        out.print(cell(f"  {origin.tensor} ({origin.op_type}): {origin.demoted}", "dim"))
    if len(origins) > _OTHERS:
        out.print(f"  … {len(origins) - _OTHERS:,} more (--json has all)")


def _print_totals(report: NanReport, out: Console) -> None:
    origins = _count([*report.births, *report.demoted], "birth")
    before = "" if report.previous is None else f" The captured step before is {report.previous}."
    out.print(
        f"\n{counted(report.nonfinite, 'non-finite tensor')} at step {report.step} of "
        f"{escaped(report.graph_name)}: {origins}, {report.passed:,} handed it on, "
        f"{report.healed:,} healed or masked it.{before}"
    )
    _print_notes(report, out)


def _print_notes(report: NanReport, out: Console) -> None:
    for note in report.notes:
        out.print(cell(f"Note: {note}", "yellow"))
