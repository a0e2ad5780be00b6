"""Output of `tensortap replay`: computed tensors, accuracy of nodes, observer effect, comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensortap.core.errors import TensortapError
from tensortap.core.text import counted, number_text
from tensortap.replay.proof import (
    NOT_CAPTURED,
    Verification,
    distance_text,
    results_text,
    tensor_proof,
    untapped_text,
)

from ..console import cell, console, plain_table, print_json
from ..select_run import only_run
from .replay_analyses import print_analysis

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from tensortap.index.run_index import RunIndex
    from tensortap.index.snapshot import Snapshot
    from tensortap.replay.protocol import Answer

    from .tensor import TensorView

_MOST_NAMES = 20
_STYLES = {"bug in the kernel": "red", "ill-conditioned": "yellow", "low precision": "yellow"}
_MOST_ROWS = 40


def print_answer(
    answer: Answer, views: list[TensorView], proofs: list[Verification | None], arguments: argparse.Namespace
) -> None:
    """Prints the computed, judged and compared tensors of a replay."""
    out = console()
    _print_tensors(views, proofs, out)
    if arguments.accuracy:
        print_verdicts(answer, out)
    if answer.observer_effect is not None:
        print_observer_effect(answer.observer_effect, out)
    if answer.analysis is not None:
        print_analysis(answer.analysis, out)
    out.print(comparison_line(answer))
    for name in answer.differing[:20]:
        out.print(cell(f"  {name}{distance_text(answer.ulp.get(name))}", "yellow"))
    if len(answer.differing) > 20:
        out.print(f"  and {len(answer.differing) - 20:,} more")
    if answer.untapped is not None:
        out.print(cell(untapped_text(answer.untapped), "yellow"))
    for version in answer.versions:
        out.print(cell(f"  {version}", "yellow"))
    if answer.failed:
        out.print(cell(f"The step raised {answer.failed}", "red"))
    if arguments.out and not arguments.accuracy:
        tensors = counted(answer.tensors, "tensor")
        out.print(
            f"{tensors} in {arguments.out / arguments.name}; view them: tensortap serve {arguments.out}"
        )


def print_recordings(found: list[Any], as_json: bool) -> None:
    """Lists the recorded calls of a run."""
    from tensortap.core.names import short_function_name
    from tensortap.replay.locate import open_recording

    rows = []
    for place in found:
        row = {"step": place.step, "call": place.call, "function": "", "bytes": 0, "failed": "", "damage": ""}
        try:
            recording = open_recording(place.path)
        except TensortapError as error:
            row["damage"] = str(error)
        else:
            row["function"], row["failed"] = recording.function, recording.failed
            row["bytes"] = sum(array.nbytes for each in recording.arguments for array in each.arrays)
        rows.append(row)
    if as_json:
        print_json(rows)
        return
    table = plain_table("step", "call", "function", "MB", "", numeric=("step", "call", "MB"))
    for row in rows:
        table.add_row(
            str(row["step"]),
            str(row["call"]),
            cell(short_function_name(row["function"])),
            f"{row['bytes'] / 1e6:.2f}",
            cell(row["damage"] or row["failed"], "red"),
        )
    console().print(table)


def print_verdicts(answer: Answer, out: Console) -> None:
    """Prints the worst outputs, the number of each judgement, and what could not be judged and why."""
    numeric = ("error", "scale", "error/scale", "moved by 1 ULP")
    table = plain_table(
        "verdict", "tensor", "iteration", "op type", "dtype", *numeric, "not finite", numeric=numeric
    )
    for row in answer.verdicts[:_MOST_ROWS]:
        relative = row["error"] / row["scale"] if row["scale"] else 0.0
        table.add_row(
            cell(row["judgement"], _STYLES.get(row["judgement"], "")),
            cell(row["tensor"]),
            f"{row['visit']} of {row['visits']}" if row["visits"] > 1 else "",
            *(cell(row[key]) for key in ("op_type", "dtype")),
            *(number_text(number) for number in (row["error"], row["scale"], relative, row["moved"])),
            cell(row["note"], "red"),
        )
    out.print(table)
    if len(answer.verdicts) > _MOST_ROWS:
        out.print(f"and {len(answer.verdicts) - _MOST_ROWS:,} more (use --json)")
    counts = Counter(row["judgement"] for row in answer.verdicts)
    out.print(
        ", ".join(f"{count:,} {judgement}" for judgement, count in counts.items()) or "no node was checked"
    )
    for why, count in sorted(answer.not_judged.items(), key=lambda each: -each[1]):
        out.print(cell(f"not checked: {counted(count, 'node')} ({why})", "dim"))


def print_observer_effect(effect: Mapping[str, Any], out: Console) -> None:
    """Prints the certificate, or what refutes it."""
    captured = counted(effect["tensors"], "tensor")
    unstable = effect["unstable"]
    if unstable:
        results = counted(len(unstable), "result")
        out.print(cell(f"different in two runs without taps: {results}", "yellow"))
        for name in unstable[:_MOST_NAMES]:
            out.print(cell(f"  {name}"))
    if effect["changed"]:
        results = counted(len(effect["changed"]), "result")
        out.print(cell(f"capturing {captured} changes {results}", "red"))
        out.print(cell(f"  first tensor that causes the difference: {effect['first']}", "red"))
        for name in effect["changed"][:_MOST_NAMES]:
            out.print(cell(f"  {name}"))
    else:
        which = "the other outputs and variables are" if unstable else "every output and variable is"
        out.print(cell(f"{which} bit-identical with and without capturing {captured}", "green"))
    if effect["unlike_kept"]:
        unlike = effect["unlike_kept"]
        kept = counted(effect["kept"], "tensor")
        out.print(
            cell(f"{len(unlike)} of {kept} captured in this call are not bit-identical to the replay", "red")
        )
        for name in unlike[:_MOST_NAMES]:
            out.print(cell(f"  {name}"))
    elif effect["kept"]:
        kept = counted(effect["kept"], "tensor")
        out.print(cell(f"all {kept} captured in this call are bit-identical to the replay", "green"))
    else:
        out.print("no captured tensors of this call to compare with")


def is_refuted(effect: Mapping[str, Any] | None) -> bool:
    """Whether capturing changed something."""
    return effect is not None and bool(effect["changed"] or effect["unlike_kept"])


def proof_of(answer: Answer, view: TensorView, source: Path) -> Verification | None:
    """Compares with the tensor's hash in the recording; None if tensors were changed.

    Args:
        source: the recorded run, or a bundle: where a value was stored, the difference is shown.
    """
    if answer.identical is None:
        return None
    proven = answer.proofs.get(view.snapshot.tensor)
    if proven is None:
        return Verification(False, "Recomputed", f"{NOT_CAPTURED}; its results are compared below")
    found = tensor_proof(proven, answer)
    return found if proven else found._replace(text=found.text + _difference(view, source))


def comparison_line(answer: Answer) -> Any:
    """Whether the step's results are as recorded: a line."""
    compared = results_text(answer) or "nothing to compare"
    if answer.identical:
        return cell(f"bit-identical to the recorded step ({compared})", "green")
    unlike = f"{len(answer.differing)} of the step's results ({compared})"
    if answer.identical is None:
        return cell(f"changed: {unlike} differ from the recording", "yellow")
    if bool(answer.failed) != bool(answer.recorded_failure):
        unlike = (
            "the step raises" if answer.failed else (f"the recorded step raised {answer.recorded_failure}")
        )
        return cell(f"not bit-identical: {unlike}", "red")
    return cell(f"not bit-identical: {unlike} differ", "red")


