"""Arrays for NumPy's own files: every dtype comes back from one with the same values."""

from __future__ import annotations

import io
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tensortap.core.dtypes import to_npy_dtype
from tensortap.core.errors import InvalidValueError
from tensortap.dump.write.writer import DumpWriter

TEXTS = np.array([b"a", b"", b"\xff\0b"], object)


@pytest.mark.parametrize(
    "array",
    [
        np.array([1.5, -0.0, np.nan], np.float32),
        np.array([True, False]),
        np.array([1 + 2j], np.complex64),
        np.array([1.5, np.inf], ml_dtypes.bfloat16),
        np.array([0.5, 448], ml_dtypes.float8_e4m3fn),
        np.array([-8, 7], ml_dtypes.int4),
        np.array([15], ml_dtypes.uint4),
        TEXTS,
        np.empty((0, 3), object),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_values_come_back(array: np.ndarray[Any, Any]) -> None:
    file = io.BytesIO()
    np.save(file, to_npy_dtype(array), allow_pickle=False)
    file.seek(0)
    back = np.load(file, allow_pickle=False)
    assert back.shape == array.shape
    expected = array if array.dtype == object else array.astype(back.dtype)
    np.testing.assert_array_equal(back.astype(object) if array.dtype == object else back, expected)


def test_a_text_that_would_lose_its_end_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="ends in NUL"):
        to_npy_dtype(np.array([b"a\0", b"b"], object))


def test_what_is_masked_is_no_value(tmp_path: Any) -> None:
    with DumpWriter(tmp_path, run="r") as writer:
        with pytest.raises(InvalidValueError, match="masked"):
            writer.log("x:0", np.ma.array([1.0, 2.0], mask=[False, True]), step=0)
        assert writer.log("x:0", np.ma.array([1.0, 2.0]), step=0).mean == 1.5
