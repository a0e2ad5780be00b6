"""Tensors of one name that were captured in several graphs, or outside of any, as eager ops are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tensortap.core.text import counted

from .console import cell, console

if TYPE_CHECKING:
    from tensortap.index.run_index import RunIndex


def same_names(run: RunIndex, names: Iterable[str]) -> list[str]:
    """Those of some tensor names that stand for several tensors of a run."""
    from tensortap.index.query.resolve_names import graphs_of_name

    return sorted(name for name in names if len(graphs_of_name(run.catalog, name)) > 1)


def tell_same_names(names: list[str]) -> None:
    """Says below a list how to ask for one of them."""
    which = f"{names[0]!r}" if len(names) == 1 else f"{names[0]!r} and {counted(len(names) - 1, 'more name')}"
    verb = "stands" if len(names) == 1 else "stand"
    text = f"{which} {verb} for tensors of several graphs: --graph GRAPH chooses (-: of none, as eager ops)"
    console(stderr=True).print(cell(text, "dim"))


def other_graphs(run: RunIndex, tensor: str, graph: str) -> list[str]:
    """The other graphs (`-`: none) in which a tensor of that name was captured."""
    from tensortap.index.query.resolve_names import graphs_of_name

    return [other for other in graphs_of_name(run.catalog, tensor) if other != graph]