def _print_tensors(views: list[TensorView], proofs: list[Verification | None], out: Console) -> None:
    for view, proof in zip(views, proofs, strict=True):
        view.print(out)
        if proof is not None:
            colour = "green" if proof.proven else "" if proof.text.startswith(NOT_CAPTURED) else "red"
            out.print(cell(f"{proof.word.lower()}: {proof.text}", colour))
        out.print()


def _difference(view: TensorView, source: Path) -> str:
    kept = None if source.is_file() else _captured_value(only_run(source), view.snapshot)
    if kept is None or view.values is None or kept.shape != view.values.shape or kept.dtype.kind not in "fiu":
        return ""  # the run has no value, or a sample, or text
    difference = np.abs(kept.astype(np.float64) - view.values.astype(np.float64))
    finite = difference[np.isfinite(difference)]
    return f": values differ by at most {number_text(float(finite.max(initial=0.0)))}"


def _captured_value(run: RunIndex, wanted: Snapshot) -> np.ndarray[Any, Any] | None:
    """The stored value of the same tensor, step and visit; None without one."""
    from tensortap.index.query.tensor_lookup import find_snapshot
    from tensortap.index.values import read_slice

    graph = wanted.graph if wanted.graph != "-" else None
    try:
        found = find_snapshot(run, wanted.tensor, step=wanted.step, visit=wanted.visit, graph=graph)
        return read_slice(run, found, "", limit=None) if found.kept else None
    except TensortapError:
        return None
