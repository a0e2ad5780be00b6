"""Snapshots that were found: a sequence of tensors that are made when they are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa

from tensortap.index.run_index import RunIndex
from tensortap.index.series.history import row_columns
from tensortap.index.snapshot import snapshots_at

from .table import Table
from .tensor import Tensor


class Tensors(Sequence[Tensor]):
    """A sequence of tensors. `table()` gives their statistics as columns."""

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
        """One row a snapshot: tensor, step, visit, graph, worker, time, dtype, shape, counts, statistics,
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
