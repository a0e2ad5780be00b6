"""One snapshot of a tensor, lazy: its value is read on access."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa

from tensortap.core.dtypes import Array, numpy_dtype
from tensortap.core.errors import UnverifiedWarning
from tensortap.core.histogram import Histogram
from tensortap.core.records import COUNTS, STATISTICS, Summary
from tensortap.core.sampling import Sample
from tensortap.index.missing_values import no_value
from tensortap.index.query.node_detail import node_detail
from tensortap.index.run_index import RunIndex
from tensortap.index.series.history import row_columns
from tensortap.index.snapshot import Snapshot, snapshots_at
from tensortap.index.values import find_histogram, read_slice, select_slice, stored_sample

from .plots import value_figure
from .table import Table, cell_text

REPLICA = "tensortap.replica"  # attribute of a node


class Tensor:
    """One tensor captured at one (step, visit).

    `tensor[0, :, 10:20]` reads a slice, and only the needed bytes; `np.asarray(tensor)` reads the whole
    value. Both raise ValueNotKeptError if the value is missing; the message says why.

    Attributes:
        name, node, slot, graph, step, visit, worker, device: identity of the snapshot; `graph` is `-`
            without a graph.
        time: time of capture, in seconds since 1970.
        kept: whether the value is stored.

    Example:
        ```python
        tensor = tensortap.open("logs").runs["numpy"].tensor("weights:0", step=0)
        print(tensor.shape, tensor.dtype, tensor.summary.mean)
        print(tensor[0, 1:])
        ```

    Raises:
        SelectionError: `tensor[…]`, if the selection does not fit the shape.
        ValueNotKeptError: the value is missing. DamagedError: its checksum is wrong.
    """

    def __init__(self, run: RunIndex, snapshot: Snapshot) -> None:
        self._run, self._snapshot = run, snapshot
        self.name, self.node, self.slot = snapshot.tensor, snapshot.node, snapshot.slot
        self.graph, self.step, self.visit = snapshot.graph, snapshot.step, snapshot.visit
        self.worker, self.device, self.time = snapshot.worker, snapshot.device, snapshot.time
        self.kept = snapshot.kept

    @property
    def replica(self) -> int | None:
        """Replica of a distribution strategy that computed the tensor; None for a single replica or a shared
        node."""
        if self.graph == "-":
            return None
        number = node_detail(self._run, self.node, graph=self.graph).attributes.get(REPLICA, "")
        return int(number) if number.isdecimal() else None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self._snapshot.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the value; `object` for text.

        Raises:
            InvalidValueError: the installed ml_dtypes does not support it.
        """
        return numpy_dtype(self._snapshot.dtype)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._snapshot.size

    @property
    def sample(self) -> Sample | None:
        """The sample that is stored; None for the whole value. A sample has one dimension."""
        return stored_sample(self._run, self._snapshot)

    @property
    def histogram(self) -> Histogram:
        """Histogram of the finite, non-zero elements, read from the dump."""
        return find_histogram(self._run, self._snapshot)

    @property
    def summary(self) -> Summary:
        """dtype, shape, counts, statistics and histogram."""
        fields = {
            name: getattr(self._snapshot, name) for name in ("dtype", "shape", "size", *COUNTS, *STATISTICS)
        }
        return Summary(**fields, histogram=self.histogram)

    def __getitem__(self, selection: object) -> Any:
        """A slice of the value; a scalar where every dimension is indexed, as in NumPy.

        Warns with `UnverifiedWarning` where it cannot be compared with a checksum (FORMAT.md, "Versions").

        Raises:
            SelectionError: it does not fit the shape. ValueNotKeptError, DamagedError: see the class.
        """
        part = select_slice(self._run, self._snapshot, selection)
        if part.unverified:
            warnings.warn(f"{self._snapshot.tensor}: {part.unverified}", UnverifiedWarning, stacklevel=2)
        return part.read()[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("The value is in a file, so reading it makes a copy. Remove copy=False.")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def numpy(self) -> Array:
        """The whole value as a new array, verified by checksum."""
        return read_slice(self._run, self._snapshot)

    def plot(self, selection: object = None) -> Any:
        """A plotly figure of a slice: a heatmap of two dimensions, or a line of one.

        Args:
            selection: as in `tensor[…]`, or text such as `"0,:,:,3"`. The default is the last two
                dimensions, with index 0 in the others.

        Raises:
            ImportError: plotly is not installed. InvalidValueError: it is text, or has another number of
                dimensions. SelectionError, ValueNotKeptError, DamagedError: see the class.
        """
        if selection is None:
            rank = 1 if self.sample is not None else self.ndim
            selection = (0,) * max(rank - 2, 0) + (...,)
        shown = selection if isinstance(selection, str) else selection_text(selection)
        return value_figure(np.asarray(self[selection]), f"{self.name}[{shown}], step {self.step}")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("A scalar has no length.")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __float__(self) -> float:
        return float(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __repr__(self) -> str:
        snapshot = self._snapshot
        visit = f" iteration {snapshot.visit}" if snapshot.visit else ""
        bad = [f"{getattr(snapshot, name):,} {name}" for name in COUNTS[:3] if getattr(snapshot, name)]
        kept = [] if self.kept else [_no_value(snapshot.no_value)]
        about = ", ".join([f"{snapshot.dtype} {snapshot.shape}", *bad, *_statistics(snapshot), *kept])
        return f"<tensor {self.name!r} step {snapshot.step}{visit}: {about}>"

    def _repr_html_(self) -> str:
        from tensortap.html import notebook_repr

        snapshot = self._snapshot
        names = ("step", "visit", "dtype", "shape", "size", *COUNTS, *STATISTICS)
        rows = [
            (name, "unknown" if name in snapshot.unknown else cell_text(getattr(snapshot, name)))
            for name in names
        ]
        return notebook_repr.tensor(self.name, rows, self.histogram, snapshot.zero)


def _statistics(snapshot: Snapshot) -> list[str]:
    """Smallest, largest and mean of the finite elements, or why there are none."""
    named = ((name, getattr(snapshot, name)) for name in ("min", "max", "mean"))
    known = [f"{name} {value:.4g}" for name, value in named if not math.isnan(value)]
    if known or snapshot.dtype == "string":
        return known
    if not snapshot.size and "size" not in snapshot.unknown:
        return ["no elements"]
    return ["statistics unknown" if snapshot.unknown else "no finite elements"]


def _no_value(code: str) -> str:
    """`value lost` and similar; a value that was never requested is not lost."""
    return "summary only" if code in ("summary", "source") else f"value {no_value(code, '').happened}"


def selection_text(selection: object) -> str:
    """Text between the brackets of an index: `(0, slice(None), slice(1, 5))` -> `0, :, 1:5`."""
    parts = selection if isinstance(selection, tuple) else (selection,)
    return ", ".join(_part_text(part) for part in parts)


def _part_text(part: object) -> str:
    if part is Ellipsis:
        return "…"
    if not isinstance(part, slice):
        return str(part)
    ends = ["" if end is None else str(end) for end in (part.start, part.stop)]
    return ":".join(ends + ([] if part.step is None else [str(part.step)]))


class Tensors(Sequence[Tensor]):
    """A sequence of tensors. `table()` returns their statistics as columns.

    Example:
        ```python
        tensors = tensortap.open("logs").runs["numpy"].find("weights")
        print([tensor.name for tensor in tensors])
        print(tensors.table()["abs_max"])
        ```
    """

    def __init__(self, run: RunIndex, rows: np.ndarray[Any, np.dtype[Any]]) -> None:
        self._run, self._rows = run, rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Tensor: ...
    @overload
    def __getitem__(self, index: slice) -> Tensors: ...

    def __getitem__(self, index: int | slice) -> Tensor | Tensors:
        if isinstance(index, slice):
            return Tensors(self._run, self._rows[index])
        row = self._rows[[range(len(self))[index]]]
        return Tensor(self._run, snapshots_at(self._run.catalog, row)[0])

    def table(self) -> Table:
        """One row per snapshot: tensor, step, visit, graph, worker, time, dtype, shape, counts, statistics,
        kept."""
        catalog = self._run.catalog
        codes = catalog.column("tensor", self._rows).tolist()
        names = {"tensor": [catalog.tensors.names[code] for code in codes]}
        return Table({**names, **row_columns(catalog, self._rows)}, "snapshots: ")

    def to_pandas(self) -> Any:
        """The table as a `pandas.DataFrame`.

        Raises:
            ImportError: pandas is not installed.
        """
        return self.table().to_pandas()

    def to_arrow(self) -> pa.Table:
        """The table as a `pyarrow.Table`."""
        return self.table().to_arrow()

    def to_polars(self) -> Any:
        """The table as a `polars.DataFrame`.

        Raises:
            ImportError: polars is not installed.
        """
        return self.table().to_polars()

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()
