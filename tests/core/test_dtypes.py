"""What can be dumped, what cannot, and what one is told then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dump_tools import read_all

from tensortap.core.dtypes import dtype_name, itemsize, numpy_dtype
from tensortap.core.errors import InvalidValueError
from tensortap.dump.write.writer import DumpWriter
from tensortap.stats.summarize import summarize


class Tensor:
    """Has an `__array__` like an eager tensor."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._array, dtype)


class Broken:
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise RuntimeError("on another device")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (np.array(["2024-01-01"], "datetime64[s]"), "astype('int64')"),
        (np.array([5], "timedelta64[ms]"), "astype('int64')"),
        (np.array([1], np.longdouble), "astype('float64')"),
        (np.array([1j], np.clongdouble), "astype('complex128')"),
        (np.array([object()]), "objects other than str and bytes"),
        (np.array([None, "a"], object), "objects other than str and bytes"),
        (np.zeros(2, [("a", "i4"), ("b", "f4")]), "field"),
        (np.zeros(3, "V7"), "cannot be stored"),
        ([2**70], "objects other than str and bytes"),
        (Broken(), "on another device"),
    ],
)
def test_other_dtypes_are_refused_with_a_way_out(tmp_path: Path, value: Any, says: str) -> None:
    with DumpWriter(tmp_path) as writer:
        with pytest.raises(InvalidValueError) as error:
            writer.log("x", value, step=0)
        writer.log("good", 1, step=0)
    assert says in str(error.value)
    assert error.value.hint
    assert [row["node"] for row in read_all(tmp_path).rows] == ["good"]


def test_array_likes_are_accepted() -> None:
    assert summarize(Tensor([1.0, 2.0])).mean == 1.5
    assert summarize(Tensor(np.float16(3))).dtype == "float16"
    assert summarize(memoryview(b"\x01\x02")).dtype == "uint8"


def test_quantized_dtypes_are_their_integers() -> None:
    for name, plain in (("qint8", "i1"), ("quint8", "u1"), ("qint32", "i4")):
        array = np.array([1, 2, 3], plain).view([(name, plain)])
        summary = summarize(array)
        assert (summary.dtype, summary.mean) == (np.dtype(plain).name, 2)


def test_aliases_and_byte_orders_have_one_name() -> None:
    assert dtype_name(np.dtype("longlong")) == "int64"
    assert dtype_name(np.dtype(">f4")) == "float32"
    assert dtype_name(np.array([1], ">i8")) == "int64"
    assert dtype_name(np.dtype("U7")) == "string"
    assert dtype_name(np.array(["a"], object)) == "string"


def test_text_has_no_item_size() -> None:
    assert itemsize("string") == 0
    assert numpy_dtype("string") == np.dtype(object)


def test_an_unknown_name_is_refused() -> None:
    for function in (numpy_dtype, itemsize):
        with pytest.raises(InvalidValueError, match="float3"):
            function("float3")
