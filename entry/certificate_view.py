"""The observer certificate of `tensortap replay --certify`: completed with what the run kept, and printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensortap.dump import TensortapError, array_hash

from .runs import only_run
from .terminal import cell, counted

if TYPE_CHECKING:
    from rich.console import Console

    from tensortap.index import RunIndex, Snapshot

_MOST_SHOWN = 20


def with_kept_values(answer: Any, source: Path, computed: Path) -> Any:
    """The answer, its certificate completed: tensors that the recorded run kept at that step, compared bit by
    bit with those that were computed again. A bundle has no kept values."""
    if answer.certificate is None or source.is_file() or not answer.tensors:
        return answer
    recorded, again = only_run(source), only_run(computed)
    compared, unlike = 0, []
    for snapshot in _snapshots(again):
        kept = _kept(recorded, snapshot)
        if kept is not None and kept.shape == snapshot.shape:  # a sample has another one
            compared += 1
            if array_hash(kept) != array_hash(_value(again, snapshot)):
                unlike.append(snapshot.tensor)
    return replace(answer, certificate=answer.certificate | {"kept": compared, "unlike_kept": unlike})


def _snapshots(run: RunIndex) -> list[Snapshot]:
    from tensortap.index import snapshots

    return snapshots(run, limit=10**9, kept=True).rows


def _kept(run: RunIndex, wanted: Snapshot) -> np.ndarray[Any, Any] | None:
    """The value that the run kept of the same tensor, step and visit; None if it kept none."""
    from tensortap.index import locate

    graph = wanted.graph if wanted.graph != "-" else None
    try:
        found = locate(run, wanted.tensor, step=wanted.step, visit=wanted.visit, worker=None, graph=graph)
        return _value(run, found) if found.kept else None
    except TensortapError:
        return None


def _value(run: RunIndex, snapshot: Snapshot) -> np.ndarray[Any, Any]:
    from tensortap.index import read_slice

    return read_slice(run, snapshot, "", limit=None)


def is_refuted(certificate: Mapping[str, Any] | None) -> bool:
    """Whether capturing changed something."""
    return certificate is not None and bool(certificate["changed"] or certificate["unlike_kept"])


def print_certificate(certificate: Mapping[str, Any], out: Console) -> None:
    """Writes what was certified, or what refutes it."""
    captured = counted(certificate["tensors"], "tensor")
    if certificate["changed"]:
        out.print(cell(f"capturing {captured} changes {len(certificate['changed'])} results", "red"))
        out.print(cell(f"  the first tensor that makes the difference: {certificate['first']}", "red"))
        for name in certificate["changed"][:_MOST_SHOWN]:
            out.print(cell(f"  {name}"))
    else:
        out.print(cell(f"capturing {captured} changes no bit of any output or variable", "green"))
    if certificate["unlike_kept"]:
        unlike = certificate["unlike_kept"]
        out.print(cell(f"{len(unlike)} of {certificate['kept']} kept values are not as computed", "red"))
        for name in unlike[:_MOST_SHOWN]:
            out.print(cell(f"  {name}"))
    elif certificate["kept"]:
        out.print(cell(f"the {certificate['kept']} values that the run kept are as computed", "green"))
