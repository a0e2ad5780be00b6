"""Output of the analyses of `tensortap replay`: `--dtype`, `--compare-with`, `--repair` and `--test`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from tensortap.core.text import counted, number_text

from ..console import cell, plain_table

if TYPE_CHECKING:
    from rich.console import Console

_MOST_NAMED = 5  # nodes in a sentence
_MOST_ROWS = 40
_MAX_LISTED = 10  # nodes or repairs that are listed
_HUGE = 1e6  # no weight or input that trains is that large


def print_analysis(found: Mapping[str, Any], out: Console) -> None:
    """Prints the result of an analysis."""
    printers = {
        "compare": print_differences,
        "dtype": print_drifts,
        "repair": print_repair,
        "test": print_test,
    }
    printers[found["analysis"]](found, out)


def print_drifts(found: Mapping[str, Any], out: Console) -> None:
    """`--dtype`: tensors by the drift that starts in them, the results, and unchecked tensors."""
    dtype = found["dtype"]
    numeric = ("drift", "inherited", "introduced")
    table = plain_table("tensor", "op type", "dtype", *numeric, "", numeric=numeric)
    for row in found["drifts"][:_MOST_ROWS]:
        parts = row["split"]
        table.add_row(
            cell(row["tensor"]),
            cell(row["op_type"]),
            cell(row["dtype"]),
            *(number_text(parts[key]) for key in ("total", "inherited", "introduced")),
            cell(_drift_note(row), "red" if parts["introduced_non_finite"] else "dim"),
        )
    out.print(table)
    if len(found["drifts"]) > _MOST_ROWS:
        out.print(f"and {len(found['drifts']) - _MOST_ROWS:,} more (use --json)")
    _print_results(found, out)
    for op_type, count in found["lacking"].items():
        out.print(cell(f"not changed (no kernel for this dtype): {count} {op_type}", "dim"))
    if found["unlike"]:
        out.print(
            cell(f"skipped (different number of iterations): {', '.join(found['unlike'][:5])}", "yellow")
        )
    for why, count in sorted(found["skipped"].items(), key=lambda each: -each[1]):
        out.print(cell(f"not checked: {counted(count, 'node')} ({why})", "dim"))
    for name, failure in found["failed"].items():
        out.print(cell(f"in {dtype}: {failure}" if name == dtype else f"recorded: {failure}", "red"))


def print_differences(found: Mapping[str, Any], out: Console) -> None:
    """`--compare-with`: nodes of one side only, and those that compute something else of the same inputs."""
    if any(found["unpaired"]):
        out.print(cell(_structure_text(found["unpaired"]), "yellow"))
    if found["renamed"]:
        out.print(f"{counted(found['renamed'], 'node')} with different names matched by structure")
    numeric = ("introduced", "received", "difference")
    table = plain_table("tensor", "op type", "dtype", *numeric, "", "line", numeric=numeric)
    for row in found["differences"][:_MOST_ROWS]:
        table.add_row(
            cell(row["tensor"]),
            cell(" / ".join(dict.fromkeys(row["op_types"]))),
            cell(" / ".join(dict.fromkeys(row["dtypes"]))),
            *(number_text(row[key]) for key in ("introduced", "received", "total")),
            cell("input of the step" if row["given"] else "", "dim"),
            cell(_line_text(row), "cyan"),
        )
    out.print(table)
    rows = found["differences"]
    if len(rows) > _MOST_ROWS:
        out.print(f"and {len(rows) - _MOST_ROWS:,} more (use --json)")
    introduced = sum(1 for row in rows if row["introduced"] and not row["given"])
    out.print(
        f"{counted(introduced, 'tensor')} introduce a difference, {len(rows) - introduced:,} "
        f"propagate or receive one, {found['same']:,} are equal"
    )
    if found["unlike"]:
        count, names = len(found["unlike"]), _named(found["unlike"])
        out.print(cell(f"not compared (different shapes or inputs): {count} ({names})", "yellow"))
    for why, count in sorted(found["skipped"].items(), key=lambda each: -each[1]):
        out.print(cell(f"not compared: {counted(count, 'node')} ({why})", "dim"))


def print_repair(found: Mapping[str, Any], out: Console) -> None:
    """`--repair`: the origin of NaN, the proposed change with its line, and alternatives."""
    if not found["bad"]:
        nothing = "" if found["repair"] else "nothing to repair: "
        out.print(cell(f"{nothing}all outputs and variables of the step are finite", "green"))
        if found["origins"]:
            out.print("Some tensors inside the step are NaN or infinite, but do not reach the results:")
            _print_origins(found, out)
        if found["repair"]:
            _print_repairs(f"{_change(found)} that keeps them finite", found, out)
        return
    out.print(cell(f"not finite after the step: {_some(found['bad'])}", "red"))
    if found["given"]:
        _print_nonfinite_inputs(found, out)
        return
    _print_origins(found, out)
    if not found["repair"]:
        none = f"the search hit its limit ({counted(found['trials'], 'replay')}) without a repair"
        none = none if found["cut"] else "no known repair works"
        left = f"; {_some(found['left'])} remain NaN or infinite" if found["left"] else ""
        out.print(cell(f"{none}{left}", "yellow"))
        largest = found["largest"]
        if largest["value"] >= _HUGE:
            given = f"Inputs of the step reach {number_text(largest['value'])} ({largest['name']})"
            out.print(cell(f"{given}: training had already diverged. Try an earlier recording (see --list)."))
        return
    _print_repairs(f"{_change(found)} that makes them finite", found, out)


def print_test(found: Mapping[str, Any], out: Console) -> None:
    """`--test`: whether the step passed, and the failures."""
    verdict = "passed" if found["passed"] else "failed"
    out.print(cell(f"{found['test']}: {verdict}. {found['summary']}", "green" if found["passed"] else "red"))
    if not found["rows"]:
        return
    numbers = tuple(name for name, value in found["rows"][0].items() if isinstance(value, float | int))
    table = plain_table(*(name.replace("_", " ") for name in found["columns"]), numeric=numbers)
    for row in found["rows"][:_MOST_ROWS]:
        table.add_row(*(_number_or_text(row[name]) for name in found["columns"]))
    out.print(table)
    if len(found["rows"]) > _MOST_ROWS:
        out.print(f"and {len(found['rows']) - _MOST_ROWS:,} more (use --json)")


def _drift_note(row: Mapping[str, Any]) -> str:
    parts = row["split"]
    if parts["introduced_non_finite"]:
        return f"{counted(parts['introduced_non_finite'], 'number')} became NaN or infinite here"
    if row["given"]:
        return "input of the step"
    return f"{parts['visits']} iterations" if parts["visits"] > 1 else ""


def _print_results(found: Mapping[str, Any], out: Console) -> None:
    for row in found["outputs"]:
        if row["recorded"] is not None:
            beside = f"{number_text(row['recorded'])} recorded, {number_text(row['in_dtype'])} in"
            out.print(cell(f"{row['name']}: {beside} {found['dtype']}"))
        else:
            out.print(cell(f"{row['name']}: changed by {number_text(row['change'])} of its norm"))
    if found["variables"]:
        worst = found["variables"][0]
        text = f"largest change of a variable: {worst['name']}, {number_text(worst['change'])}"
        out.print(cell(f"{text} of its norm"))


def _structure_text(unpaired: Sequence[Sequence[str]]) -> str:
    """One sentence on the nodes that this recording, or the other, has alone."""
    sides = [
        f"{counted(len(nodes), 'node')} only in {where} ({_named(nodes)})"
        for nodes, where in zip(unpaired, ("this recording", "the other"), strict=True)
        if nodes
    ]
    return f"The graphs differ: {' and '.join(sides)}; these nodes are not ranked."


def _line_text(row: Mapping[str, Any]) -> str:
    """The source line, if the run's graph has it."""
    return f"{PurePath(row['file']).name}:{row['line']}  {row['text']}" if row["line"] else ""


