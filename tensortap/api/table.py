"""A small table of columns: statistics over steps, snapshots found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError
from tensortap.core.text import did_you_mean, escaped

from .plots import import_optional, statistics_figure

Row = dict[str, Any]

_SHOWN = 10  # rows in a repr; of longer tables the first and last five
_SHOWN_COLUMNS = ("tensor", "step", "visit", "dtype", "shape", "nan", "min", "max", "mean", "std", "l2")


class Table:
    """Rows of named columns. `table["mean"]` is a column (a NumPy array), `table[3]` a row (a dict),
    `table[:10]` a table.

    Iteration yields rows. `to_arrow()`, `to_pandas()` and `to_polars()` return tables and data frames,
    `plot()` a figure of statistics over steps.

    Example:
        ```python
        table = tensortap.open("logs").runs["numpy"].history("weights:0")
        print(table.columns, table[0]["step"], table["max"].max())
        table.to_arrow()
        ```

    Raises:
        NotFoundError: `table["name"]`, if there is no such column; the hint names close ones.
    """

    def __init__(
        self, columns: Mapping[str, Any], title: str = "", shown: Sequence[str] = _SHOWN_COLUMNS
    ) -> None:
        self._columns = {name: as_column(values) for name, values in columns.items()}
        self._title = cell_text(title)
        self._shown = tuple(shown)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __iter__(self) -> Iterator[Row]:
        return (self._row(i) for i in range(len(self)))

    @overload
    def __getitem__(self, key: str) -> Array: ...
    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Table: ...

    def __getitem__(self, key: str | int | slice) -> Array | Row | Table:
        if isinstance(key, slice):
            return Table(
                {name: values[key] for name, values in self._columns.items()}, self._title, self._shown
            )
        if not isinstance(key, str):
            return self._row(range(len(self))[key])
        if key not in self._columns:
            hint = did_you_mean(key, self._columns, f"Use one of {', '.join(self.columns)}.")
            raise NotFoundError(f"No column {key!r}.", hint)
        return self._columns[key]

    def _row(self, i: int) -> Row:
        return {name: _item(values, i) for name, values in self._columns.items()}

    def to_pandas(self) -> Any:
        """The table as a `pandas.DataFrame`.

        Raises:
            ImportError: pandas is not installed.
        """
        import_optional("pandas", "to_pandas()", "pandas")
        return self.to_arrow().to_pandas()

    def to_arrow(self) -> pa.Table:
        """The table as a `pyarrow.Table`; shapes are lists."""
        return pa.table({name: pa.array(values.tolist()) for name, values in self._columns.items()})

    def to_polars(self) -> Any:
        """The table as a `polars.DataFrame`.

        Raises:
            ImportError: polars is not installed.
        """
        return import_optional("polars", "to_polars()", "polars").from_arrow(self.to_arrow())

    def plot(self, *names: str) -> Any:
        """A plotly figure over steps: columns in `names`, or mean, standard deviation and extremes.

        Raises:
            ImportError: plotly is not installed. NotFoundError: the column does not exist, or there are no
                steps.
        """
        return statistics_figure(self._columns, names, self._title.rstrip(": "))

    def _cells(self) -> tuple[list[str], list[list[str]], int | None]:
        """Header, rows, and the row after which some are skipped."""
        head = [name for name in self._shown if name in self._columns]
        count = len(self)
        shown = list(range(count))
        if count > _SHOWN:
            shown = [*range(_SHOWN // 2), *range(count - _SHOWN // 2, count)]
        rows = [[cell_text(_item(self._columns[name], i)) for name in head] for i in shown]
        return head, rows, _SHOWN // 2 if count > _SHOWN else None

    def __repr__(self) -> str:
        head, rows, gap = self._cells()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = ["  ".join(map(str.rjust, row, widths)) for row in [head, *rows]]
        if gap is not None:
            lines.insert(gap + 1, "…")
        return "\n".join([f"{self._title}{len(self):,} rows", *lines])

    def _repr_html_(self) -> str:
        from tensortap.html import notebook_repr

        head, rows, gap = self._cells()
        if gap is not None:
            rows.insert(gap, ["…"] * len(head))
        return notebook_repr.table(head, rows, f"{self._title}{len(self):,} rows")


def _item(values: Array, i: int) -> Any:
    """An element as a Python value; None for an unknown count."""
    hidden = isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values)[i]
    return None if hidden else values.item(i)


def as_column(values: Any) -> Array:
    """Lists of strings or tuples as arrays of objects."""
    if isinstance(values, np.ndarray):
        return values
    column = np.empty(len(values), object)
    for i, value in enumerate(values):
        column[i] = value
    return column


def cell_text(value: object) -> str:
    """A cell as text; control characters are escaped."""
    if value is None:
        return "unknown"
    if isinstance(value, float):
        return f"{value:.5g}"
    return escaped(str(value))
