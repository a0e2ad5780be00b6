"""Functions of tf.data pipelines: told, and captured where pipelines run in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.errors import TapWarning
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch

ALL = Watch(steps=1, keep="value")


def test_a_map_function_is_reported(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:
        twice = tap.function(lambda x: tf.multiply(x, 2, name="twice"))
        with pytest.warns(TapWarning, match="it runs in the threads of a tf.data pipeline"):
            numbers = tf.data.Dataset.range(4).map(twice)
        assert [int(number) for number in numbers] == [0, 2, 4, 6]
    assert not (tmp_path / "r").exists()


def test_a_map_function_is_captured_in_debug_mode(tmp_path: Path) -> None:
    from tensorflow.python.data.ops import debug_mode

    debug_mode.toggle_debug_mode(True)
    try:
        with Tap(tmp_path / "r", ALL) as tap:
            twice = tap.function(lambda x: tf.multiply(x, 2, name="twice"))
            numbers = tf.data.Dataset.range(4).map(twice)
            assert [int(number) for number in numbers] == [0, 2, 4, 6]
    finally:
        debug_mode.toggle_debug_mode(False)
    assert [(row.step, int(row.value)) for row in Dumped(tmp_path / "r").at("twice:0")] == [
        (0, 0),
        (1, 2),
        (2, 4),
        (3, 6),
    ]


def test_a_dataset_inside_of_a_function_is_reported(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def total() -> Any:
            start = tf.constant(0, tf.int64)
            return tf.data.Dataset.range(4).reduce(start, lambda a, b: tf.add(a, b, name="sum"))

        with pytest.warns(TapWarning, match="the datasets inside the function total"):
            assert total() == 6
    assert Dumped(tmp_path / "r").value("ReduceDataset:0") == 6