def _change(found: Mapping[str, Any]) -> str:
    return (
        "a change (the search hit its limit; a smaller one may exist)"
        if found["cut"]
        else "the smallest change"
    )


def _print_repairs(title: str, found: Mapping[str, Any], out: Console) -> None:
    out.print(cell(f"{title} ({counted(found['trials'], 'replay')}):", "green"))
    for repair in found["repair"]:
        _print_repair(repair, out)
    if found["alternatives"]:
        out.print("Alternative repairs:")
        for repair in found["alternatives"][:_MAX_LISTED]:
            _print_repair(repair, out)


def _print_origins(found: Mapping[str, Any], out: Console) -> None:
    for origin in found["origins"][:_MAX_LISTED]:
        out.print(
            cell(f"origin: {origin['node']} ({origin['op_type']}, {counted(origin['count'], 'element')})")
        )
        _print_line(origin, out)


def _print_nonfinite_inputs(found: Mapping[str, Any], out: Console) -> None:
    """The step has non-finite inputs, so there is nothing to repair in it."""
    out.print(cell(f"Inputs already non-finite: {_some(found['given'])}", "red"))
    for name, rows in found["rows"].items():
        out.print(cell(f"  in rows {_some(list(map(str, rows)))} of {name}"))
    earlier = found["earlier"]
    if set(found["given"]) == set(found["rows"]):
        out.print("The input data contain NaN or Inf, but the variables do not: fix the input pipeline.")
    elif earlier:
        which = f"--step {earlier['step']} --call {earlier['call']} --repair"
        out.print(cell(f"An earlier recording with finite inputs: {which}", "bold"))
    else:
        out.print("No earlier recording has finite inputs.")


def _print_repair(repair: Mapping[str, Any], out: Console) -> None:
    out.print(cell(f"  {repair['kind']} at {repair['node']}: {repair['instead']}", "bold"))
    _print_line(repair, out)
    if len(repair["nodes"]) > 1:
        out.print(cell(f"    nodes: {_some(repair['nodes'])}"))


def _print_line(where: Mapping[str, Any], out: Console) -> None:
    if where["line"]:
        out.print(cell(f"    {where['file']}:{where['line']}  {where['text']}", "cyan"))


def _number_or_text(value: Any) -> Any:
    return number_text(value) if isinstance(value, float | int) else cell(value)


def _named(nodes: Sequence[str]) -> str:
    rest = [f"{len(nodes) - _MOST_NAMED:,} more"] if len(nodes) > _MOST_NAMED else []
    return ", ".join([*nodes[:_MOST_NAMED], *rest])


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_LISTED:,} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more
