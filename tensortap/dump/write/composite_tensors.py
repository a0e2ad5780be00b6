"""Splits ragged and sparse tensors, and uneven lists, into the arrays they consist of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import InvalidValueError
from tensortap.core.names import parse_tensor_name, tensor_name

Parts = list[tuple[str, Any]]


def component_arrays(name: str, value: Any) -> Parts | None:
    """Splits a composite value into `(tensor name, array)` components, or returns None if it is not one.

    - Ragged tensors (anything with `flat_values` and `nested_row_splits`): `node/values:slot` and
      `node/row_splits_0:slot` …, outermost first.
    - Sparse tensors (`indices`, `values`, `dense_shape`): `node/values:slot`, `node/indices:slot`,
    `node/dense_shape:slot`.
    - A list or tuple of arrays that differ in their first extent only: as a ragged tensor.

    Raises:
        InvalidValueError: a list whose rows do not fit together.
    """
    if hasattr(value, "flat_values") and hasattr(value, "nested_row_splits"):
        return _ragged(name, value.flat_values, value.nested_row_splits)
    if all(hasattr(value, attribute) for attribute in ("indices", "values", "dense_shape")):
        found = [
            (_component(name, part), getattr(value, part)) for part in ("values", "indices", "dense_shape")
        ]
        return [(part, array) for part, array in found if array is not None]
    if isinstance(value, (list, tuple)) and _is_uneven(value):
        rows = [np.asarray(row) for row in value]
        return _ragged(name, _join(name, rows), [np.cumsum([0, *map(len, rows)], dtype=np.int64)])
    return None


def _component(name: str, part: str) -> str:
    node, slot = parse_tensor_name(name)
    return tensor_name(f"{node}/{part}", slot)


def _ragged(name: str, flat_values: Any, splits: Sequence[Any]) -> Parts:
    rows = [(_component(name, f"row_splits_{i}"), split) for i, split in enumerate(splits)]
    return [(_component(name, "values"), flat_values), *rows]


def _is_uneven(rows: Sequence[Any]) -> bool:
    """Whether a list holds sequences of unequal length, which NumPy refuses to make an array of."""
    lengths = {
        len(row) if hasattr(row, "__len__") and not isinstance(row, (str, bytes)) else -1 for row in rows
    }
    return len(lengths) > 1


def _join(name: str, rows: Sequence[Array]) -> Array:
    filled = [row for row in rows if row.size] or list(rows[:1])
    try:
        return np.concatenate(filled)
    except ValueError as error:
        raise InvalidValueError(
            f"The rows of {name!r} do not fit together: {error}.",
            "Rows may differ in their first extent only.",
        ) from error
