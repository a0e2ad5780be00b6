"""Columns, codes and side tables behave like the NumPy and Python structures that they stand for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensortap.index.catalog import segments
from tensortap.index.catalog.columns import GrowingColumn, NarrowColumn, StringTable, factorize_rows
from tensortap.index.catalog.decode import ShapeTable
from tensortap.index.catalog.segments import Postings
from tensortap.index.catalog.step_totals import Tally

INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.lists(INT64 | st.integers(-5, 200), max_size=90), max_size=6))
def test_a_narrow_column_holds_any_integer(parts):
    column = NarrowColumn()
    for part in parts:
        column.extend(np.array(part, np.int64))
    assert column.view().tolist() == [value for part in parts for value in part]


def test_a_narrow_column_is_no_wider_than_needed():
    column = NarrowColumn()
    column.extend(np.zeros(1000, np.int64))
    assert column.nbytes < 1300
    column.extend(np.array([40_000]))
    assert column.view().dtype == np.int32


def test_views_stay_as_they_were_while_a_column_grows():
    column = GrowingColumn(np.int32)
    column.extend(np.arange(10))
    view = column.view(5)
    column.extend(np.arange(100_000))
    assert view.tolist() == [0, 1, 2, 3, 4]
    assert len(column) == 100_010


@given(st.lists(st.lists(st.integers(0, 5), max_size=30), max_size=6))
def test_postings_find_the_rows_of_each_code(parts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "_MIN_TAIL", 10)
        column = GrowingColumn(np.int32)
        table = Postings(column)
        for part in parts:
            before = len(column)
            column.extend(np.array(part, np.int32))
            values = column.view()
            for code in range(7):
                assert table.rows(code, len(column)).tolist() == np.flatnonzero(values == code).tolist()
                assert table.rows(code, before).tolist() == np.flatnonzero(values[:before] == code).tolist()


@given(st.lists(st.tuples(INT64, st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=50))
def test_equal_rows_get_equal_codes(rows):
    columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
    codes, first = factorize_rows(columns)
    assert [rows[first[code]] for code in codes] == rows
    assert len(first) == len(set(rows))
    assert all(rows.index(rows[i]) == i for i in first)


@given(st.lists(st.lists(st.integers(0, 2**40), max_size=3), max_size=30), st.integers(0, 5))
def test_shapes_are_interned(shapes, cut):
    table = ShapeTable()
    column = pa.array(shapes, pa.list_(pa.int64())).slice(cut)
    codes = table.encode(column) if len(column) else []
    assert [table.values[code] for code in codes] == [tuple(shape) for shape in shapes[cut:]]
    assert len(set(table.values)) == len(table.values)


def test_strings_are_interned_over_several_batches():
    table = StringTable()
    assert table.encode(pa.array(["b", "a", "b"])).tolist() == [0, 1, 0]
    assert table.encode(pa.array(["c", "a"])).tolist() == [2, 1]
    assert table.encode(pa.array([], pa.string())).tolist() == []
    assert (table.code("a"), table.code("z"), len(table)) == (1, None, 3)


@given(st.lists(st.lists(st.integers(0, 9), max_size=20), max_size=5))
def test_a_tally_counts(parts):
    tally = Tally()
    for part in parts:
        tally.count(np.array(part, np.int64))
    everything = [code for part in parts for code in part]
    assert tally.totals(12).tolist() == [everything.count(code) for code in range(12)]
    assert tally.of(3) == everything.count(3)
    assert tally.of(50) == 0
