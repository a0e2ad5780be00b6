"""The records of a comparison: tensors that differ, pairs of graphs, the first divergence."""

from __future__ import annotations

from dataclasses import dataclass, field

from tensortap.index.query.node_detail import FrameDetail

from .metrics.distances import Metrics


@dataclass(frozen=True, slots=True)
class SideInfo:
    """Which run, step and worker was compared."""

    run: str
    run_id: str
    step: int
    worker: str


@dataclass(frozen=True, slots=True)
class TensorDifference:
    """A tensor that both sides captured, at its worst visit.

    Attributes:
        tensor, other, node, graph, other_graph: its names in A and B, node and graph ids.
        matched: how the nodes were paired: `name`, `structure`, `scope`, `hand`. order: place in data flow.
        visit: the first with the worst verdict; visits: compared ones. basis: `values`, `summaries` or
        `shapes`. verdict: of `DIFFERENCE_VERDICTS`. limit: the `relative` that rounding explains. before: the
        largest `relative` of its inputs. accepted: tool -> whether its published defaults accept it.
        variable: path of the variable that it is the value of, or empty.
        no_value_a, no_value_b: why a side's value is not there (`tensortap.index.Snapshot`), or empty.
    """

    tensor: str
    other: str
    node: str
    graph: str
    other_graph: str
    op_type: str
    layer: str
    matched: str
    order: int
    visit: int
    visits: int
    dtype_a: str
    dtype_b: str
    shape_a: tuple[int, ...]
    shape_b: tuple[int, ...]
    basis: str
    verdict: str
    limit: float
    before: float
    metrics: Metrics
    accepted: dict[str, bool]
    variable: str = ""
    no_value_a: str = ""
    no_value_b: str = ""


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A node of one side only; `captured`: with snapshots at the step. `variable`: path of the variable that
    it reads, or empty. `frame`: the line that made it, of those that are listed first."""

    node: str
    op_type: str
    layer: str
    graph: str
    captured: bool
    variable: str = ""
    frame: FrameDetail | None = None


@dataclass(frozen=True, slots=True)
class GraphPair:
    """Two paired graphs. `matched`: method -> number of nodes; `renames`: (scope in A, in B, nodes);
    `matches`: node in A -> node in B, for all pairs whose names differ."""

    a: str
    b: str
    name: str
    matched: dict[str, int]
    only_a: int
    only_b: int
    renames: list[tuple[str, str, int]]
    matches: dict[str, str]


@dataclass(frozen=True, slots=True)
class FirstDivergence:
    """The tensor where the difference begins.

    Attributes:
        text: the reason in a sentence. frame, frame_b: its source line in A and in B.
        inputs: its inputs; empty if its partner takes others, which the sentence names.
        extra: the layer, node or constant where the programs begin to differ, if that explains the
            difference, or empty. variable: path of the variable that the tensor reads, or empty.
    """

    difference: TensorDifference
    text: str
    inputs: list[TensorDifference]
    frame: FrameDetail | None
    frame_b: FrameDetail | None
    extra: str = ""
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs (steps, workers), compared at the first pair of steps at which they differ, or at the last
    pair.

    Attributes:
        steps: captured steps that were compared up to this one. tensors: in data flow order. counts:
        verdict -> tensors. only_a, only_b: nodes without a partner, captured ones first. differ: beyond
        what rounding explains. notes: sentences.
    """

    a: SideInfo
    b: SideInfo
    steps: int
    graphs: list[GraphPair]
    tensors: list[TensorDifference]
    counts: dict[str, int]
    first: FirstDivergence | None
    only_a: list[Unmatched]
    only_b: list[Unmatched]
    differ: bool
    notes: list[str] = field(default_factory=list)
