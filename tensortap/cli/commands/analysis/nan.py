"""`tensortap nan`: where NaN and infinities originate, why, and how they reach the loss."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console

from tensortap.core.text import counted, escaped, with_facts

from ...argument_types import add_engine, natural
from ...console import cell, console, plain_table, print_json
from ...select_run import add_path, only_run, report_damage

if TYPE_CHECKING:
    from tensortap.analysis.nonfinite.elements.trace import Element, ElementTrace
    from tensortap.analysis.nonfinite.nan_report import NanReport
    from tensortap.analysis.nonfinite.origin import Origin

HELP = "find where NaN and infinities originate, why, and how they reach the loss"
EXAMPLE = "tensortap nan logs/digits-nan; tensortap nan logs/digits-nan --step 27 --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path(parser)
    parser.add_argument(
        "--step", type=natural, metavar="N", help="step to analyse (default: the first with NaN or Inf)"
    )
    add_engine(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    from tensortap.analysis.nonfinite.nan_report import nan_report
    from tensortap.index.unknown_counts import snapshots_not_counted

    found = only_run(arguments.path, arguments)
    report, unknown = nan_report(found, arguments.step), snapshots_not_counted(found.catalog)
    report_damage(found)
    if arguments.json:
        print_json(asdict(report) | {"snapshots_not_counted": unknown, "damage": found.missing_data})
    else:
        print_report(report, console(), unknown, captured=found.catalog.rows > 0)
    return 0


_OTHERS = 8  # further origins, and expected ones, that are listed
_ENDS = 5  # links that are shown at either end of a long chain
_TRAIL = 6  # elements that are shown upstream of the offending one


def print_report(report: NanReport, out: Console, unknown: int = 0, *, captured: bool = True) -> None:
    """Prints a report: first the origin and its reason, then the chain, then the rest.

    `unknown`: number of snapshots that may have uncounted ones. `captured`: whether the run has snapshots.
    """
    if unknown:
        which = f"{counted(unknown, 'snapshot')} of {report.run} may contain NaN or infinities"
        out.print(cell(f"Unknown: {which} that were not counted (see 'tensortap info').", "yellow"))
    if report.step is None or not (report.origins or report.demoted):
        where = "" if report.step is None else f" at step {report.step}"
        what = "was counted" if unknown else "in any captured tensor"
        if captured:
            colour = "" if unknown else "green"
            out.print(cell(f"{report.run}: no NaN or infinity {what}{where}.", colour))
        else:
            out.print(cell(f"{report.run}: no tensors were captured.", "bold yellow"))
        _print_notes(report, out)
        return
    if report.origins:
        _print_first(report, report.origins[0], out)
        _print_chain(report, out)
        _print_others(report.origins[1:], out)
    else:
        text = f"{report.run}: all NaN and infinities at step {report.step} are expected."
        out.print(cell(text, "bold green"))
    _print_expected(report.demoted, out)
    _print_totals(report, out)


def _print_first(report: NanReport, origin: Origin, out: Console) -> None:
    from tensortap.analysis.nonfinite.report_text import operand_text, reason_text, tensor_text, title_text

    kind = "NaN" if origin.output.nan else "infinity"
    node = with_facts(origin.node, origin.op_type)
    step = tensor_text(f"step {origin.step}", origin.visit)
    out.print(
        cell(f"{report.run}, {step}: ", "bold"),
        cell(title_text(origin, report.previous, kind=kind, when="", node=node), "bold red"),
        sep="",
    )
    out.print(cell(reason_text(origin), "yellow"))
    if origin.layer:
        out.print(cell(f"  layer   {origin.layer}"))
    if origin.frame is not None:
        out.print(
            cell(f"  source  {origin.frame.file}:{origin.frame.line}  {origin.frame.text or ''}", "cyan")
        )
    for role, operand in (("output", origin.output), *(("input ", operand) for operand in origin.inputs)):
        out.print(cell(f"  {role}  {tensor_text(operand.tensor, operand.visit)}  {operand_text(operand)}"))
    for number, trace in enumerate(origin.elements):
        _print_trace(trace, out, 0 if number else _TRAIL)
    if origin.explanation is not None and origin.explanation.help:
        out.print(cell(f"  fix     {origin.explanation.help}", "green"))


def _print_trace(trace: ElementTrace, out: Console, most: int) -> None:
    """Prints an element, and up to `most` that it comes from."""
    from tensortap.analysis.nonfinite.report_text import element_text, exact_text, place_text

    bad, *upstream = trace.trail
    sample = f" (sample {trace.sample})" if trace.sample is not None else ""
    if not upstream:
        out.print(cell(f"  at      {place_text(bad, trace.row) or 'the only element'}{sample}"))
        return
    offending = element_text(upstream[0], trace.row)
    out.print(cell(f"  at      {offending} -> {bad.op_type} = {exact_text(bad.value)}{sample}", "magenta"))
    if not most:
        return
    changes = _changes(upstream)
    for element in changes[: most - 1]:
        out.print(cell(f"            from {element_text(element, trace.row)}", "dim"))
    if len(changes) > most:
        out.print(cell(f"            … {counted(len(changes) - most, 'more op')}", "dim"))
    if len(changes) >= most:
        out.print(cell(f"            from {element_text(changes[-1], trace.row)}", "dim"))
    if trace.cut:
        out.print(cell(f"            … backtrace truncated after {len(trace.trail)} ops", "dim"))


def _changes(upstream: list[Element]) -> list[Element]:
    """The elements upstream of the offending one that an op computed, or changed."""
    pairs = zip(upstream[1:], upstream, strict=False)
    return [
        element
        for element, following in pairs
        if element.kind or element.op_type in _COMPUTING or element.value != following.value
    ]


_COMPUTING = (
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


def _print_chain(report: NanReport, out: Console) -> None:
    from tensortap.analysis.nonfinite.report_text import goal_text

    links = report.chain
    if len(links) < 2:
        return
    out.print()
    out.print(cell(f"From there to {goal_text(report)}, {counted(len(links), 'tensor')}", "bold"))
    table = plain_table("tensor", "op", "NaN", "inf", "of", "", numeric=("NaN", "inf", "of"))
    cut = len(links) > 2 * _ENDS + 1
    for number, link in enumerate(links):
        if cut and _ENDS <= number < len(links) - _ENDS:
            if number == _ENDS:
                table.add_row(cell(f"… {len(links) - 2 * _ENDS} more"))
            continue
        style = "" if link.verdict == "propagated" else "red"
        numbers = [f"{count:,}" if count else "" for count in (link.nan, link.inf)]
        word = "" if link.verdict == "propagated" else link.verdict
        table.add_row(
            cell(link.tensor, style), cell(link.op_type), *numbers, f"{link.size:,}", cell(word, style)
        )
    out.print(table)


def _print_others(origins: Sequence[Origin], out: Console) -> None:
    from tensortap.analysis.nonfinite.report_text import more_text, reason_text

    if not origins:
        return
    out.print()
    out.print(cell(f"{more_text(origins)} at this step", "bold"))
    for origin in origins[:_OTHERS]:
        visit = f"iteration {origin.visit}" if origin.visit else ""
        place = with_facts(origin.tensor, origin.op_type, visit)
        texts = [f"  {place}: {reason_text(origin)}", origin.aftermath]
        out.print(cell(" ".join(filter(None, texts))))
    if len(origins) > _OTHERS:
        out.print(f"  … {len(origins) - _OTHERS:,} more (--json has all)")


def _print_expected(origins: Sequence[Origin], out: Console) -> None:
    if not origins:
        return
    out.print()
    out.print(cell(f"Expected, {counted(len(origins), 'tensor')}", "bold"))
    for origin in origins[:_OTHERS]:
        out.print(cell(f"  {with_facts(origin.tensor, origin.op_type)}: {origin.demoted}", "dim"))
    if len(origins) > _OTHERS:
        out.print(f"  … {len(origins) - _OTHERS:,} more (--json has all)")


def _print_totals(report: NanReport, out: Console) -> None:
    from tensortap.analysis.nonfinite.report_text import summary_text

    out.print(f"\n{escaped(summary_text(report))}")
    _print_notes(report, out)


def _print_notes(report: NanReport, out: Console) -> None:
    for note in report.notes:
        out.print(cell(f"Note: {note}", "yellow"))
