"""Logic tests on recorded steps: right ones pass, and where wrong ones go wrong is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tensortap.__main__ import main
from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.core.errors import NotFoundError

Ask = Callable[..., Any]


def record(run_dir: Path, loss: Callable[[Any, Any], Any], x: Any) -> Path:
    """A recorded step of gradient descent on `loss(x, w)`."""
    w = tf.Variable(np.random.default_rng(2).standard_normal((5, 5)).astype("f"), name="w")
    with Tap(run_dir, Watch(steps=[10**6]), record=every(1)) as tap:

        @tap.function
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                value = loss(x, w)
            w.assign_sub(0.1 * tf.convert_to_tensor(tape.gradient(value, w)))
            return value

        step(tf.constant(x))
    return run_dir


@pytest.mark.parametrize("name", ["loop", "rnn"])
def test_samples_that_stay_apart(ask: Ask, name: str) -> None:
    found = ask(name, "test", test="batch")
    assert found["passed"] and not found["rows"], found


def test_batch_normalization_mixes_samples(ask: Ask) -> None:
    found = ask("cnn", "test", test="batch")
    assert not found["passed"]
    assert all("norm" in row["tensor"] for row in found["rows"])


def test_a_leak_of_the_future_is_named(ask: Ask, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((3, 6, 5)).astype("f")

    def causal(x: Any, w: Any) -> Any:
        return tf.reduce_mean(tf.tanh(tf.cumsum(tf.matmul(x, w), 1)))

    def leaking(x: Any, w: Any) -> Any:
        past = tf.cumsum(tf.matmul(x, w), 1)
        leaky = tf.subtract(past, tf.reduce_mean(x, 1, keepdims=True), name="leaky")  # the whole sequence
        return tf.reduce_mean(tf.tanh(leaky))

    assert ask(record(tmp_path / "causal", causal, x), "test", step=0, test="causal")["passed"]
    found = ask(record(tmp_path / "leaking", leaking, x), "test", step=0, test="causal")
    (row,) = found["rows"]
    assert row["tensor"] == "leaky:0" and "leaky = tf.subtract" in row["line"]


def test_padding_that_counts_is_named(
    ask: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str], in_process: None
) -> None:
    tokens = np.array([[1, 2, 3, 0], [4, 3, 0, 0]], np.int32)

    def masked(x: Any, w: Any) -> Any:
        kept = tf.cast(tf.not_equal(x, 0), tf.float32)[..., None]
        return tf.reduce_mean(tf.reduce_sum(tf.gather(w, x) * kept, 1))

    def counted(x: Any, w: Any) -> Any:
        return tf.reduce_mean(tf.reduce_mean(tf.gather(w, x), 1, name="pooled"))

    assert ask(record(tmp_path / "masked", masked, tokens), "test", step=0, test="padding")["passed"]
    path = record(tmp_path / "counted", counted, tokens)
    assert main(["replay", str(path), "--test", "padding"]) == 1
    out = capsys.readouterr().out
    assert "padding: failed" in out and "pooled:0" in out and "test_inv" in out
    with pytest.raises(NotFoundError, match="No position"):
        ask(path, "test", step=0, test="padding", pad=9)


def test_attention_with_a_right_mask_leaks_nothing(ask: Ask, tmp_path: Path) -> None:
    """Its raw scores [batch, query, key] depend on all keys: masks hide later ones and padding afterwards."""
    attention = keras.layers.Attention()
    x = np.random.default_rng(0).standard_normal((3, 6, 5)).astype("f")
    tokens = np.array([[1, 2, 3, 0], [4, 3, 0, 0]], np.int32)

    def attending(is_causal: bool) -> Callable[[Any, Any], Any]:
        def loss(x: Any, w: Any) -> Any:
            h = tf.matmul(x, w)
            return tf.reduce_mean(tf.tanh(attention([h, h], use_causal_mask=is_causal)))

        return loss

    def padded(x: Any, w: Any) -> Any:
        embedded, mask = tf.gather(w, x), tf.not_equal(x, 0)
        found = attention([embedded, embedded], mask=[mask, mask])
        return tf.reduce_mean(tf.reduce_sum(found * tf.cast(mask, tf.float32)[..., None], 1))

    assert ask(record(tmp_path / "causal", attending(True), x), "test", step=0, test="causal")["passed"]
    assert not ask(record(tmp_path / "open", attending(False), x), "test", step=0, test="causal")["passed"]
    assert ask(record(tmp_path / "padded", padded, tokens), "test", step=0, test="padding")["passed"]


@pytest.mark.parametrize("name", ["loop", "rnn", "cnn"])
def test_gradients_are_derivatives(ask: Ask, name: str) -> None:
    found = ask(name, "test", test="gradient")
    assert found["passed"], found
    assert len(found["rows"]) == {"loop": 1, "rnn": 5, "cnn": 6}[name]


def test_a_wrong_gradient_is_found(ask: Ask, tmp_path: Path) -> None:
    @tf.custom_gradient
    def wrong(x: Any) -> Any:
        return x**2, lambda given: given * 3 * x

    path = record(tmp_path / "r", lambda x, w: tf.reduce_sum(wrong(x @ w)), np.ones((2, 5), "f"))
    found = ask(path, "test", step=0, test="gradient")
    assert not found["passed"]
    assert found["rows"][0]["analytic"] == pytest.approx(1.5 * found["rows"][0]["numeric"], rel=1e-4)


def test_a_loss_that_is_not_finite_has_no_derivative(ask: Ask, tmp_path: Path) -> None:
    path = record(tmp_path / "r", lambda x, w: -tf.reduce_sum(tf.math.log(0 * (x @ w))), np.ones((2, 5), "f"))
    for test in ("gradient", "sensitivity"):
        with pytest.raises(NotFoundError, match="The loss is inf, also in float64"):
            ask(path, "test", step=0, test=test)


def test_variables_of_one_name_are_not_taken_for_one_another(ask: Ask, tmp_path: Path) -> None:
    def kernels(run_dir: Path, size: tuple[int, int]) -> Path:
        a = tf.Variable(np.ones((2, 2), "f"), name="kernel")
        b = tf.Variable(np.full(size, 3, "f"), name="kernel")
        with Tap(run_dir, Watch(steps=[10**6]), record=every(1)) as tap:

            @tap.function
            def step(x: Any) -> Any:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(tf.tanh(x @ a * 0.1) @ tf.sin(b))
                for variable, gradient in zip((a, b), tape.gradient(loss, [a, b]), strict=True):
                    variable.assign_sub(gradient * 0.1)
                return loss

            step(tf.reshape(tf.range(4.0), (2, 2)))
        return run_dir

    found = ask(kernels(tmp_path / "unlike", (2, 3)), "test", step=0, test="gradient")
    assert found["passed"] and len(found["rows"]) == 2, found
    with pytest.raises(NotFoundError, match="2 of variables with the same name and shape"):
        ask(kernels(tmp_path / "same", (2, 2)), "test", step=0, test="gradient")


def test_determinism_and_sensitivity(ask: Ask) -> None:
    found = ask("loop", "test", test="determinism", runs=3)
    assert found["passed"] and "3 replays" in found["summary"]
    found = ask("loop", "test", test="sensitivity")
    assert {row["input"] for row in found["rows"]} >= {"w", "x"}
    assert found["rows"][0]["amplification"] > 0.01
    with pytest.raises(NotFoundError, match="Unknown test 'nothing'"):
        ask("loop", "test", test="nothing")


def adversarial(run_dir: Path, *, second_after: bool) -> Path:
    """A step with two losses; the second is computed of what the first one changed, if `second_after`."""
    random = np.random.default_rng(3)
    made, judge = (
        tf.Variable(random.standard_normal(size).astype("f"), name=name)
        for name, size in (("made", (4, 4)), ("judge", (4, 1)))
    )
    with Tap(run_dir, Watch(steps=[10**6]), record=every(1)) as tap:

        @tap.function
        def step(x: Any) -> None:
            with tf.GradientTape() as first:
                real, fake = x @ judge, tf.tanh(x @ made) @ judge
                loss = tf.reduce_mean(tf.nn.softplus(-real) + tf.nn.softplus(fake))
            gradient = first.gradient(loss, judge)
            if second_after:
                judge.assign_sub(gradient)
            with tf.GradientTape() as second:
                loss = tf.reduce_mean(tf.nn.softplus(-tf.tanh(x @ made) @ judge))
            if not second_after:
                judge.assign_sub(gradient)
            made.assign_sub(tf.convert_to_tensor(second.gradient(loss, made)))

        step(tf.constant(random.standard_normal((8, 4)).astype("f")))
    return run_dir


def test_each_gradient_is_held_against_its_own_loss(ask: Ask, tmp_path: Path) -> None:
    found = ask(adversarial(tmp_path / "r", second_after=False), "test", step=0, test="gradient")
    assert found["passed"] and len({row["loss"] for row in found["rows"]}) == 2 and "loss" in found["columns"]
    found = ask(adversarial(tmp_path / "after", second_after=True), "test", step=0, test="gradient")
    assert found["passed"] and [row["variable"] for row in found["rows"]] == ["judge"]
    assert "skipped: 1 of a loss that depends on a changed variable" in found["summary"]


def test_gradients_of_a_call_of_several_steps(ask: Ask, tmp_path: Path) -> None:
    w = tf.Variable(np.ones((4, 4), "f"), name="w")

    def step(x: Any) -> Any:
        total = 0.0
        for row in tf.range(4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.tanh(x[row] * tf.reduce_sum(w, 0)))
            w.assign_sub(tf.convert_to_tensor(tape.gradient(loss, w)))
            total += loss
        return total

    with Tap(tmp_path / "r", Watch(steps=[10**6]), record=every(1)) as tap:
        tap.function(step)(tf.random.stateless_normal((4, 4), (1, 2)))
    found = ask(tmp_path / "r", "test", step=0, test="gradient")
    assert found["passed"] and len(found["rows"]) == 1, found
