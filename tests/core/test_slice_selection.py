"""Selections: text and Python indexing, resolved as NumPy does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensortap.core.errors import SelectionError
from tensortap.core.slice_selection import parse_selection, resolve_selection

LENGTHS = st.lists(st.integers(0, 6), max_size=4)
BOUND = st.none() | st.integers(-9, 9)
ITEM = (
    st.integers(-6, 5)
    | st.builds(slice, BOUND, BOUND, st.none() | st.integers(-4, 4).filter(bool))
    | st.just(...)
)


@given(LENGTHS, st.lists(ITEM, max_size=5))
def test_it_selects_what_numpy_selects(shape, items):
    array = np.arange(int(np.prod(shape))).reshape(shape)
    try:
        expected = array[tuple(items)]
    except IndexError:
        with pytest.raises(SelectionError):
            resolve_selection(tuple(items), shape)
        return
    selection = resolve_selection(tuple(items), shape)
    assert selection.shape == expected.shape
    assert selection.size == expected.size
    again = resolve_selection(selection.text, shape)
    assert again == selection
    grid = np.ix_(*(axis.start + axis.step * np.arange(axis.count) for axis in selection.axes))
    assert np.array_equal(array[grid].reshape(expected.shape), expected)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", ()),
        ("0,:,10:20", (0, slice(None), slice(10, 20))),
        (" [ -1 , ::2 ] ", (-1, slice(None, None, 2))),
        ("...,3", (..., 3)),
        ("1,,2", (1, slice(None), 2)),
        ("5:0:-1", (slice(5, 0, -1),)),
    ],
)
def test_text_is_parsed(text, items):
    assert parse_selection(text) == items


@pytest.mark.parametrize(
    "selection",
    ["a", "1.5", "1:2:3:4", "::0", "0" * 30, ",".join("0" * 600), "9", "0,0,0", "...,...", "__import__"],
)
def test_nonsense_is_refused_with_a_hint(selection):
    with pytest.raises(SelectionError) as error:
        resolve_selection(selection, (3, 4))
    assert error.value.hint


@pytest.mark.parametrize(
    "selection", [None, True, 1.0, [0, 1], np.array([True]), (0, None), slice(None, None, 0)]
)
def test_python_indices_beyond_slices_are_refused(selection):
    with pytest.raises(SelectionError):
        resolve_selection(selection, (3, 4))


def test_a_scalar_has_one_selection():
    assert resolve_selection("", ()).shape == ()
    assert resolve_selection(np.int64(1), (2,)).shape == ()
