"""Reading slices: the same elements as NumPy, and no more bytes than needed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensortap.core.errors import DamagedError, LimitError
from tensortap.core.slice_selection import resolve_selection
from tensortap.index import slices
from tensortap.index.slices import read_selected, read_selected_strings

BOUND = st.none() | st.integers(-9, 9)
ITEM = st.integers(-6, 5) | st.builds(slice, BOUND, BOUND, st.none() | st.integers(-4, 4).filter(bool))


class Source:
    """Bytes in memory that remember what was read of them."""

    def __init__(self, data: bytes) -> None:
        self.data, self.reads = data, []

    def __call__(self, start: int, length: int) -> bytes:
        assert 0 <= start <= start + length <= len(self.data)
        self.reads.append(length)
        return self.data[start : start + length]


@given(
    st.lists(st.integers(1, 6), max_size=4),
    st.lists(ITEM, max_size=4),
    st.sampled_from([0, 8, 40, 65536]),
    st.sampled_from([1, 16, 200, 1 << 20]),
    st.sampled_from(["int8", "float32", "complex128"]),
)
def test_any_selection_reads_what_numpy_selects(shape, items, gap, block, dtype):
    array = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    try:
        expected = array[tuple(items)]
    except IndexError:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "BLOCK", block)
        found = read_selected(
            Source(array.tobytes()), array.dtype, shape, resolve_selection(tuple(items), shape), gap
        )
    assert found.dtype == array.dtype
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)


def read(shape: tuple[int, ...], selection: str) -> list[int]:
    source = Source(np.zeros(shape, np.float32).tobytes())
    read_selected(source, np.dtype(np.float32), shape, resolve_selection(selection, shape))
    return source.reads


def test_only_the_bytes_that_are_needed_are_read():
    assert read((64, 1000, 1000), "3,:,10:20") == [(999 * 1000 + 10) * 4]  # rows 4 kB apart: one read
    assert read((3, 200_000), "1,5:7") == [8]
    assert read((4, 100_000), ":,5") == [4] * 4  # 400 kB apart: not worth reading along
    assert read((1000, 1000), "5") == [4000]
    assert read((10, 10), "0:0") == []


def test_a_column_of_a_huge_matrix_is_read_in_blocks():
    reads = read((6000, 2000), ":,7")  # 48 MB, rows 8 kB apart
    assert max(reads) <= slices.BLOCK
    assert len(reads) < 10


def stored(texts: list[bytes]) -> bytes:
    offsets = np.cumsum([0, *map(len, texts)], dtype="<i8")
    return offsets.tobytes() + b"".join(texts)


@given(st.lists(st.binary(max_size=5), min_size=6, max_size=6), st.lists(ITEM, max_size=2))
def test_text_is_sliced_too(texts, items):
    array = np.array(texts, object).reshape(2, 3)
    try:
        expected = np.asarray(array[tuple(items)], object)
    except IndexError:
        return
    data = stored(texts)
    selection = resolve_selection(tuple(items), (2, 3))
    found = read_selected_strings(Source(data), (2, 3), selection, len(data), None)
    assert found.shape == expected.shape
    assert found.tolist() == expected.tolist()


def test_text_far_apart_is_read_apart():
    data = stored([b"a", b"x" * 200_000, b"b"])
    source = Source(data)
    found = read_selected_strings(source, (3,), resolve_selection("::2", (3,)), len(data), None)
    assert found.tolist() == [b"a", b"b"]
    assert sum(source.reads) < 100


@pytest.mark.parametrize("offsets", [[0, 5, 3, 6], [-1, 2, 4, 6], [0, 2, 4, 99]])
def test_offsets_that_make_no_sense_are_damage(offsets):
    data = np.array(offsets, "<i8").tobytes() + b"abcdef"
    with pytest.raises(DamagedError):
        read_selected_strings(Source(data), (3,), resolve_selection("", (3,)), len(data), None)


def test_text_obeys_the_limit():
    data = stored([b"x" * 100, b"y"])
    with pytest.raises(LimitError, match="the limit is 50"):
        read_selected_strings(Source(data), (2,), resolve_selection("", (2,)), len(data), 50)
    assert (
        read_selected_strings(Source(data), (2,), resolve_selection("1", (2,)), len(data), 50).item() == b"y"
    )
    with pytest.raises(DamagedError, match="shorter than its offsets"):
        read_selected_strings(Source(data), (50,), resolve_selection("1", (50,)), len(data), None)


def test_texts_that_overlap_are_damage():
    data = np.array([0, 6, 0, 6], "<i8").tobytes() + b"abcdef"
    with pytest.raises(DamagedError, match="overlap"):
        read_selected_strings(
            lambda at, length: data[at : at + length], (3,), resolve_selection("::2", (3,)), len(data), None
        )
