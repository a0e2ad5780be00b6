"""JSON and columns: what goes in comes out."""

from __future__ import annotations

import json
import math
import struct
from decimal import Decimal

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensortap.index.catalog.columns import Texts
from tensortap.server.responses.columns_format import Column, read_columns, write_columns
from tensortap.server.responses.json_arrays import encode_array, encode_rows
from tensortap.server.responses.json_encoding import plain, to_json


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (-math.inf, "-Infinity"),
        (np.float32("nan"), "NaN"),
        (np.float64(1.5), 1.5),
        (np.int64(2**62), 2**62),
        (np.bool_(True), True),
        (True, True),
        (None, None),
        ((1, 2.5, "x"), [1, 2.5, "x"]),
        ({"a": (math.nan,), 3: b"\xff\x00ok"}, {"a": ["NaN"], "3": "\\xff\x00ok"}),
        (np.array([[1.0, math.inf]]), [[1.0, "Infinity"]]),
        (np.array([1 + 2j, complex(math.nan, 0)]), [[1.0, 2.0], ["NaN", 0.0]]),
        (np.array([1.5, math.nan], ml_dtypes.bfloat16), [1.5, "NaN"]),
        (np.array([[b"a", b"b"]], object), [["a", "b"]]),
        (np.zeros((0, 3)), []),
        (np.array(7), 7),
    ],
)
def test_json(data: object, expected: object) -> None:
    assert json.loads(to_json(data)) == expected


def test_json_is_ascii_so_that_odd_file_names_survive() -> None:
    assert to_json("\udcff é") == b'"\\udcff \\u00e9"'


def test_what_has_no_json_form_is_refused() -> None:
    with pytest.raises(TypeError, match="object cannot be written as JSON"):
        plain(object())


def test_columns_round_trip() -> None:
    meta = {"id": "g", "nan": math.nan}
    columns = [
        Column("node", "i32", np.arange(3)),
        Column("flag", "u8", [1, 0, 1]),
        Column("count", "u32", [7, 8, 9]),
        Column("mean", "f64", [1.5, math.nan, -math.inf]),
        Column("name", "utf8", Texts.of(["a/b", "", "π·×"])),
        Column("op", "dict", [1, 0, 1], ["MatMul", "Relu"]),
        Column("empty", "utf8", Texts.of([])),
    ]
    data = write_columns(meta, columns)
    read_meta, read = read_columns(data)
    assert read_meta == {"id": "g", "nan": "NaN"}
    assert read["node"].tolist() == [0, 1, 2]
    assert read["flag"].tolist() == [1, 0, 1]
    assert read["count"].tolist() == [7, 8, 9]
    np.testing.assert_array_equal(read["mean"], [1.5, math.nan, -math.inf])
    assert read["name"] == ["a/b", "", "π·×"]
    assert read["op"] == ["Relu", "MatMul", "Relu"]
    assert read["empty"] == []


def test_columns_layout_is_the_documented_one() -> None:
    texts = Column("c", "utf8", Texts.of(["xy"]))
    data = write_columns({}, [Column("a", "u8", [1]), Column("b", "f64", [2.0]), texts])
    assert data[:8] == b"TTCOLS01"
    (length,) = struct.unpack("<I", data[8:12])
    assert (12 + length) % 8 == 0
    header = json.loads(data[12 : 12 + length])
    by_name = {entry["name"]: entry for entry in header["columns"]}
    assert by_name["a"] == {"name": "a", "type": "u8", "count": 1, "offset": 0, "length": 1}
    assert by_name["b"]["offset"] == 8
    start = 12 + length + by_name["c"]["bytes_offset"]
    assert data[start : start + by_name["c"]["bytes_length"]] == b"xy"
    assert len(data) % 8 == 0


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_any_text_round_trips(values: list[str]) -> None:
    _, read = read_columns(write_columns({}, [Column("x", "u8", [1]), Column("t", "utf8", Texts.of(values))]))
    assert read["t"] == values


