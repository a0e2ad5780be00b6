"""Which sample a NaN comes from, where rows change places on the way: the right one, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensortap
from tensortap.analysis.nonfinite.nan_report import nan_report
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

pytestmark = pytest.mark.slow


@tf.function
def _log(x: Any) -> Any:
    return tf.math.log(x)


def _written_downwards(x: Any) -> Any:
    filled = tf.while_loop(
        lambda turn, rows: turn < 4,
        lambda turn, rows: (turn + 1, rows.write(3 - turn, tf.gather(x, turn) * 1.0)),
        (0, tf.TensorArray(tf.float32, 4)),
    )[1]
    return filled.stack()


X = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
X[1, 2] = 0  # of the sample p1
TABLE = tf.Variable(np.arange(13, dtype=np.float32))
WAYS: dict[str, tuple[Callable[[Any], Any], str | None]] = {
    "reverse": (lambda x: tf.reverse(x, [0]), "p1"),
    "roll": (lambda x: tf.roll(x, [1, 2], [0, 1]), "p1"),
    "gather": (lambda x: tf.gather(x, [3, 2, 1, 0]), "p1"),
    "chosen": (lambda x: tf.where(tf.zeros_like(x, tf.bool), tf.gather(x, [1, 1, 1, 1]), x), "p1"),
    "called twice": (lambda x: tf.abs(_log(x + 1.0) + _log(x)) + 2.0, "p1"),
    "moved and joined": (lambda x: tf.concat([tf.ones_like(x), x[::-1]], 0)[3:7], None),
    "looked up": (lambda x: tf.gather(TABLE, tf.cast(x, tf.int32)), "p1"),
    "mapped": (lambda x: tf.map_fn(lambda row: row * 1.0, x[::-1]), "p1"),
    "mapped by columns": (lambda x: tf.map_fn(lambda column: column[::-1], tf.transpose(x)), "p1"),
    "written downwards": (_written_downwards, "p1"),
    "sorted": (lambda x: tf.sort(x, 0), None),
    "scattered": (lambda x: tf.tensor_scatter_nd_update(tf.ones([4, 3]), [[3], [2], [1], [0]], x), None),
    "stitched": (lambda x: tf.dynamic_stitch([[1, 3], [0, 2]], [x[:2], x[2:]]), None),
    "summed": (lambda x: tf.math.unsorted_segment_sum(x, [3, 2, 1, 0], 4), None),
    "cancelled": (lambda x: tf.reduce_mean(x - tf.reduce_mean(x, 0), 0, keepdims=True) * 0.0, None),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunIndex]:
    logdir = tmp_path_factory.mktemp("rows")
    for name, (way, _) in WAYS.items():

        def step(x: Any, way: Callable[[Any], Any] = way) -> Any:
            return tf.reduce_mean(tf.math.log(way(x)), name="loss")

        with tensortap.Tap(logdir / name, tensortap.Watch(steps=1, keep="value")) as tap:
            function = tap.function(step)
            with tap.step(0):
                tap.batch(ids=[f"p{row}" for row in range(4)])
                function(tf.constant(X))
    log = LogIndex(logdir)
    log.refresh()
    return {run.name: run for run in log.runs}


@pytest.mark.parametrize("way", WAYS)
def test_the_sample_is_right_or_not_reported(runs: dict[str, RunIndex], way: str) -> None:
    first = nan_report(runs[way]).origins[0].elements[0]
    assert first.sample == WAYS[way][1]
    assert (first.row is None) == (first.sample is None)


@pytest.mark.parametrize("way", ["mapped", "mapped by columns", "written downwards"])
def test_a_loop_over_rows_is_followed_to_what_was_fed(runs: dict[str, RunIndex], way: str) -> None:
    last = nan_report(runs[way]).origins[0].elements[0].trail[-1]
    assert (last.kind, last.index, last.value) == ("input", (1, 2), 0.0)


def test_of_two_calls_of_a_function_the_right_one_is_reported(runs: dict[str, RunIndex]) -> None:
    """GIVEN a function that is called twice, of which the second call makes an infinity."""
    report = nan_report(runs["called twice"])
    origin = report.origins[0]
    assert (origin.op_type, origin.verdict, origin.visit) == ("Log", "origin", 1)
    assert origin.explanation is not None
    assert origin.explanation.text == "log(0) = -inf: 1 element of x:0 is exactly 0."
    assert "PartitionedCall" not in {each.op_type for each in report.origins}


@pytest.mark.parametrize("way", ["called twice", "looked up", "reverse"])
def test_the_loss_is_known_behind_calls_tables_and_without_variables(
    runs: dict[str, RunIndex], way: str
) -> None:
    assert nan_report(runs[way]).loss == "loss:0"
