"""Ragged and sparse values become one tensor a component."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from dump_tools import read_all

from tensortap.core.errors import InvalidValueError
from tensortap.dump.write.snapshot_batch import component_arrays
from tensortap.dump.write.writer import DumpWriter


class Ragged(NamedTuple):
    """As `tf.RaggedTensor`."""

    flat_values: Any
    nested_row_splits: Any


class Sparse(NamedTuple):
    """As `tf.SparseTensor`."""

    indices: Any
    values: Any
    dense_shape: Any


def logged(tmp_path: Path, name: str, value: Any) -> dict[str, Any]:
    with DumpWriter(tmp_path) as writer:
        writer.log(name, value, step=0)
    return {f"{node}:{slot}": value.tolist() for (node, slot, _), value in read_all(tmp_path).values.items()}


def test_ragged_tensors(tmp_path: Path) -> None:
    value = Ragged(np.array([1.0, 2.0, 3.0]), [np.array([0, 1, 2]), np.array([0, 2, 3])])
    assert logged(tmp_path, "emb/out:1", value) == {
        "emb/out/values:1": [1.0, 2.0, 3.0],
        "emb/out/row_splits_0:1": [0, 1, 2],
        "emb/out/row_splits_1:1": [0, 2, 3],
    }


def test_sparse_tensors(tmp_path: Path) -> None:
    value = Sparse(np.array([[0, 1]]), np.array([5]), np.array([2, 2]))
    assert logged(tmp_path, "s", value) == {
        "s/values:0": [5],
        "s/indices:0": [[0, 1]],
        "s/dense_shape:0": [2, 2],
    }


@pytest.mark.parametrize(
    ("rows", "values", "splits"),
    [
        ([[1, 2], [], [3]], [1, 2, 3], [0, 2, 2, 3]),
        ([np.ones((2, 2)), np.zeros((1, 2))], [[1, 1], [1, 1], [0, 0]], [0, 2, 3]),
        ([["a"], ["b", "c"]], [b"a", b"b", b"c"], [0, 1, 3]),
    ],
)
def test_lists_of_uneven_rows(tmp_path: Path, rows: Any, values: Any, splits: Any) -> None:
    assert logged(tmp_path, "r", rows) == {"r/values:0": values, "r/row_splits_0:0": splits}


def test_the_summary_is_that_of_the_values(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as writer:
        summary = writer.log("r", [[1.0], [2.0, 3.0]], step=0)
    assert (summary.size, summary.mean) == (3, 2.0)


def test_ordinary_values_have_no_components() -> None:
    for value in (np.ones(3), 1.0, "text", [1, 2], [[1, 2], [3, 4]], []):
        assert component_arrays("x", value) is None


@pytest.mark.parametrize("rows", [[[1], 2], [np.ones((1, 2)), np.ones((2, 3))]])
def test_rows_that_do_not_fit_together(rows: Any) -> None:
    with pytest.raises(InvalidValueError, match="different shapes or dtypes"):
        component_arrays("r", rows)
