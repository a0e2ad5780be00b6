"""Records of a dump as plain data: `Summary`, `SummaryTable` (of a batch), `Graph`, `Node`, `Function`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .histogram import Histogram

COUNTS = ("nan", "pos_inf", "neg_inf", "zero", "negative", "positive", "subnormal")
ELEMENT_KINDS = COUNTS[:6]  # every element is one of these
STATISTICS = ("min", "max", "mean", "std", "l2", "abs_max")

Keep = Literal["summary", "value"]
CaptureMode = Literal["", "in-place", "shadow"]


@dataclass(frozen=True, slots=True)
class Summary:
    """dtype, shape, exact counts, statistics over the finite values, and histogram of one array.

    `min`, `max`, `mean`, `std` (population), `l2` and `abs_max` are float64 and NaN where no element is
    finite. `nan + pos_inf + neg_inf + zero + negative + positive == size` for numeric dtypes; strings have
    `size` only.
    """

    dtype: str
    shape: tuple[int, ...]
    size: int
    nan: int
    pos_inf: int
    neg_inf: int
    zero: int
    negative: int
    positive: int
    subnormal: int
    min: float
    max: float
    mean: float
    std: float
    l2: float
    abs_max: float
    histogram: Histogram


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a graph. `inputs` are tensor names in order, then control inputs as `^node`.

    `name` is unique in the graph; `function` names the function it belongs to; `stack` is an index into
    `Graph.stacks` (-1: unknown). `output_shapes` hold None for unknown dimensions, and None for unknown rank.
    """

    name: str
    op_type: str
    inputs: Sequence[str] = ()
    function: str = ""
    device: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    layer: str = ""
    stack: int = -1
    output_dtypes: Sequence[str] = ()
    output_shapes: Sequence[Sequence[int | None] | None] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """The place of a function in its graph: its caller, its role, and the tensors it returns."""

    parent: str = ""
    caller: str | None = None
    role: Literal["root", "call", "body", "cond", "then", "else", "branch"] = "root"
    outputs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class LayerCall:
    """One call of a Keras layer while the graph was traced.

    `path`: names of the layers being called, outermost first, joined by `/`. `parent`: index in
    `Graph.layers` of the call around it, -1 for none. `class_name`, `module`: of the layer. `config`: its
    arguments in short.
    `inputs`, `outputs`: tensor names in order. `parameters`: elements of its weights, those of inner layers
    included. `variables`: paths of those that no inner layer has. `source`: file and line where the user's
    class is defined, None for Keras' own.
    """

    path: str
    class_name: str
    module: str
    parent: int = -1
    config: str = ""
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    parameters: int = 0
    variables: Sequence[str] = ()
    source: tuple[str, int] | None = None


Frame = tuple[str, int, str]  # file, line, function


@dataclass(frozen=True, slots=True)
class Graph:
    """The nodes of one traced function and of all functions it calls.

    `stacks` hold user frames only, innermost last; `sources` maps the files named in them to their text.
    `graph_def` is the serialized GraphDef with its library, if there is one. `way` says how its tensors were
    captured: in the step itself, or in a shadow that ran beside the unchanged step; empty if unknown.
    `layers`: calls of Keras layers in the order in which they began. `variables`: path -> kind (`weight`,
    `moving`, `seed`, `slot`, `iteration`, `metric`) of the variables that are known.
    """

    name: str
    nodes: Sequence[Node]
    functions: Mapping[str, Function] = field(default_factory=dict)
    stacks: Sequence[Sequence[Frame]] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    graph_def: bytes | None = None
    way: CaptureMode = ""
    layers: Sequence[LayerCall] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


INTEGERS = ("size", *COUNTS)

_INTEGERS_OF = attrgetter(*INTEGERS)
_STATISTICS_OF = attrgetter(*STATISTICS)


@dataclass(frozen=True, slots=True)
class SummaryTable(Sequence[Summary]):
    """Summaries of n tensors; a sequence of `Summary`, each created on access.

    Attributes:
        dtypes, shapes: of the arrays.
        integers: int64[n, 8], in the order of `INTEGERS`.
        statistics: float64[n, 6], in the order of `STATISTICS`.
        bucket_ids, bucket_counts: the histograms: uint16[k] and int64[k] each.
    """

    dtypes: Sequence[str]
    shapes: Sequence[tuple[int, ...]]
    integers: npt.NDArray[np.int64]
    statistics: npt.NDArray[np.float64]
    bucket_ids: Sequence[npt.NDArray[np.uint16]]
    bucket_counts: Sequence[npt.NDArray[np.int64]]

    @staticmethod
    def of(summaries: Sequence[Summary]) -> SummaryTable:
        """The table of these."""
        count = len(summaries)
        return SummaryTable(
            [summary.dtype for summary in summaries],
            [summary.shape for summary in summaries],
            np.array([_INTEGERS_OF(summary) for summary in summaries], np.int64).reshape(
                count, len(INTEGERS)
            ),
            np.array([_STATISTICS_OF(summary) for summary in summaries], np.float64).reshape(
                count, len(STATISTICS)
            ),
            [summary.histogram.bucket_id for summary in summaries],
            [summary.histogram.bucket_count for summary in summaries],
        )

    def take(self, rows: Sequence[int], shapes: Sequence[tuple[int, ...]]) -> SummaryTable:
        """The table of these rows, each with the given shape."""
        return SummaryTable(
            [self.dtypes[row] for row in rows],
            shapes,
            self.integers[rows],
            self.statistics[rows],
            [self.bucket_ids[row] for row in rows],
            [self.bucket_counts[row] for row in rows],
        )

    def __len__(self) -> int:
        return len(self.dtypes)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        numbers: list[Any] = [*self.integers[row].tolist(), *self.statistics[row].tolist()]
        return Summary(
            self.dtypes[row],
            self.shapes[row],
            **dict(zip((*INTEGERS, *STATISTICS), numbers, strict=True)),
            histogram=Histogram(self.bucket_ids[row], self.bucket_counts[row]),
        )
