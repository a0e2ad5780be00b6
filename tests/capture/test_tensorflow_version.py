"""A TensorFlow that differs inside is named at start, in a sentence."""

from __future__ import annotations

import pytest
import tensorflow as tf

from tensortap.tf.internals import (
    SUPPORTED,
    UnsupportedTensorFlowError,
    check_names,
    imported_from_tensorflow,
)


def test_this_one_is_supported() -> None:
    assert tf.__version__.startswith(f"{SUPPORTED}.")


def test_a_missing_name_is_reported() -> None:
    check_names({tf.Graph: "as_default"})
    with pytest.raises(
        UnsupportedTensorFlowError, match=rf"from TensorFlow {SUPPORTED}; .* Graph has no waist"
    ):
        check_names({tf.Graph: "as_default waist"})


def test_a_missing_module_is_reported() -> None:
    with pytest.raises(ImportError, match=r"No module named.*Install"), imported_from_tensorflow():
        import tensorflow.python.waist  # noqa: F401
