"""Whatever goes wrong with the dump, training goes on and says so once."""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import BATCH, cnn, data, mlp
from tensorflow.python.eager import context

from tensortap.capture.errors import TapWarning, WatchError
from tensortap.capture.instrument import function_rewrite
from tensortap.capture.instrument.tapped_function import InstrumentedFunction, TapFailedError
from tensortap.capture.place_selection import PlaceSelection
from tensortap.capture.tap import Tap
from tensortap.capture.tracing.candidate import Candidate
from tensortap.capture.triggers.triggers import NonFinite
from tensortap.capture.watching.watch import Watch
from tensortap.dump.format.events import EventsTail
from tensortap.dump.read.runs import RunReader
from tensortap.dump.write.writer import DumpWriter

ALL = Watch(steps=1, keep="value")


def fit_tapped(tap: Tap) -> list[np.ndarray[Any, Any]]:
    """The weights after a short training with that tap."""
    model = mlp()
    x, y = data(batches=3)
    model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[tap.callback()])
    tap.close()
    weights: list[np.ndarray[Any, Any]] = model.get_weights()
    return weights


def fit_plain() -> list[np.ndarray[Any, Any]]:
    model = mlp()
    x, y = data(batches=3)
    model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0)
    weights: list[np.ndarray[Any, Any]] = model.get_weights()
    return weights


def same(ours: list[np.ndarray[Any, Any]], theirs: list[np.ndarray[Any, Any]]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def broken(*args: Any, **kwargs: Any) -> Any:
    raise OSError(28, "No space left on device")


def test_a_disk_that_refuses_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DumpWriter, "log_many", broken)
    monkeypatch.setattr(DumpWriter, "graph", broken)

    with pytest.warns(TapWarning, match="No space left") as reported:
        weights = fit_tapped(Tap(tmp_path / "r", ALL))

    assert [each.category for each in reported].count(TapWarning) == 1
    assert "Free space" in str(reported[0].message)
    assert same(weights, fit_plain())


