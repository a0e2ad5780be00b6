"""What `tensortap replay --fix` prints: where NaN is born, and the smallest change that keeps it away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tensortap.core.text import counted

from ..console import cell

if TYPE_CHECKING:
    from rich.console import Console

_MOST = 10
_HUGE = 1e6  # no weight or input that trains is that large


def print_fix(found: Mapping[str, Any], out: Console) -> None:
    """Writes births, the proposed change with its line, and what else would do."""
    if not found["bad"]:
        nothing = "" if found["fix"] else "nothing to repair: "
        out.print(cell(f"{nothing}all outputs and variables of the step are finite", "green"))
        if found["births"]:
            out.print("Inside of the step there are numbers that are not, which do not reach these:")
            _print_births(found, out)
        if found["fix"]:
            _print_found(f"{_change(found)} that keeps them finite", found, out)
        return
    out.print(cell(f"not finite after the step: {_some(found['bad'])}", "red"))
    if found["given"]:
        _print_given(found, out)
        return
    _print_births(found, out)
    if not found["fix"]:
        none = f"no repair helped in {counted(found['trials'], 'replay')}, then the search was cut"
        none = none if found["cut"] else "no known repair helps"
        out.print(cell(f"{none}; {_some(found['left'])} stay not finite", "yellow"))
        largest = found["largest"]
        if largest["value"] >= _HUGE:
            given = f"The step was given numbers up to {largest['value']:.3g} ({largest['name']})"
            out.print(cell(f"{given}: it had diverged. Look at an earlier recording (--list)."))
        return
    _print_found(f"{_change(found)} that helps", found, out)


def _change(found: Mapping[str, Any]) -> str:
    return "a change (the search was cut, a smaller one may do)" if found["cut"] else "the smallest change"


def _print_found(title: str, found: Mapping[str, Any], out: Console) -> None:
    out.print(cell(f"{title} ({counted(found['trials'], 'replay')}):", "green"))
    for repair in found["fix"]:
        _print_repair(repair, out)
    if found["alternatives"]:
        out.print("each of these alone helps, too:")
        for repair in found["alternatives"][:_MOST]:
            _print_repair(repair, out)


def _print_births(found: Mapping[str, Any], out: Console) -> None:
    for birth in found["births"][:_MOST]:
        out.print(cell(f"born at {birth['node']} ({birth['op_type']}, {counted(birth['count'], 'number')})"))
        _print_line(birth, out)


def _print_given(found: Mapping[str, Any], out: Console) -> None:
    """The step was given what is not finite, so that nothing in it is to be repaired."""
    out.print(cell(f"not finite before it already: {_some(found['given'])}", "red"))
    for name, rows in found["rows"].items():
        out.print(cell(f"  in rows {_some(list(map(str, rows)))} of {name}"))
    earlier = found["earlier"]
    if set(found["given"]) == set(found["rows"]):
        out.print("The step's data are not finite, its variables are: repair what makes the batch.")
    elif earlier:
        which = f"--step {earlier['step']} --call {earlier['call']} --fix"
        out.print(cell(f"An earlier recording that was given finite numbers: {which}", "bold"))
    else:
        out.print("No earlier recording that was given finite numbers was found.")


def _print_repair(repair: Mapping[str, Any], out: Console) -> None:
    out.print(cell(f"  {repair['kind']} at {repair['node']}: {repair['instead']}", "bold"))
    _print_line(repair, out)
    if len(repair["nodes"]) > 1:
        out.print(cell(f"    nodes: {_some(repair['nodes'])}"))


def _print_line(where: Mapping[str, Any], out: Console) -> None:
    if where["line"]:
        out.print(cell(f"    {where['file']}:{where['line']}  {where['text']}", "cyan"))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
