"""Triggers, the flight recorder, and ending training, with real TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import BATCH, data, mlp

from tensortap.capture.errors import TapWarning, WatchError
from tensortap.capture.tap import Tap
from tensortap.capture.tracing.candidate import Candidate
from tensortap.capture.triggers import triggers
from tensortap.capture.triggers.firing import TrainingStoppedError
from tensortap.capture.triggers.flight_recorder import FlightRecorder
from tensortap.capture.triggers.step_summaries import Examined, StepSummaries
from tensortap.capture.triggers.triggers import Finding, LossSpike, NonFinite, Trigger
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.dump.format.events import EventsTail
from tensortap.dump.read.runs import RunReader


class Misled(Trigger):
    def __init__(self, watches: Any) -> None:
        self.watches = watches

    def check(self, step: StepSummaries) -> Finding | None:
        return None

    def __repr__(self) -> str:
        return "Misled"


BAD = 7  # the step at which the data go wrong


def events(run_dir: Path, kind: str = "trigger") -> list[dict[str, Any]]:
    (worker,) = RunReader(run_dir).workers()
    return [event for event in EventsTail(run_dir, worker.worker).poll() if event["kind"] == kind]


def step_of(tap: Tap) -> Any:
    @tap.function
    def step(x: tf.Tensor) -> tf.Tensor:
        root = tf.sqrt(x, name="root")  # of a negative number
        return tf.reduce_sum(tf.multiply(root, 2.0, name="double"), name="total")

    return step


def batches(count: int = 10, bad: float = -1.0) -> list[tf.Tensor]:
    return [tf.constant([float(n), bad if n == BAD else 1.0]) for n in range(count)]


def test_the_steps_before_a_nan_are_written_and_the_node_it_comes_from_is_named(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch("total", steps=every(5)), on=NonFinite(), before=3)
    step = step_of(tap)

    for x in batches():
        step(x)
    tap.close()

    dumped = Dumped(tmp_path / "r")
    kept = {row.step for row in dumped.rows if row.name == "root:0" and row.kept is not None}
    assert kept == {BAD - 3, BAD - 2, BAD - 1, BAD}
    assert np.array_equal(dumped.value("root:0", BAD - 1), np.sqrt([BAD - 1, 1]).astype(np.float32))
    # What the watch wants is there once, whatever the recorder held of it.
    assert [(row.step, row.kept is not None) for row in dumped.at("total:0")] == [
        (0, False),
        (4, True),
        (5, True),
        (6, True),
        (7, True),
    ]
    (firing,) = tap.fired
    assert (firing.step, firing.tensor, firing.op_type, firing.first_step) == (BAD, "root:0", "Sqrt", BAD - 3)
    assert firing.source is not None
    assert Path(firing.source[0]).name == "test_triggers.py"
    assert [(each.tensor, each.low) for each in firing.inputs] == [("x:0", -1.0)]
    (event,) = events(tmp_path / "r")
    assert (event["step"], event["node"], event["first_step"], event["stops"]) == (
        BAD,
        "root",
        BAD - 3,
        False,
    )
    assert event["inputs"] == [{"tensor": "x:0", "nan": 0, "inf": 0, "min": -1.0, "max": 7.0}]
    assert event["graph"] in dumped.reader.graph_ids()


def test_stop_raises_at_the_end_of_the_step_and_says_what_where_and_from_what(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch("total"), on=NonFinite(), stop=True)
    step = step_of(tap)
    done = 0

    with pytest.raises(TrainingStoppedError) as caught:
        for x in batches():
            step(x)
            done += 1

    assert done == BAD
    for part in (
        f"NonFinite() fired at step {BAD}: root:0 has 1 NaN of 2 elements.",
        "Its node root is a Sqrt, created in ",
        "test_triggers.py:",
        "x:0 (from -1 to 7)",
        str(tmp_path / "r"),
    ):
        assert part in str(caught.value)
    assert caught.value.firing == tap.fired[0]
    tap.close()


@pytest.mark.parametrize("stop", [True, "return"])
def test_a_keras_fit_ends_with_the_step_that_went_wrong(tmp_path: Path, stop: Any) -> None:
    model = mlp()
    x, y = data(batches=8)
    x[BAD * BATCH] = np.inf
    tap = Tap(
        tmp_path / "r",
        Watch(kinds="weight", steps=1),
        on=NonFinite(Watch(kinds=["output", "gradient"])),
        stop=stop,
    )
    fit = {"batch_size": BATCH, "shuffle": False, "verbose": 0, "epochs": 3, "callbacks": [tap.callback()]}

    if stop is True:
        with pytest.raises(TrainingStoppedError, match=f"fired at step {BAD}: .*mlp"):
            model.fit(x, y, **fit)
    else:
        model.fit(x, y, **fit)

    assert int(model.optimizer.iterations.numpy()) == BAD + 1
    assert [firing.step for firing in tap.fired] == [BAD]
    tap.close()
    assert max(Dumped(tmp_path / "r").steps) == BAD


def test_the_next_fit_is_not_ended_by_what_fired_in_the_one_before(tmp_path: Path) -> None:
    model = mlp()
    x, y = data(batches=4)
    third = lambda step: step.step == 2  # noqa: E731
    with Tap(tmp_path / "r", Watch(kinds="loss", steps=1), on=third, stop="return") as tap:
        for _ in range(2):
            model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=[tap.callback()])
    assert int(model.optimizer.iterations.numpy()) == 3 + 4


def test_a_condition_over_summaries_runs_training_until_it_holds(tmp_path: Path) -> None:
    def large(step: StepSummaries) -> str | None:
        summary = step["double:0"]
        return f"double reached {summary.max:g}" if summary.max > 3 else None

    tap = Tap(tmp_path / "r", Watch("double|total", steps=100), on=large, stop="return")
    step = step_of(tap)
    for x in batches(bad=1.0):
        if tap.fired:
            break
        step(x)
    tap.close()

    (firing,) = tap.fired
    assert (firing.step, firing.trigger, firing.reason) == (3, "large", "double reached 3.4641")
    assert {row.step for row in Dumped(tmp_path / "r").rows} == {0, 3}


def test_a_spike_of_the_loss_is_found_without_its_name(tmp_path: Path) -> None:
    model = mlp()
    x, y = data(batches=12)
    x[9 * BATCH : 10 * BATCH] *= 1e4
    tap = Tap(tmp_path / "r", Watch(kinds="loss"), on=LossSpike(20.0) | NonFinite(Watch(kinds="weight")))

    model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[tap.callback()])
    tap.close()

    assert tap.fired[0].step == 9
    assert tap.fired[0].trigger == "LossSpike(20)"
    assert "after a median of" in tap.fired[0].reason


def test_a_trigger_fires_when_its_condition_becomes_true_and_after(tmp_path: Path) -> None:
    tap = Tap(
        tmp_path / "r",
        Watch("total", steps=[0]),
        on=NonFinite(),
        before=FlightRecorder(1, Watch("root", keep="value"), after=1),
    )
    step = step_of(tap)
    for bad in (False, True, True, False, False, True):
        step(tf.constant([-1.0 if bad else 1.0]))
    tap.close()

    assert [firing.step for firing in tap.fired] == [1, 5]
    dumped = Dumped(tmp_path / "r")
    assert [row.step for row in dumped.at("root:0")] == [0, 1, 2, 4, 5]


def test_steps_after_a_firing_are_those_that_run_whatever_their_numbers(tmp_path: Path) -> None:
    before = FlightRecorder(1, Watch("root", keep="value"), after=2)
    tap = Tap(tmp_path / "r", Watch("total", steps=[0]), on=NonFinite(), before=before)
    step = step_of(tap)
    for number, bad in ((10, False), (20, True), (30, False), (40, False), (50, False), (60, False)):
        with tap.step(number):
            step(tf.constant([-1.0 if bad else 1.0]))
    tap.close()

    assert [row.step for row in Dumped(tmp_path / "r").at("root:0")] == [10, 20, 30, 40]


def test_what_a_failing_step_left_is_written_too(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch("root", steps=[100]), on=NonFinite(), before=2)

    @tap.function
    def step(x: tf.Tensor) -> tf.Tensor:
        root = tf.sqrt(x, name="root")
        with tf.control_dependencies([tf.debugging.assert_less(tf.reduce_sum(root), 3.0)]):
            return root + 1.0

    with pytest.raises(tf.errors.InvalidArgumentError):
        for n in range(12):
            step(tf.constant(float(n)))
    tap.close()

    (event,) = events(tmp_path / "r")
    assert (event["step"], event["trigger"], event["first_step"]) == (9, "a failing step", 7)
    assert event["reason"].startswith("InvalidArgumentError: ")
    assert [row.step for row in Dumped(tmp_path / "r").at("root:0")][:2] == [7, 8]


def test_the_recorder_keeps_to_its_memory(tmp_path: Path) -> None:
    tap = Tap(
        tmp_path / "r",
        Watch("big", steps=[100]),
        on=lambda step: step.step == 9,
        before=FlightRecorder(8, Watch("big", keep="value"), max_bytes=3 * 4100),
    )

    @tap.function
    def step(x: tf.Tensor) -> tf.Tensor:
        return tf.add(x, 1.0, name="big")

    for n in range(10):
        step(tf.fill([1000], float(n)))
    tap.close()
    assert [row.step for row in Dumped(tmp_path / "r").at("big:0")] == [6, 7, 8, 9]


def test_a_trigger_that_never_had_anything_to_look_at_is_reported(tmp_path: Path) -> None:
    with pytest.warns(TapWarning) as reported:
        tap = Tap(
            tmp_path / "r", Watch("total", steps=1), on=NonFinite() | LossSpike(10) | (lambda step: False)
        )
        step = step_of(tap)
        for x in batches(3, bad=1.0):
            step(x)
        tap.close()
    (message,) = [str(each.message) for each in reported]
    assert "LossSpike(10) found no tensors to check" in message
    assert "NonFinite()" not in message


def test_a_trigger_that_fails_is_reported_once_and_training_goes_on(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch("total", steps=1), on=lambda step: step["no such tensor"].max > 1)
    step = step_of(tap)
    with pytest.warns(TapWarning, match="the trigger .* failed .KeyError.*Training continues") as reported:
        for x in batches(3, bad=1.0):
            step(x)
        tap.close()
    assert [each.category for each in reported].count(TapWarning) == 1
    assert Dumped(tmp_path / "r").steps == [0, 1, 2]


def test_steps_of_a_trigger_that_raise_are_reported_and_training_goes_on(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch("total", steps=1), on=NonFinite(Watch(steps=lambda step: step < 1 / 0)))
    step = step_of(tap)
    with pytest.warns(TapWarning, match=r"ZeroDivisionError.*Fix steps="):
        for x in batches(3, bad=1.0):
            step(x)
    tap.close()
    assert Dumped(tmp_path / "r").steps == [0, 1, 2]


def test_an_empty_loss_is_no_spike() -> None:
    def step(number: int, loss: list[float]) -> StepSummaries:
        candidate = Candidate("loss", 0, "Mean", "float32", kind="loss")
        return StepSummaries(number, [Examined(candidate, 0, np.array(loss, np.float32))])

    trigger = LossSpike(10)
    losses = [[1.0]] * 3 + [[]] + [[1.0]] * 3 + [[]]
    assert [trigger.check(step(*each)) for each in enumerate(losses)] == [None] * 8
    assert trigger.check(step(8, [11.0])) is not None


@pytest.mark.parametrize("found", [True, Finding(3), Finding("bad", "total:0")])  # type: ignore[arg-type]
def test_a_trigger_that_finds_no_finding_is_reported_and_all_is_written(tmp_path: Path, found: Any) -> None:
    class Own(Trigger):
        watches = (Watch("total", steps=1),)

        def check(self, step: StepSummaries) -> Any:
            return found

    tap = Tap(tmp_path / "r", Watch("total", steps=1), on=Own() | NonFinite(), stop="return")
    step = step_of(tap)
    with pytest.warns(TapWarning, match="the trigger .* failed .TypeError: .*Training continues"):
        for x in batches(3, bad=1.0):
            step(x)
        tap.close()
    assert Dumped(tmp_path / "r").steps == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"on": 3}, "on=3 is not a trigger.*NonFinite"),
        ({"on": NonFinite}, "on=.* is not a trigger"),
        ({"on": Misled(("total",))}, r"watches=\('total',\) of Misled is not a tuple of watches"),
        ({"on": Misled(Watch("total"))}, r"watches=Watch\(.*\) of Misled is not a tuple.*Use \(Watch"),
        ({"before": 3}, r"before= needs a trigger.*on=NonFinite\(\)"),
        ({"stop": True}, "stop= needs a trigger"),
        ({"on": NonFinite(), "stop": "now"}, "stop='now' is unknown"),
        ({"on": NonFinite(), "before": "all"}, "before='all' is not a flight recorder"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(WatchError, match=message):
        Tap(tmp_path / "r", **arguments)


def test_mistakes_of_triggers_are_named() -> None:
    for make in (
        lambda: LossSpike(1),
        lambda: LossSpike(5, window=2),
        lambda: FlightRecorder(-1),
    ):
        with pytest.raises(WatchError):
            make()
    for wrong in ("x", 3, NonFinite()):
        for take in (NonFinite, lambda watch: FlightRecorder(3, watch)):
            with pytest.raises(WatchError, match=r"watch=.* is not a Watch.*Use Watch\(…\)"):
                take(wrong)
    assert repr(NonFinite(inf=False) | len) == "NonFinite(inf=False) | len"
    assert Finding("why").tensor is None


def scaled_training(folder: Path, x: np.ndarray[Any, Any], steps: int, scale: float) -> Tap:
    """Trains a model whose loss is scaled dynamically, from a given scale on, one step an epoch."""
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(), initial_scale=scale)
    model = mlp()
    model.compile(optimizer, "mse")
    tap = Tap(folder, on=NonFinite(), stop="return")
    y = np.ones((len(x), *model.output_shape[1:]), np.float32)
    model.fit(x, y, batch_size=len(x), epochs=steps, verbose=0, callbacks=[tap.callback()])
    tap.close()
    return tap


def test_a_scale_that_overflows_is_not_what_one_looks_for(tmp_path: Path) -> None:
    x = data()[0][:BATCH]
    assert scaled_training(tmp_path / "few", x, 6, 2.0**127).fired == ()
    x[0, 0] = np.nan
    (firing,) = scaled_training(tmp_path / "nan", x, 6, 2.0**127).fired
    assert firing.step == 0
    assert "gradient" not in firing.reason


def test_an_overflow_that_no_scale_mends_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triggers, "_OVERFLOWS", 3)
    (firing,) = scaled_training(tmp_path / "r", 1e6 * data()[0][:BATCH], 6, 2.0**127).fired
    assert firing.step == 2


def test_the_origin_is_found_through_functions_and_loops(tmp_path: Path) -> None:
    inner = tf.function(lambda x: tf.multiply(tf.exp(x, name="exp"), 2.0), autograph=False)

    def given(x: tf.Tensor) -> tf.Tensor:
        return inner(tf.math.log(x, name="log"))

    def looped(x: tf.Tensor) -> tf.Tensor:
        def body(n: tf.Tensor, a: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            doubled = tf.multiply(a, 2.0, name="doubled")
            return n + 1, tf.math.log(tf.subtract(3.0 - tf.cast(n, tf.float32), doubled, name="difference"))

        return tf.while_loop(lambda n, _: n < 5, body, (0, x[0]), name="loop")[1]

    found = {}
    for name, function in (("functions", given), ("loop", looped)):
        tap = Tap(tmp_path / name, Watch(steps=1), on=NonFinite())
        tap.function(function, autograph=False)(tf.constant([-1.0, 2.0]))
        tap.close()
        (firing,) = tap.fired
        found[name] = firing.op_type, [(each.nan, each.inf) for each in firing.inputs]

    assert found == {"functions": ("Log", [(0, 0)]), "loop": ("Log", [(0, 0)])}


def test_the_origin_is_found_behind_lists_and_in_second_calls(tmp_path: Path) -> None:
    inner = tf.function(lambda x: tf.math.log(x) * 2.0, autograph=False)
    outer = tf.function(lambda x: inner(x) + inner(x - 1.5), autograph=False)
    functions = {
        "map": lambda x: tf.map_fn(lambda each: tf.math.log(each) * 2.0, x),
        "scan": lambda x: tf.scan(lambda total, each: total + tf.math.log(each), x, tf.constant(1.0)),
        "second call": lambda x: inner(x) + inner(x - 1.5),
        "second call of a caller": lambda x: outer(x + 2.0) + outer(x + 0.2),
    }
    for name, function in functions.items():
        with Tap(tmp_path / name, Watch(steps=1), on=NonFinite()) as tap:
            step = tap.function(function, autograph=False)
            step(tf.constant([3.0, 2.0]))
            step(tf.constant([3.0, -1.0 if name in ("map", "scan") else 1.0]))
        (firing,) = tap.fired
        assert (firing.step, firing.op_type) == (1, "Log"), name
        assert [each.low for each in firing.inputs] == [-1.0 if name in ("map", "scan") else None], name


def test_a_nan_of_the_data_is_not_blamed_on_the_layer_that_reads_it(tmp_path: Path) -> None:
    x, y = data()
    x[BATCH, 0] = np.nan  # in the second batch
    model = mlp()
    tap = Tap(tmp_path / "r", Watch(steps=1), on=NonFinite())

    model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[tap.callback()])
    tap.close()

    assert (tap.fired[0].step, tap.fired[0].op_type) == (1, "IteratorGetNext")
