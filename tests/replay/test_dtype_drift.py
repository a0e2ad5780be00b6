"""A whole step in another dtype, and two steps beside each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import recorded_programs
import tensorflow as tf

from tensortap.__main__ import main
from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.core.errors import InvalidValueError
from tensortap.replay.analyses.error_split import split_error
from tensortap.replay.execution.dtype_change import change_dtype
from tensortap.replay.execution.loaded_call import LoadedCall
from tensortap.replay.locate import locate, open_recording

EPS = {"float64": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}
FORWARD = {"cnn": "^cnn_1", "transformer": "^transformer_1", "rnn": "^rnn_1", "loop": "^while"}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in FORWARD for dtype in EPS if name == "loop" or dtype == "bfloat16"],
)
def test_a_step_runs_in_another_dtype(ask: Callable[..., Any], name: str, dtype: str) -> None:
    found = ask(name, "dtype", nodes=FORWARD[name], dtype=dtype)
    assert found["drifts"] and not found["failed"]
    assert not found["unlike"], [(row["tensor"], row["split"]["visits"]) for row in found["drifts"]]
    for row in found["drifts"]:
        parts = row["split"]
        assert parts["total"] <= (parts["inherited"] + parts["introduced"]) * (1 + 1e-6) + 1e-30
        assert parts["total"] < 50 * EPS[dtype], row
    looped = [row for row in found["drifts"] if "while/" in row["tensor"]]
    assert {row["split"]["visits"] for row in looped} == {"rnn": {6}, "loop": {3}}.get(name, set())


def test_random_draws_are_the_recorded_ones(recordings: Path) -> None:
    recording = open_recording(locate(recordings / "cnn", 1, None))

    def drawn(call: LoadedCall) -> list[Any]:
        again = call.run(lambda candidate: candidate.op_type.startswith("StatelessRandomUniform"))
        return [array for _, _, array in again.tensors]

    with LoadedCall(recording) as call:
        recorded = drawn(call)
        for dtype in EPS:
            with LoadedCall(change_dtype(recording, dtype, call)) as other:
                np.testing.assert_array_equal(drawn(other), recorded)
    assert any(each.size > 100 for each in recorded)


def test_where_numbers_overflow_is_named(ask: Callable[..., Any], tmp_path: Path) -> None:
    with Tap(tmp_path / "large", recorded_programs.NONE, record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            return tf.reduce_sum(tf.sqrt(tf.square(x, name="squared")))

        step(tf.constant([300.0, 2.0]))
    found = ask(tmp_path / "large", "dtype", step=0, dtype="float16")
    worst = found["drifts"][0]
    assert (worst["tensor"], worst["split"]["introduced_non_finite"]) == ("squared:0", 1)
    assert all(not row["split"]["introduced_non_finite"] for row in found["drifts"][1:])
    with pytest.raises(InvalidValueError, match="int8"):
        ask(tmp_path / "large", "dtype", step=0, dtype="int8")


def test_split_of_differences() -> None:
    one, other, between = (np.array(each) for each in ([3.0, 4.0], [3.0, 3.0], [3.0, 3.5]))
    found = split_error([one], [other], [between])
    assert found is not None
    assert (found.total, found.inherited, found.introduced) == pytest.approx((0.2, 0.1, 0.1))
    assert split_error([one], [other, other], None) is None
    nan = split_error([np.array([np.nan])], [np.array([1.0])], None)
    assert nan is not None and nan.introduced == np.inf and nan.introduced_non_finite == 1


def test_two_runs_introduced_and_received(
    ask: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], in_process: None
) -> None:
    for name, epsilon in (("a", 1e-5), ("b", 1e-2)):
        with Tap(tmp_path / name, recorded_programs.NONE, record=every(1)) as tap:

            @tap.function
            def step(x: tf.Tensor, half: bool) -> tf.Tensor:
                n = tf.multiply(x, tf.math.rsqrt(tf.reduce_mean(x**2) + epsilon), name="norm")  # noqa: B023
                grown = tf.cast(tf.exp(tf.cast(n, tf.float16 if half else tf.float32), name="e"), tf.float32)
                return tf.reduce_sum(grown, name="total")

            step(tf.constant([[0.1, 0.3], [0.5, -0.2]]), name == "b")
    other = str(locate(tmp_path / "b", 0, None))
    rows = {row["tensor"]: row for row in ask(tmp_path / "a", "compare", step=0, source=other)["differences"]}
    assert rows["add/y:0"]["introduced"] > 0.9 and not rows["add/y:0"]["given"]
    assert rows["norm:0"]["introduced"] < 1e-6 < 1e-3 < rows["norm:0"]["received"]
    assert 1e-5 < rows["e:0"]["introduced"] < 1e-3 < rows["e:0"]["received"]

    arguments = ["replay", str(tmp_path / "a"), "--compare-with", str(tmp_path / "b"), "--step", "0"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "introduced" in out and "float32 / float16" in out
    first = out.splitlines()[0]
    assert first.startswith("The graphs differ: 2 nodes only in the other (Cast, Cast_1)"), out
    assert rows["e:0"]["text"].startswith("grown = ") and "test_dtype_drift.py" in rows["e:0"]["file"]
    assert f"test_dtype_drift.py:{rows['e:0']['line']}" in out.replace("\n", "")
    assert main(["replay", str(tmp_path / "a"), "--dtype", "bfloat16", "--nodes", "norm|total"]) == 0
    out = capsys.readouterr().out
    assert "introduced" in out and "in bfloat16" in out


def test_nodes_beyond_a_changed_op_of_a_renamed_layer_are_compared(
    ask: Callable[..., Any], tmp_path: Path
) -> None:
    weight = tf.Variable(np.linspace(-1, 1, 6).reshape(2, 3).astype("f"))
    for name, activation in (("old", tf.nn.relu), ("new", tf.nn.tanh)):
        with Tap(tmp_path / name, recorded_programs.NONE, record=every(1)) as tap:

            @tap.function
            def step(x: tf.Tensor) -> tf.Tensor:
                with tf.GradientTape() as tape:
                    with tf.name_scope(f"{name}_first"):  # noqa: B023
                        hidden = activation(tf.matmul(x, weight) + 0.5)  # noqa: B023
                    with tf.name_scope(f"{name}_last"):  # noqa: B023
                        loss = tf.reduce_mean((hidden * 0.7) ** 2)
                return tape.gradient(loss, weight)

            step(tf.constant([[0.1, 0.3], [0.5, -0.2]]))
    found = ask(tmp_path / "old", "compare", step=0, source=str(locate(tmp_path / "new", 0, None)))
    # The derivatives take their inputs in another order.
    only = [{node.rpartition("/")[2] for node in nodes} for nodes in found["unpaired"]]
    assert only == [{"ReluGrad"}, {"TanhGrad"}]
    rows = {row["tensor"]: row for row in found["differences"]}
    assert rows["old_first/Relu:0"]["other"] == "new_first/Tanh:0"
    assert rows["old_first/Relu:0"]["introduced"] > 0.01
    (after,) = [row for name, row in rows.items() if name.startswith("gradient_tape/old_first/MatMul/")]
    assert after["other"] == after["tensor"].replace("old", "new")
    assert after["introduced"] < 1e-6 < 1e-3 < after["received"]


def test_renamed_layers_are_compared(ask: Callable[..., Any], tmp_path: Path) -> None:
    """Each renamed node is compared with its partner, and the one that computes something else is named."""
    for name, factor in (("old", 2.0), ("new", 3.0)):
        with Tap(tmp_path / name, recorded_programs.NONE, record=every(1)) as tap:

            @tap.function
            def step(x: tf.Tensor) -> tf.Tensor:
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    with tf.name_scope(f"{name}_block"):  # noqa: B023
                        hidden = tf.tanh(x * factor) + 1.0  # noqa: B023
                    with tf.name_scope(f"{name}_head"):  # noqa: B023
                        loss = tf.reduce_sum(hidden**2)
                return tape.gradient(loss, x)

            step(tf.constant([[0.1, 0.3], [0.5, -0.2]]))
    found = ask(tmp_path / "old", "compare", step=0, source=str(locate(tmp_path / "new", 0, None)))
    assert found["unpaired"] == [[], []] and found["renamed"] > 5
    rows = {row["tensor"]: row for row in found["differences"]}
    assert rows["old_block/mul/y:0"]["other"] == "new_block/mul/y:0"
    assert rows["old_block/mul/y:0"]["introduced"] > 0.1
    assert rows["old_block/Tanh:0"]["introduced"] < 1e-6 < 1e-3 < rows["old_block/Tanh:0"]["received"]
    some = ask(
        tmp_path / "old", "compare", step=0, source=str(locate(tmp_path / "new", 0, None)), nodes="Tanh"
    )
    assert some["unpaired"] == [[], []]
