"""Slices as .npy, JSON, CSV and PNG."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from PIL import Image

from tensortap.core.dtypes import to_npy_dtype
from tensortap.core.errors import LimitError, SelectionError
from tensortap.server.responses.png import Scale, png
from tensortap.server.responses.value_formats import FORMATS, MAX_TEXT_ELEMENTS


@dataclass
class OneSnapshot:
    dtype: str = "float32"
    shape: tuple[int, ...] = (4, 4)


@dataclass
class OneSelection:
    text: str = ":,0"


def encode(name: str, array: np.ndarray[Any, Any]) -> bytes:
    return FORMATS[name].encode(array, OneSnapshot(array.dtype.name), OneSelection(), Scale())  # type: ignore[arg-type]


def strings(*values: bytes) -> np.ndarray[Any, Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.arange(6, dtype=np.int16).reshape(2, 3), "int16"),
        (np.array(3.5), "float64"),
        (np.array([1.5, math.nan], ml_dtypes.bfloat16), "float32"),
        (np.array([1.5, -2], ml_dtypes.float8_e4m3fn), "float32"),
        (np.array([-3, 3], ml_dtypes.int4), "int8"),
        (np.array([3], ml_dtypes.uint4), "uint8"),
        (np.array([1 + 2j], np.complex64), "complex64"),
        (np.zeros((0, 5), np.float16), "float16"),
        (strings(b"a", b"long"), "|S4"),
        (np.arange(12.0).reshape(3, 4).T, "float64"),
    ],
)
def test_npy_loads_without_pickle(array: np.ndarray[Any, Any], dtype: str) -> None:
    loaded = np.load(io.BytesIO(encode("npy", array)), allow_pickle=False)
    assert loaded.dtype == np.dtype(dtype)
    assert loaded.shape == array.shape
    np.testing.assert_array_equal(loaded, to_npy_dtype(array))


def test_strings_that_would_blow_up_are_refused() -> None:
    array = strings(*[b""] * 100_000)
    array[0] = b"x" * 1000
    with pytest.raises(LimitError, match="at a fixed width"):
        encode("npy", array)


def test_json_has_short_numbers_and_the_whole_story() -> None:
    data = json.loads(encode("json", np.array([[0.1, math.nan], [math.inf, 1e-8]], np.float32)))
    assert data == {
        "dtype": "float32",
        "shape": [2, 2],
        "full_shape": [4, 4],
        "selection": ":,0",
        "data": [[0.1, "NaN"], ["Infinity", 1e-8]],
    }


def test_json_of_strings() -> None:
    assert json.loads(encode("json", strings(b"a", b"\xff")))["data"] == ["a", "\\xff"]


def test_csv_rows() -> None:
    text = encode("csv", np.array([[0.1, -2.0], [math.nan, math.inf]], np.float32)).decode()
    assert list(csv.reader(io.StringIO(text))) == [["0.1", "-2.0"], ["nan", "inf"]]
    assert encode("csv", np.arange(3)) == b"0,1,2\r\n"
    assert encode("csv", np.array(5)) == b"5\r\n"
    assert encode("csv", np.zeros((0, 3))) == b""


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "＝1+1", "＋1", "－1", "＠x"])
def test_csv_guards_formulas(text: str) -> None:
    assert next(csv.reader(io.StringIO(encode("csv", strings(text.encode())).decode(), newline=""))) == [
        "'" + text
    ]


def test_csv_holds_no_control_characters() -> None:
    text = encode("csv", strings(b"\x1b[31mred\x07\x00", "\x9b2J a\nb\tc".encode())).decode()
    assert next(csv.reader(io.StringIO(text, newline=""))) == [r"\x1b[31mred\x07\x00", "\\x9b2J a\nb\tc"]


def test_csv_of_three_dimensions_is_refused() -> None:
    with pytest.raises(SelectionError, match="CSV has at most two dimensions; the selection has 3"):
        encode("csv", np.zeros((2, 2, 2)))


@pytest.mark.parametrize("name", ["json", "csv"])
def test_too_much_text_is_refused(name: str) -> None:
    with pytest.raises(LimitError, match="format=npy"):
        encode(name, np.zeros(MAX_TEXT_ELEMENTS + 1, np.int8))


def picture(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def test_png_of_two_dimensions_is_grey() -> None:
    image = picture(encode("png", np.array([[0.0, 1.0], [2.0, 4.0]])))
    assert image.mode == "L"
    assert np.asarray(image).tolist() == [[0, 64], [128, 255]]


def test_png_scale_clips() -> None:
    image = picture(png(np.array([[-5.0, 0.5, 5.0]]), Scale(0, 1)))
    assert np.asarray(image).tolist() == [[0, 128, 255]]


def test_png_shows_nan_as_nothing_and_clips_infinities() -> None:
    image = picture(png(np.array([[math.nan, -math.inf, 0.0, 1.0, math.inf]]), Scale()))
    assert image.mode == "LA"
    assert np.asarray(image)[0].tolist() == [[0, 0], [0, 255], [0, 255], [255, 255], [255, 255]]


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (3, "RGB"), (4, "RGBA")])
def test_png_of_channels_keeps_bytes(channels: int, mode: str) -> None:
    array = np.arange(2 * 3 * channels, dtype=np.uint8).reshape(2, 3, channels)
    image = picture(png(array, Scale()))
    assert image.mode == mode
    np.testing.assert_array_equal(np.asarray(image).reshape(array.shape), array)


@pytest.mark.parametrize(
    "array",
    [
        np.full((2, 2), 3.0),
        np.full((2, 2), math.nan),
        np.array([[-1.7e308, 1.7e308]]),
        np.array([[True, False]]),
        np.array([[0.5, 1]], ml_dtypes.bfloat16),
    ],
)
def test_png_of_odd_arrays(array: np.ndarray[Any, Any]) -> None:
    assert picture(encode("png", array)).size == array.shape[::-1]


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2), (1, 2, 2, 3), (0, 4)])
def test_png_of_other_shapes_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(SelectionError, match="cannot be shown as an image"):
        png(np.zeros(shape), Scale())


def test_png_of_strings_and_complex_numbers_is_refused() -> None:
    with pytest.raises(SelectionError, match="Strings cannot be shown as an image"):
        encode("png", strings(b"a"))
    with pytest.raises(SelectionError, match="cannot be shown as an image"):
        encode("png", np.zeros((2, 2), np.complex64))


def test_png_side_is_limited() -> None:
    with pytest.raises(LimitError, match="20000 × 1"):
        png(np.zeros((1, 20000), np.uint8), Scale())
