"""What a stepper shows: a node with its inputs and outputs, lists of nodes, a tensor in all what-ifs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensortap.replay.proof import results_proof

from ..console import cell, number_text, plain_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tensortap.replay.protocol import StepperAnswer, TensorFacts
    from tensortap.replay.stepper.session import StepperSession
    from tensortap.replay.stepper.stepper_nodes import StepperNode

_SLOTS = 20


def proof(answer: StepperAnswer) -> Any:
    """Whether what is shown is what was recorded: a line."""
    found = results_proof(answer)
    colour = "green" if found.proven else "" if answer.identical else "yellow"
    return cell(f"{found.word.lower()}: {found.text}", colour)


def print_node(session: StepperSession, out: Console) -> None:
    """The node under the cursor."""
    stepper = session.stepper
    node = stepper.node
    layer = f"  layer {node.layer}" if node.layer else ""
    out.print(cell(f"{stepper.at + 1}/{len(stepper.nodes)}  {node.name}  {node.op_type}{layer}", "bold"))
    facts, changed = session.answer().tensors, set(session.changed())
    for title, tensors in (("in ", node.inputs), ("out", node.outputs)):
        for name in tensors[:_SLOTS]:
            mark = "*" if name in changed else " "
            text = _facts_text(facts.get(name))
            out.print(cell(f"  {title} {mark} {name}  {text}", _style(facts.get(name))))
        if len(tensors) > _SLOTS:
            out.print(f"  {title}   and {len(tensors) - _SLOTS:,} more")


def print_nodes(session: StepperSession, nodes: Sequence[StepperNode], out: Console) -> None:
    """A table of nodes: > the cursor, * changed by the what-if."""
    facts, changed = session.answer().tensors, set(session.changed())
    rows = {node.name: row for row, node in enumerate(session.stepper.nodes)}
    table = plain_table("", "node", "name", "op type", "output", numeric=("node",))
    for node in nodes:
        first = next((facts[name] for name in node.outputs if name in facts), None)
        here = ">" if node is session.stepper.node else ""
        mark = "*" if not changed.isdisjoint(node.outputs) else ""
        style = _style(first)
        table.add_row(
            f"{here}{mark}",
            str(rows[node.name] + 1),
            cell(node.name, style),
            cell(node.op_type),
            cell(_facts_text(first) if first else "", style),
        )
    out.print(table)


def print_values(session: StepperSession, tensor: str, selection: str | None, out: Console) -> None:
    """Summary, histogram and values of a tensor in the current what-if, at its first visit."""
    from ..select_run import only_run
    from .tensor import TensorView

    view = TensorView.of(
        only_run(session.run()), tensor, step=None, visit=0, worker=None, graph=None, selection=selection
    )
    view.print(out)


def side_by_side(session: StepperSession, tensor: str) -> Table:
    """One row as recorded, one a what-if: the tensor's numbers, and how many tensors the what-if changes."""
    from tensortap.index.query.tensor_lookup import find_snapshot

    from ..select_run import only_run

    numeric = ("NaN", "Inf", "min", "mean", "max", "changed")
    table = plain_table("what-if", "shape", *numeric, numeric=numeric)
    for name in ("", *session.what_ifs.names):
        facts = session.answer(name).tensors.get(tensor)
        if facts is None:
            table.add_row(cell(name or "recorded"), cell("did not run"))
            continue
        summary = find_snapshot(only_run(session.run(name)), tensor, step=session.answer(name).step)
        table.add_row(
            cell(name or "recorded", "bold" if name == session.what_ifs.current else ""),
            cell(f"{facts.dtype} {'×'.join(map(str, facts.shape)) or 'scalar'}"),
            f"{facts.nan:,}",
            f"{facts.inf:,}",
            *(number_text(number) for number in (summary.min, summary.mean, summary.max)),
            f"{len(session.changed(name)):,}" if name else "",
        )
    return table


def print_what_ifs(session: StepperSession, out: Console) -> None:
    """Each with its changes; > the current one."""
    for name in ("", *session.what_ifs.names):
        here = ">" if name == session.what_ifs.current else " "
        out.print(cell(f"{here} {name or 'recorded'}", "bold" if here == ">" else ""))
        for change in session.what_ifs.changes(name):
            out.print(cell(f"    {change.tensor} = {change.expression}"))


def _facts_text(facts: TensorFacts | None) -> str:
    if facts is None:
        return "(not a tensor that can be shown, or did not run)"
    shape = "×".join(map(str, facts.shape)) or "scalar"
    bad = [f"{facts.nan:,} NaN"] * bool(facts.nan) + [f"{facts.inf:,} Inf"] * bool(facts.inf)
    since = [f"from visit {facts.bad_visit} on"] * (facts.bad_visit > 0)
    visits = [f"{facts.visits} visits"] * (facts.visits > 1)
    return "  ".join((f"{facts.dtype} {shape}", *bad, *since, *visits))


def _style(facts: TensorFacts | None) -> str:
    if facts is None:
        return "dim"
    return "red" if facts.nan else "yellow" if facts.inf else ""