def test_equal_columns_of_text_travel_once() -> None:
    texts = Texts.of(["name" * 10, "half a pair: \ud800"])
    once = write_columns({}, [Column("name", "utf8", texts)])
    twice = write_columns({}, [Column("name", "utf8", texts), Column("path", "utf8", texts)])
    _, read = read_columns(twice)
    assert read["path"] == read["name"] == ["name" * 10, "half a pair: ?"]
    data_of = [len(data) - int.from_bytes(data[8:12], "little") for data in (once, twice)]
    assert data_of[0] == data_of[1]


def test_other_bytes_are_refused() -> None:
    with pytest.raises(ValueError, match="does not start with TTCOLS01"):
        read_columns(b"nonsense")


_NUMBERS = st.one_of(
    st.lists(st.floats(), min_size=1, max_size=9),
    st.lists(st.floats(width=32), min_size=1, max_size=9).map(lambda them: np.array(them, np.float32)),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=9),
    st.lists(st.booleans(), min_size=1, max_size=9),
)


@given(_NUMBERS)
def test_long_arrays_are_what_the_encoder_would_write(numbers: list[float]) -> None:
    array = np.resize(np.asarray(numbers), 300)
    assert json.loads(to_json({"a": array, "b": "x", "c": array[::-1]})) == {
        "a": plain(array),
        "b": "x",
        "c": plain(array[::-1]),
    }


@pytest.mark.parametrize("shape", [(300,), (3, 100), (100, 3), (2, 3, 1, 50), (300, 1)])
def test_long_arrays_keep_their_shape(shape: tuple[int, ...]) -> None:
    array = np.linspace(-1, 1, 300).reshape(shape)
    assert json.loads(to_json(array)) == array.tolist()
    assert json.loads(to_json(array.T)) == array.T.tolist()


@given(st.lists(st.floats(width=32), min_size=1, max_size=9), st.sampled_from(["<f4", ">f4"]))
def test_the_shortest_digits_round_back(numbers: list[float], dtype: str) -> None:
    array = np.array(numbers, dtype)
    for written, number in zip(json.loads(encode_array(array, shortest=True).text), array, strict=True):
        back = np.float32(written.replace("inity", "") if isinstance(written, str) else written)
        assert back == number or (math.isnan(back) and math.isnan(number))
        assert isinstance(written, str) or digits(written) <= digits(float(number))


def digits(number: float) -> int:
    """How many of them a number has that count."""
    return len(Decimal(repr(number)).normalize().as_tuple().digits)


@pytest.mark.parametrize("dtype", [">f8", ">i4", "<f2", ">f2", "u8", "i1"])
def test_long_arrays_of_other_layouts(dtype: str) -> None:
    array = np.arange(300, dtype=dtype)[::-1]
    assert json.loads(to_json(array)) == array.tolist()


def test_the_sign_of_zero_stays() -> None:
    array = np.zeros(300, np.float32)
    array[::2] *= -1
    for text in (to_json(array), encode_array(array, shortest=True).text):
        assert np.signbit(json.loads(text)).tolist() == np.signbit(array).tolist()


def test_a_long_array_beside_a_number_that_is_not_finite() -> None:
    data = [math.nan, np.arange(300), encode_rows(np.eye(2))]
    assert json.loads(to_json(data)) == ["NaN", list(range(300)), [[1, 0], [0, 1]]]


def test_rows_of_numbers_are_what_the_encoder_would_write() -> None:
    counts = np.array([[0, 3, 2**60], [1, 0, 0]])
    for matrix in (counts, counts / 4, counts[:0], np.zeros((3, 0))):
        rows = [{"min": 1, "counts": row} for row in matrix]
        texts = [{"min": 1, "counts": row} for row in encode_rows(matrix)]
        assert json.loads(to_json(texts)) == json.loads(to_json(rows))