def test_a_run_that_cannot_be_opened(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    tap = Tap(tmp_path / "file" / "r", ALL)

    with pytest.warns(TapWarning, match="cannot be opened"):
        weights = fit_tapped(tap)

    assert same(weights, fit_plain())
    assert tap.dropped > 0
    assert f"{tap.dropped} snapshots of run 'r' were dropped" in capfd.readouterr().err


def test_a_function_that_cannot_be_rewritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise ValueError("unknown construct")

    monkeypatch.setattr(function_rewrite._Rewriter, "run", refuse)
    with pytest.warns(TapWarning, match="could not be tapped .ValueError: unknown construct"):
        weights = fit_tapped(Tap(tmp_path / "r", ALL))

    assert same(weights, fit_plain())


def test_a_copy_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tap's own nodes are wrong; the original runs instead, once."""

    def wrong(definition: Any, node: str) -> None:
        definition.control_ret["tensortap_0"] = node
        definition.signature.control_output.append("tensortap_0")
        definition.node_def[-1].attr["Tcomponents"].list.type[0] = tf.string.as_datatype_enum

    monkeypatch.setattr("tensortap.capture.instrument.tap_queues.keep_alive", wrong)
    counter = tf.Variable(0)
    tap = Tap(tmp_path / "r", ALL)

    @tap.function
    def count(x: Any) -> Any:
        counter.assign_add(1)
        return tf.add(x, 1.0)

    with pytest.warns(TapWarning, match="could not run with taps"):
        assert count(tf.constant(1.0)) == 2.0
    assert count(tf.constant(1.0)) == 2.0
    assert counter.numpy() == 2
    tap.close()


def test_a_tap_that_another_thread_closes_in_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = tf.Variable(0)
    tap = Tap(tmp_path / "r", ALL)
    call = InstrumentedFunction.call

    def late(copy: InstrumentedFunction, *arguments: Any) -> Any:
        tap.close()
        copy.discard()  # as it does if there is no other tap
        return call(copy, *arguments)

    monkeypatch.setattr(InstrumentedFunction, "call", late)
    count = tap.function(lambda: counter.assign_add(1))
    with pytest.warns(TapWarning, match="could not run with taps .*closed the tap"):
        assert count() == 1
    assert counter.numpy() == 1


def test_a_step_that_runs_out_of_memory_half_way_is_made_once(tmp_path: Path) -> None:
    """Variables are put back before the step is made again without taps."""
    counter, weight, calls = tf.Variable([0, 0]), tf.Variable(1.0), []

    def allocate() -> Any:
        calls.append(counter.numpy().tolist())
        if len(calls) == 1:
            raise MemoryError("no room for the taps")
        return np.float32(2.0)

    tap = Tap(tmp_path / "r", ALL)

    @tap.function
    def step(x: Any) -> Any:
        with tf.control_dependencies([counter.assign_add([1, 2]), weight.assign(7.0)]):
            y = tf.numpy_function(allocate, [], tf.float32)
        y.set_shape(())
        weight.assign_add(y)
        return x * y

    with pytest.warns(
        TapWarning, match="could not run with taps; some effects cannot be undone: it calls Python"
    ):
        assert step(tf.constant(1.0)) == 2.0
    assert calls == [[1, 2], [1, 2]]
    assert (counter.numpy().tolist(), float(weight)) == ([1, 2], 9.0)
    step(tf.constant(1.0))
    assert (counter.numpy().tolist(), float(weight)) == ([2, 4], 9.0)
    tap.close()


@pytest.mark.parametrize("compiled", [False, True])
def test_a_whole_step_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    """The tapped step runs to its end and then fails: weights, statistics and seeds are as without it."""
    rows, labels = tf.random.Generator.from_seed(1).normal([BATCH, 8, 8, 2]), tf.range(BATCH) % 3

    def trained(tap: Tap | None) -> list[bytes]:
        model = cnn()
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = loss_of(y, model(x, training=True))
            model.optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
            return loss

        model.optimizer.build(model.trainable_variables)
        wrap = tf.function if tap is None else tap.function
        function = wrap(step, jit_compile=compiled)
        for _ in range(3):
            function(rows, labels)
        return [variable.numpy().tobytes() for variable in (*model.variables, *model.optimizer.variables)]

    call = InstrumentedFunction.call

    def failing(self: Any, *args: Any) -> Any:
        call(self, *args)
        raise TapFailedError from tf.errors.ResourceExhaustedError(None, None, "too late")

    expected = trained(None)
    monkeypatch.setattr(InstrumentedFunction, "call", failing)
    how = "as a shadow copy" if compiled else "with taps"
    with pytest.warns(TapWarning, match=f"could not run {how} .ResourceExhausted"):
        assert trained(Tap(tmp_path / "r", Watch(kinds=["output", "gradient"], steps=1))) == expected


def test_errors_that_the_function_raises_anyway_are_raised_once(tmp_path: Path) -> None:
    counter = tf.Variable(0)

    def allocate() -> Any:
        raise MemoryError("never enough")

    tap = Tap(tmp_path / "r", ALL)

    @tap.function
    def step() -> Any:
        with tf.control_dependencies([counter.assign_add(1)]):
            return tf.numpy_function(allocate, [], tf.float32)

    with (
        pytest.warns(TapWarning, match="could not run with taps"),
        pytest.raises(tf.errors.ResourceExhaustedError, match="never enough"),
    ):
        step()
    assert counter.numpy() == 1
    tap.close()


@tf.function
def _picked(x: Any, index: Any) -> Any:
    return tf.multiply(tf.gather(x, index), 2.0, name="picked"), tf.add(x, 1.0, name="plus")


UNUSED = {
    "a call": lambda x, index: [_picked(x, index)],
    "an output": lambda x, index: _picked(x, index)[1],
    "what follows": lambda x, index: tf.multiply(tf.gather(x, index), 2.0),
    "a branch": lambda x, index: tf.cond(x[0] > 0, lambda: tf.gather(x, index), lambda: x),
    "a loop": lambda x, index: tf.while_loop(
        lambda i: i < 3, lambda i: i + tf.gather(tf.ones([2], tf.int32), index), [0]
    ),
    "another": lambda x, index: tf.slice(x, [index], [1]),
}


@pytest.mark.parametrize("unused", UNUSED)
@pytest.mark.filterwarnings("ignore:.*could not run with taps:tensortap.capture.errors.TapWarning")
def test_what_nothing_needs_does_not_make_a_step_fail(tmp_path: Path, unused: str) -> None:
    counter = tf.Variable(0)
    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def step(x: Any, index: Any) -> Any:
            UNUSED[unused](x, index)
            counter.assign_add(1)
            return tf.multiply(x, 3.0, name="tripled")

        assert step(tf.ones([3]), tf.constant(99)).numpy().tolist() == [3.0] * 3
        assert counter.numpy() == 1
    if unused in ("a call", "what follows", "a branch", "a loop"):  # left out, so that the rest is captured
        assert Dumped(tmp_path / "r").value("tripled:0").tolist() == [3.0] * 3


def test_errors_of_the_function_itself_are_the_users(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def check(x: Any) -> Any:
            doubled = tf.add(x, x, name="doubled")
            with tf.control_dependencies([doubled]):
                tf.debugging.assert_less(x, 10.0, "too large")
            return doubled

        check(tf.constant(1.0))
        with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
            check(tf.constant(11.0))
        check(tf.constant(2.0))

    # What was computed before the failure is in the dump, under the step that failed.
    steps = [(row.step, float(row.value)) for row in Dumped(tmp_path / "r").at("doubled:0")]
    assert [step for step in steps if step[0] != 1] == [(0, 2.0), (2, 4.0)]
    (raised,) = Dumped(tmp_path / "r").events("raised")
    assert raised["step"] == 1
    assert raised["error"].startswith("InvalidArgumentError: assertion failed: [too large]")
    assert "assert_less" in raised["node"]


def test_choices_that_raise(tmp_path: Path) -> None:
    def confused(candidate: Candidate) -> bool:
        raise KeyError(candidate.node)

    with pytest.warns(TapWarning, match="nodes=confused of a Watch failed on node .* .KeyError"):
        assert same(fit_tapped(Tap(tmp_path / "a", Watch(confused, steps=1))), fit_plain())
    with pytest.warns(TapWarning, match="Fix steps="):
        assert same(fit_tapped(Tap(tmp_path / "b", Watch(steps=lambda step: step < 1 / 0))), fit_plain())


def test_a_callable_that_cannot_be_hashed_is_refused(tmp_path: Path) -> None:
    @dataclass
    class Late:
        first: int

        def __call__(self, step: int) -> bool:
            return step >= self.first

    with pytest.raises(WatchError, match=r"Watch\(steps=.*\) cannot be hashed: unhashable type: 'Late'"):
        Watch(steps=Late(3))


def test_an_error_without_a_message_leaves_the_step_as_it_is(tmp_path: Path) -> None:
    class WordlessError(Exception):
        def __str__(self) -> str:
            raise KeyError("no words")

    tap = Tap(tmp_path / "r", ALL, on=NonFinite(), stop=True)
    with pytest.raises(WordlessError), tap.step():
        raise WordlessError
    tap.close()
    (worker,) = RunReader(tmp_path / "r").workers()
    (raised,) = [e for e in EventsTail(tmp_path / "r", worker.worker).poll() if e["kind"] == "raised"]
    assert raised["error"] == "WordlessError"


def test_a_graph_that_cannot_be_written_takes_no_tensor_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(writer: DumpWriter, graph: Any) -> str:
        raise ValueError("half a surrogate pair")

    monkeypatch.setattr(DumpWriter, "graph", refuse)
    tap = Tap(tmp_path / "r", ALL)
    with pytest.warns(TapWarning, match="a graph was not written .ValueError: half"):
        tap.function(lambda: tf.add(tf.ones(2), 1.0, name="two"))()
        tap.close()
    assert tap.dropped == 0
    np.testing.assert_array_equal(Dumped(tmp_path / "r").value("two:0"), [2.0, 2.0])


def test_what_could_not_be_stored_did_run_with_taps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise ValueError("full")

    monkeypatch.setattr(PlaceSelection, "take", refuse)
    tap = Tap(tmp_path / "r", ALL)
    with pytest.warns(TapWarning, match="could not be stored") as reported:
        tap.function(lambda: tf.add(tf.ones(2), 1.0, name="two"))()
    tap.close()
    assert not [each for each in reported if "untapped" in str(each.message)]


def test_a_closed_tap_leaves_no_hook(tmp_path: Path) -> None:
    original = context.Context.call_function
    tap = Tap(tmp_path / "r", ALL)
    with tap:
        assert context.Context.call_function is not original
    tap._state.hold_call_hook()  # as a thread does that began before the tap was closed
    tap._state.use_call_hook()
    assert context.Context.call_function is original


def test_a_choice_that_raises_stops_no_other_tap(tmp_path: Path) -> None:
    def fails(candidate: Candidate) -> bool:
        raise ValueError("no idea")

    function = tf.function(lambda x: tf.nn.relu(x, name="relu"))
    wrong, right = Tap(tmp_path / "wrong", Watch(fails, steps=1)), Tap(tmp_path / "right", ALL)
    with pytest.warns(TapWarning, match="no idea") as reported:
        for step in range(2):
            with wrong.step(step), right.step(step):
                function(tf.ones(2))
        wrong.close()
        right.close()
    assert ["run 'wrong'" in str(each.message) for each in reported] == [True]
    assert Dumped(tmp_path / "right").steps == [0, 1]


def test_warnings_as_errors_do_not_end_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(DumpWriter, "graph", broken)
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING, "tensortap"):
        warnings.simplefilter("error")
        assert same(fit_tapped(Tap(tmp_path / "r", ALL)), fit_plain())

    assert "No space left" in caplog.text


def test_a_nearly_full_disk_is_left_alone(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", ALL, disk_reserve=1 << 60)

    with pytest.warns(TapWarning, match="no snapshots or recordings are written"):
        assert same(fit_tapped(tap), fit_plain())
    assert tap.dropped > 0
    assert Dumped(tmp_path / "r").dropped == tap.dropped


def test_the_program_may_just_end(tmp_path: Path) -> None:
    """No close, no flush: what was captured is written when the interpreter exits."""
    program = """
import sys, tensorflow as tf
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch
tap = Tap(sys.argv[1], Watch(steps=1))
step = tap.function(lambda x: tf.add(x, 1.0, name="sum"))
for _ in range(50): step(tf.zeros([100, 100]))
"""
    command = [sys.executable, "-c", program, str(tmp_path / "r"), "--token", "hunter2"]
    subprocess.run(command, check=True, timeout=120)

    dumped = Dumped(tmp_path / "r")
    assert len(dumped.at("sum:0")) == 50
    assert dumped.reader.workers()[0].info["command"] == ["-c", str(tmp_path / "r"), "--token", "…"]


def test_a_forked_child_writes_as_itself(tmp_path: Path) -> None:
    program = """
import os, sys, numpy as np, tensorflow as tf
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch
with Tap(sys.argv[1], Watch("sum$", steps=1)) as tap:
    step = tap.function(lambda x: tf.add(x, 1.0, name="sum"))
    step(tf.zeros([]))
    child = os.fork()
    if child == 0:
        tap.flush()
        tap.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    step(tf.zeros([]))
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "r")], check=True, timeout=120)

    dumped = Dumped(tmp_path / "r")
    assert dumped.steps == [0, 1]
    assert len({row.step for row in dumped.rows}) == len(dumped.rows)


def test_a_watch_that_selects_nothing_says_so(tmp_path: Path) -> None:
    with pytest.warns(TapWarning, match=r"Watch\(nodes='dnse'.*selects no tensor in multi_step_on_iterator"):
        fit_tapped(Tap(tmp_path / "r", Watch("dnse", steps=1)))
    (unseen,) = Dumped(tmp_path / "r").events("unseen")
    assert unseen["text"].startswith("Nothing was captured: Watch(nodes='dnse'")


def test_a_misspelt_op_type_is_corrected(tmp_path: Path) -> None:
    with pytest.warns(TapWarning, match="selects no tensor in .*Did you mean 'MatMul'"):
        fit_tapped(Tap(tmp_path / "r", Watch(ops="Matmul", steps=1)))


def test_steps_that_were_never_watched_train_the_same(tmp_path: Path) -> None:
    assert same(fit_tapped(Tap(tmp_path / "r", Watch("dnse", steps=[100]))), fit_plain())


def test_a_step_that_would_not_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensortap.capture.instrument.tapped_function.available_bytes", lambda: 1000)
    with pytest.warns(TapWarning, match="could not be tapped .MemoryError: a step needs"):
        assert same(fit_tapped(Tap(tmp_path / "r", ALL)), fit_plain())


def test_watched_steps_that_never_come_are_reported(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch(steps=range(100, 200)))
    for number in (3, 4):
        with tap.step(number):
            pass
    with pytest.warns(TapWarning, match="selects none of the steps that ran, 3 to 4"):
        tap.close()
