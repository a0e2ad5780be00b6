"""`model.fit(…, callbacks=[tap.callback()])`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import BATCH, data, mlp

import tensortap
from tensortap.capture.errors import TapClosedError, TapWarning
from tensortap.capture.recording import run_recordings
from tensortap.capture.tap import Tap
from tensortap.capture.triggers.triggers import NonFinite
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.dump.recording.recording_files import find_recordings, read_recording


def test_one_changed_line_captures_every_tenth_step(tmp_path: Path) -> None:
    model = mlp()
    x, y = data(batches=6)

    model.fit(x, y, batch_size=BATCH, epochs=2, verbose=0, callbacks=[Tap(tmp_path / "r").callback()])

    dumped = Dumped(tmp_path / "r")
    assert dumped.steps == [0, 10]
    ops = {node.name: node.op_type for node in dumped.graph().nodes}
    captured = {ops[row.node] for row in dumped.rows}
    assert {"MatMul", "Relu", "ReadVariableOp", "IteratorGetNext", "BiasAddGrad", "ReluGrad"} <= captured
    assert captured.isdisjoint({"Const", "NoOp", "Placeholder"})
    assert dumped.dropped == 0


def test_every_op_with_a_dumpable_output_is_captured(tmp_path: Path) -> None:
    x, y = data(batches=1)

    mlp().fit(x, y, batch_size=BATCH, verbose=0, callbacks=[Tap(tmp_path / "r", Watch(steps=1)).callback()])

    dumped = Dumped(tmp_path / "r")
    expected = {
        f"{node.name}:{slot}"
        for node in dumped.graph().nodes
        for slot, dtype in enumerate(node.output_dtypes)
        if node.op_type not in ("Const", "NoOp", "_Arg") and dtype not in ("resource", "variant")
    }
    assert dumped.names == expected


def test_a_fit_in_a_step_is_reported_that_its_batches_are_steps(tmp_path: Path) -> None:
    x, y = data(batches=2)
    reported = pytest.warns(TapWarning, match="fit, evaluate and predict were called inside a step")
    with Tap(tmp_path / "r", Watch("MatMul", steps=1)) as tap, tap.step(50), reported:
        mlp().fit(x, y, batch_size=BATCH, verbose=0, callbacks=[tap.callback()])
    assert Dumped(tmp_path / "r").steps == [51, 52]


def test_steps_go_on_across_epochs_and_fits(tmp_path: Path) -> None:
    model = mlp()
    x, y = data(batches=3)
    tap = Tap(tmp_path / "r", Watch("MatMul", steps=every(2)))

    model.fit(x, y, batch_size=BATCH, epochs=2, verbose=0, callbacks=[tap.callback()])
    first = Dumped(tmp_path / "r").steps
    model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=[tap.callback()])
    tap.close()

    assert first == [0, 2, 4]
    assert Dumped(tmp_path / "r").steps == [0, 2, 4, 6, 8]


def test_the_model_is_left_as_it_was(tmp_path: Path) -> None:
    model = mlp()
    x, y = data()
    original_call = keras.layers.Layer.__call__
    model.fit(x, y, batch_size=BATCH, verbose=0)
    function = model.train_function

    model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=[Tap(tmp_path / "r").callback()])

    assert model.train_function is function
    assert keras.layers.Layer.__call__ is original_call


def test_a_function_traced_before_the_tap_still_has_layers(tmp_path: Path) -> None:
    model = mlp()
    x, y = data()
    model.fit(x, y, batch_size=BATCH, verbose=0)

    model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=[Tap(tmp_path / "r").callback()])

    layers = {
        node.op_type: node.layer for node in Dumped(tmp_path / "r").graph().nodes if node.op_type == "Relu"
    }
    assert layers == {"Relu": "mlp/hidden"}


def test_captured_values_are_those_of_the_model(tmp_path: Path) -> None:
    model = mlp()
    x, y = data(batches=1)
    hidden = keras.Model(model.inputs[0], model.get_layer("hidden").output)
    expected = hidden(x).numpy(), model(x).numpy(), model.get_layer("hidden").kernel.numpy()

    tap = Tap(tmp_path / "r", Watch(steps=1, keep="value"))
    model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[tap.callback()])

    dumped = Dumped(tmp_path / "r")
    outputs = {
        node.layer: node.name
        for node in dumped.graph().nodes
        if node.attributes.get("tensortap.kind") == "output"
    }
    kernel = next(
        node.name
        for node in dumped.graph().nodes
        if node.attributes.get("tensortap.variable") == "mlp/hidden/kernel"
        and node.op_type == "ReadVariableOp"
    )
    np.testing.assert_array_equal(dumped.value(outputs["mlp/hidden"] + ":0"), expected[0])
    np.testing.assert_array_equal(dumped.value(outputs["mlp/logits"] + ":0"), expected[1])
    np.testing.assert_array_equal(dumped.value(kernel + ":0"), expected[2])
    np.testing.assert_array_equal(dumped.value("IteratorGetNext:0"), x)
    np.testing.assert_array_equal(dumped.value("IteratorGetNext:1"), y)


def test_gradients_are_those_the_weights_moved_by(tmp_path: Path) -> None:
    model = mlp(optimizer=keras.optimizers.SGD(0.5))
    x, y = data(batches=1)
    before = {variable.path: variable.numpy() for variable in model.trainable_variables}

    tap = Tap(tmp_path / "r", Watch(kinds="gradient", steps=1, keep="value"))
    model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=[tap.callback()])

    dumped = Dumped(tmp_path / "r")
    of_variable = {
        node.attributes["tensortap.variable"]: node.name
        for node in dumped.graph().nodes
        if node.attributes.get("tensortap.kind") == "gradient"
    }
    assert set(of_variable) == set(before)
    for variable in model.trainable_variables:
        gradient = dumped.value(of_variable[variable.path] + ":0")
        np.testing.assert_allclose(variable.numpy(), before[variable.path] - 0.5 * gradient, rtol=1e-6)


def test_several_steps_in_one_call_are_visits(tmp_path: Path) -> None:
    model = mlp(steps_per_execution=3)
    x, y = data(batches=7)

    tap = Tap(tmp_path / "r", Watch("hidden.*Relu$", steps=[4], keep="value"))
    model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[tap.callback()])

    dumped = Dumped(tmp_path / "r")
    assert dumped.steps == [3]
    assert [row.visit for row in dumped.rows] == [0, 1, 2]
    assert tap.next_step == 7  # Keras says that the last call ends with batch 8


def test_calls_of_several_steps_are_numbered_by_their_batches(tmp_path: Path) -> None:
    x, y = data(batches=4)
    tap = Tap(tmp_path / "r", Watch("hidden.*Relu$", steps=1))
    model = mlp(steps_per_execution=3)
    model.fit(x, y, batch_size=BATCH, epochs=2, verbose=0, callbacks=[tap.callback()])
    assert Dumped(tmp_path / "r").steps == [0, 3, 4, 7]

    model.evaluate(x, y, batch_size=BATCH, verbose=0, callbacks=[tap.callback()])
    model.predict(x, batch_size=BATCH, verbose=0, callbacks=[tap.callback()])
    endless = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).repeat()
    model.fit(endless, steps_per_epoch=4, epochs=2, shuffle=False, verbose=0, callbacks=[tap.callback()])
    dumped = Dumped(tmp_path / "r")
    assert dumped.steps == [0, 3, 4, 7, 8, 11, 12, 15, 16, 19, 22, 25]
    visits = {(row.step, row.visit) for row in dumped.rows}
    assert [len([at for at in visits if at[0] == step]) for step in (0, 3, 15, 19)] == [3, 1, 1, 3]


def unsized(batches: int) -> tf.data.Dataset:
    """Data whose number of batches is not known before they end."""
    return tf.data.Dataset.from_tensor_slices(data(batches)).batch(BATCH).filter(lambda x, y: True)


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.parametrize(("at_once", "steps"), [(1, [0, 1, 2, 3, 4, 5, 6, 7]), (3, [0, 3, 4, 7])])
@pytest.mark.parametrize("devices", [0, 1])
def test_data_of_unknown_size_are_numbered_by_their_batches(
    tmp_path: Path, at_once: int, steps: list[int], devices: int
) -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"]) if devices else tf.distribute.get_strategy()
    with strategy.scope():
        model = mlp(steps_per_execution=at_once)
    with Tap(tmp_path / "r", Watch("hidden.*Relu$", steps=1), on=lambda step: not step.tensors) as tap:
        model.fit(unsized(4), epochs=2, shuffle=False, verbose=0, callbacks=[tap.callback()])
    assert tap.next_step == 8
    assert not tap.fired  # the call that finds no data any more is no step
    rows = Dumped(tmp_path / "r").rows
    assert sorted({row.step for row in rows}) == steps
    assert len({(row.step, row.visit) for row in rows}) == 8


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_arrays_cut_by_steps_per_epoch_are_numbered_by_their_batches(tmp_path: Path) -> None:
    x, y = data(batches=7)
    with Tap(tmp_path / "r", Watch("hidden.*Relu$", steps=1)) as tap:
        mlp(steps_per_execution=3).fit(
            x, y, batch_size=BATCH, steps_per_epoch=5, epochs=3, verbose=0, callbacks=[tap.callback()]
        )
    assert Dumped(tmp_path / "r").steps == [0, 3, 6, 7, 10]  # Keras begins the data anew behind their end
    assert tap.next_step == 13


def test_evaluate_and_predict_are_captured_when_asked(tmp_path: Path) -> None:
    model = mlp()
    x, y = data(batches=2)
    tap = Tap(tmp_path / "r", Watch(kinds="output", steps=1))

    model.evaluate(x, y, batch_size=BATCH, verbose=0, callbacks=[tap.callback()])
    assert Dumped(tmp_path / "r").steps == [0, 1]
    model.predict(x, batch_size=BATCH, verbose=0, callbacks=[tap.callback()])
    dumped = Dumped(tmp_path / "r")
    assert dumped.steps == [0, 1, 2, 3]
    assert {graph.name for graph in dumped.graphs()} == {"test_step", "predict_step"}


def test_validation_inside_fit_is_captured_at_the_last_step_of_its_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_recordings, "_MAX_WAITING", 9)  # a busy disk drops no recording
    x, y = data(batches=3)
    tap = Tap(tmp_path / "r", Watch(kinds="output", steps=[0, 1, 6]), record=every(1))

    mlp().fit(x, y, batch_size=BATCH, validation_data=(x, y), epochs=3, verbose=0, callbacks=[tap.callback()])
    tap.close()

    dumped = Dumped(tmp_path / "r")
    assert {graph.name for graph in dumped.graphs()} == {"train_step", "test_step"}
    steps = {(row.graph.rpartition("-")[0], row.step) for row in dumped.rows}
    # Its first batch; of the second epoch no step is watched.
    assert steps == {
        ("train_step", 0),
        ("train_step", 1),
        ("test_step", 2),
        ("train_step", 6),
        ("test_step", 8),
    }
    assert len({(row.graph, row.node, row.step, row.visit) for row in dumped.rows}) == len(dumped.rows)
    assert tap.next_step == 9
    recorded = [read_recording(place.path) for place in find_recordings(tmp_path / "r")]
    assert [(each.step, each.graph.rpartition("-")[0]) for each in recorded] == [
        (n, "train_step") for n in range(9)
    ]
    assert {each.graph for each in recorded} <= {row.graph for row in dumped.rows}


def test_validation_changes_nothing_and_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    x, y = data(batches=3)
    fit_args = {"batch_size": BATCH, "validation_data": (x, y), "epochs": 2, "verbose": 0}
    plain, tapped = mlp(), mlp()
    history = plain.fit(x, y, **fit_args).history
    tap = Tap(tmp_path / "r", Watch(steps=2))
    assert tapped.fit(x, y, callbacks=[tap.callback()], **fit_args).history == history
    tap.close()
    assert all(
        np.array_equal(one, other)
        for one, other in zip(plain.get_weights(), tapped.get_weights(), strict=True)
    )
    for function in (tapped.train_function, tapped.test_function):
        assert "_StepFunction" not in type(function).__name__


@pytest.mark.parametrize(
    ("per_call", "options", "steps"),
    [(3, {}, [2, 5]), (1, {"on": NonFinite()}, [2, 5]), (1, {"exact": True}, [2, 5])],
)
def test_validation_with_several_steps_a_call_and_with_a_trigger(
    tmp_path: Path, per_call: int, options: dict[str, Any], steps: list[int]
) -> None:
    x, y = data(batches=3)
    model = mlp()
    model.compile("sgd", "sparse_categorical_crossentropy", steps_per_execution=per_call, jit_compile=False)
    tap = Tap(tmp_path / "r", Watch(kinds="output", steps=[0, 4]), **options)
    model.fit(x, y, batch_size=BATCH, validation_data=(x, y), epochs=2, verbose=0, callbacks=[tap.callback()])
    tap.flush()
    rows = Dumped(tmp_path / "r").rows
    assert sorted({row.step for row in rows if row.graph.startswith("test_step-")}) == steps
    tap.close()


def test_a_name_means_the_training_step_unless_a_graph_is_named(tmp_path: Path) -> None:
    x, y = data(batches=2)
    with Tap(tmp_path / "r", Watch(kinds="output", steps=1, keep="value")) as tap:
        mlp().fit(x, y, batch_size=BATCH, validation_data=(x, y), verbose=0, callbacks=[tap.callback()])
    run = tensortap.open(tmp_path).runs["r"]
    rows = Dumped(tmp_path / "r").rows
    test_step = next(row.graph for row in rows if row.graph.startswith("test_step-"))
    name = next(row.name for row in rows if row.graph == test_step)

    assert run.tensor(name, step=1).graph.startswith("train_step-")
    assert run.tensor(name, step=1, graph=test_step).graph == test_step
    assert [row["step"] for row in run.history(name)] == [0, 1]


def test_a_validation_that_fails_ends_the_capture(tmp_path: Path) -> None:
    x, y = data(batches=2)
    model, tap = mlp(), Tap(tmp_path / "r", Watch(kinds="output", steps=1))
    with pytest.raises(ValueError, match="incompatible"):
        model.fit(
            x, y, batch_size=BATCH, validation_data=(x[:, :1], y), verbose=0, callbacks=[tap.callback()]
        )
    model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=[tap.callback()])
    tap.close()
    assert Dumped(tmp_path / "r").steps == [0, 1, 2, 3]


def test_two_taps_capture_side_by_side(tmp_path: Path) -> None:
    x, y = data(batches=4)
    weights = Tap(tmp_path / "weights", Watch(kinds="weight", steps=every(2)))
    outputs = Tap(tmp_path / "outputs", Watch(kinds="output", steps=1, keep="value"))

    mlp().fit(x, y, batch_size=BATCH, verbose=0, callbacks=[weights.callback(), outputs.callback()])

    assert Dumped(tmp_path / "weights").steps == [0, 2]
    assert Dumped(tmp_path / "outputs").steps == [0, 1, 2, 3]
    kinds = {
        node.name: node.attributes.get("tensortap.kind")
        for node in Dumped(tmp_path / "outputs").graph().nodes
    }
    assert {kinds[row.node] for row in Dumped(tmp_path / "weights").rows} == {"weight"}
    assert {kinds[row.node] for row in Dumped(tmp_path / "outputs").rows} == {"output"}


def test_several_watches_of_one_tap_keep_the_most_that_any_wants(tmp_path: Path) -> None:
    x, y = data(batches=3)
    tap = Tap(tmp_path / "r", [Watch("MatMul", steps=1), Watch("logits.*MatMul", steps=[2], keep="value")])

    mlp().fit(x, y, batch_size=BATCH, verbose=0, callbacks=[tap.callback()])

    dumped = Dumped(tmp_path / "r")
    kept = {(row.step, "logits" in row.node) for row in dumped.rows if row.kept is not None}
    assert dumped.steps == [0, 1, 2]
    assert kept == {(2, True)}


def test_eager_models_are_captured_op_by_op(tmp_path: Path) -> None:
    x, y = data(batches=2)
    tap = Tap(tmp_path / "r", Watch(ops="MatMul", steps=1))

    mlp(run_eagerly=True).fit(x, y, batch_size=BATCH, verbose=0, callbacks=[tap.callback()])

    dumped = Dumped(tmp_path / "r")
    assert dumped.steps == [0, 1]
    assert {"mlp/hidden/MatMul:0", "mlp/logits/MatMul:0"} <= dumped.names


def test_a_failing_fit_leaves_nothing_behind(tmp_path: Path) -> None:
    model = mlp()
    x, y = data()
    tap = Tap(tmp_path / "r", Watch(steps=1))

    class Stops(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: object = None) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=[tap.callback(), Stops()])
    captured = len(Dumped(tmp_path / "r").rows) if tap.flush() else 0
    model.fit(x, y, batch_size=BATCH, verbose=0)
    tap.close()

    assert captured > 0
    assert len(Dumped(tmp_path / "r").rows) == captured


def test_a_closed_tap_says_so_before_training_and_is_silent_in_it(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch(steps=1))
    callback = tap.callback()
    tap.close()

    with pytest.raises(TapClosedError, match="closed"):
        tap.callback()
    x, y = data(batches=1)
    mlp().fit(x, y, batch_size=BATCH, verbose=0, callbacks=[callback])
    assert not (tmp_path / "r").exists()


def test_gradients_are_known_under_loss_scaling(tmp_path: Path) -> None:
    x, y = data(batches=2)
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
    tap = Tap(tmp_path / "r", Watch(kinds="gradient", steps=1))

    model = mlp(optimizer=optimizer)
    model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=[tap.callback()])

    dumped = Dumped(tmp_path / "r")
    of_variable = {
        node.attributes["tensortap.variable"]
        for node in dumped.graph().nodes
        if node.attributes.get("tensortap.kind") == "gradient"
    }
    assert of_variable == {variable.path for variable in model.trainable_variables}
    assert len(dumped.at(dumped.rows[0].name)) == 2
