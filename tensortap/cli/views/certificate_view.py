"""The observer certificate of `tensortap replay --certify`, printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tensortap.core.text import counted

from ..console import cell

if TYPE_CHECKING:
    from rich.console import Console

_MOST_SHOWN = 20


def is_refuted(certificate: Mapping[str, Any] | None) -> bool:
    """Whether capturing changed something."""
    return certificate is not None and bool(certificate["changed"] or certificate["unlike_kept"])


def print_certificate(certificate: Mapping[str, Any], out: Console) -> None:
    """Writes what was certified, or what refutes it."""
    captured = counted(certificate["tensors"], "tensor")
    unstable = certificate["unstable"]
    if unstable:
        results = counted(len(unstable), "result")
        out.print(cell(f"not deterministic between two runs without taps: {results}", "yellow"))
        for name in unstable[:_MOST_SHOWN]:
            out.print(cell(f"  {name}"))
    if certificate["changed"]:
        results = counted(len(certificate["changed"]), "result")
        out.print(cell(f"capturing {captured} changes {results}", "red"))
        out.print(cell(f"  the first tensor that makes the difference: {certificate['first']}", "red"))
        for name in certificate["changed"][:_MOST_SHOWN]:
            out.print(cell(f"  {name}"))
    else:
        which = "the others" if unstable else "any output or variable"
        out.print(cell(f"capturing {captured} changes no bit of {which}", "green"))
    if certificate["unlike_kept"]:
        unlike = certificate["unlike_kept"]
        kept = counted(certificate["kept"], "tensor")
        out.print(
            cell(f"not as computed: {len(unlike)} of the {kept} that the run captured in that call", "red")
        )
        for name in unlike[:_MOST_SHOWN]:
            out.print(cell(f"  {name}"))
    elif certificate["kept"]:
        kept = counted(certificate["kept"], "tensor")
        out.print(cell(f"as computed: the {kept} that the run captured in that call", "green"))
    else:
        out.print("of that call the run captured nothing that could be compared")
