"""What a tap reads back is what TensorFlow computed, for every dtype that a graph can hold."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.pipeline.batch_writer import BatchWriter
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch

ALL = Watch(steps=1, keep="value")
NUMBERS = [0, 1, 2, 3, 7]

DTYPES = [
    tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64,
    tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.complex64, tf.complex128, tf.bool,
    tf.dtypes.experimental.float8_e5m2, tf.dtypes.experimental.float8_e4m3fn,
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_dtype(tmp_path: Path, dtype: Any) -> None:
    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def cast(x: Any) -> Any:
            return tf.raw_ops.Cast(x=x, DstT=dtype, name="cast")

        cast(tf.constant(NUMBERS, tf.float32 if dtype != tf.float32 else tf.int32))

    (row,) = Dumped(tmp_path / "r").at("cast:0")
    assert row.dtype == dtype.name
    assert row.value.tobytes() == np.array(NUMBERS, np.float32).astype(dtype.as_numpy_dtype).tobytes()


def test_text(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def join(a: Any, b: Any) -> Any:
            return tf.strings.join([a, b], name="joined")

        join(tf.constant(["x", "ÿ"]), tf.constant(["", "z"]))
        join(tf.constant("one"), tf.constant("two"))

    dumped = Dumped(tmp_path / "r")
    assert dumped.value("joined:0", 0).tolist() == [b"x", "ÿz".encode()]
    # Two shapes are two traces, and so two graphs.
    assert dumped.value("joined:0", 1).tolist() == b"onetwo"


def test_the_bytes_of_texts_count_for_the_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    monkeypatch.setattr(BatchWriter, "prepare", lambda _: goes_on.wait(60))
    with Tap(tmp_path / "r", Watch("join", steps=1), queue_bytes=1 << 20, when_full="drop") as tap:
        join = tap.function(lambda text: tf.strings.join([text, text], name="join"))
        for _ in range(3):
            join(tf.constant([b"x" * (250 << 10)]))  # two of 500 KiB fit
        goes_on.set()
    assert Dumped(tmp_path / "r").steps == [0, 1]
    assert tap.dropped == 1


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 2, 3, 4, 5)])
def test_shape(tmp_path: Path, shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    with Tap(tmp_path / "r", ALL) as tap:
        tap.function(lambda x: tf.negative(x, name="negative"))(tf.constant(values))

    value = Dumped(tmp_path / "r").value("negative:0")
    assert value.shape == shape
    np.testing.assert_array_equal(value, -values)


def test_every_intermediate_equals_an_independent_fetch(tmp_path: Path) -> None:
    """The same body, traced without a tap, returns each intermediate as an output."""
    random = np.random.default_rng(0)
    x = tf.constant(random.standard_normal((4, 8, 8, 3)), tf.float32)
    kernel = tf.Variable(random.standard_normal((3, 3, 3, 5)), dtype=tf.float32)

    def body(x: Any) -> dict[str, Any]:
        with tf.GradientTape() as tape:
            convolved = tf.nn.conv2d(x, kernel, 1, "SAME", name="convolved")
            pooled = tf.nn.max_pool2d(tf.nn.elu(convolved, name="active"), 2, 2, "VALID", name="pooled")
            top, indices = tf.math.top_k(tf.reshape(pooled, [4, -1], name="flat"), 3, name="top")
            loss = tf.reduce_logsumexp(top)
        gradient = tape.gradient(loss, kernel)
        return {
            "convolved:0": convolved,
            "pooled:0": pooled,
            "flat:0": tf.reshape(pooled, [4, -1]),
            "top:0": top,
            "top:1": indices,
            "gradient": gradient,
        }

    with Tap(tmp_path / "r", ALL) as tap:
        tap.function(lambda x: body(x)["gradient"])(x)
    expected = tf.function(body)(x)

    dumped = Dumped(tmp_path / "r")
    for name, tensor in expected.items():
        if name != "gradient":
            np.testing.assert_array_equal(dumped.value(name), tensor.numpy(), err_msg=name)
    backward = next(row for row in dumped.rows if row.node.endswith("Conv2DBackpropFilter"))
    np.testing.assert_array_equal(backward.value, expected["gradient"].numpy())


def test_captured_arrays_are_not_overwritten_by_later_steps(tmp_path: Path) -> None:
    """Variables are updated in place, and the writer's thread reads them later."""
    state = tf.Variable(tf.zeros([1000, 100]))
    with Tap(tmp_path / "r", Watch("Read|moved", steps=1, keep="value")) as tap:

        @tap.function
        def step() -> Any:
            before = state.read_value()
            state.assign_add(tf.ones([1000, 100]))
            return tf.add(before, 0.5, name="moved")

        for _ in range(20):
            step()

    dumped = Dumped(tmp_path / "r")
    for row in dumped.rows:
        if row.node in ("ReadVariableOp", "moved"):
            expected = row.step + (0.5 if row.node == "moved" else 0.0)
            np.testing.assert_array_equal(row.value, np.full((1000, 100), expected, np.float32))
    assert len(dumped.at("moved:0")) == 20


def test_tensors_that_share_memory_have_their_own_shapes(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", Watch(steps=1)) as tap:

        @tap.function
        def views(x: Any) -> Any:
            doubled = tf.add(x, x, name="doubled")
            return tf.identity(tf.reshape(doubled, [3, 2], name="reshaped"), name="same")

        views(tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))

    dumped = Dumped(tmp_path / "r")
    rows = {row.node: row for row in dumped.rows}
    assert rows["doubled"].shape == [2, 3]
    assert rows["reshaped"].shape == rows["same"].shape == [3, 2]
    assert rows["doubled"].mean == rows["reshaped"].mean == rows["same"].mean == 7.0
