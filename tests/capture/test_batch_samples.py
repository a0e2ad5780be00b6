"""Which samples fed which step: compared with the samples that the step really computed with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped

import tensortap
from tensortap.capture.errors import TapWarning, WatchError
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch


def numbered(count: int = 24) -> Any:
    """Samples that hold their own number, with an id and a file of four samples each."""
    numbers = np.arange(count, dtype=np.float32).reshape(-1, 1)
    files = np.array([f"part-{n // 4}.csv" for n in range(count)])
    return tf.data.Dataset.from_tensor_slices((numbers, numbers, files))


def traced(tap: Tap, dataset: Any) -> Any:
    return tap.trace_batches(
        dataset,
        ids=lambda element: tf.cast(element[0][:, 0], tf.int32),
        files=lambda element: element[2],
        feed=lambda element: element[:2],
    )


def model_of(**options: Any) -> keras.Model:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)], name="net")
    model.compile("sgd", "mse", jit_compile=False, **options)
    return model


def seen(run_dir: Path) -> dict[tuple[int, int], list[int]]:
    """What the steps were fed, from the captured input of the model: (step, visit) -> numbers."""
    dumped = Dumped(run_dir)
    return {
        (row.step, row.visit): row.value.reshape(-1).astype(int).tolist()
        for row in dumped.rows
        if (row.name == "IteratorGetNext:0" or row.name.endswith("/IteratorGetNext:0"))
        and not row.graph.startswith("test_step-")
    }


def reported(run_dir: Path) -> dict[int, list[int]]:
    run = tensortap.open(run_dir.parent).runs[run_dir.name]
    steps = run.steps_of()
    return {step: [int(text) for text in run.batch(step)[0].ids or ()] for step in steps}


@pytest.mark.parametrize("behind", ["nothing", "prefetch", "repeat"])
def test_keras_fit_with_shuffle_and_prefetch(tmp_path: Path, behind: str) -> None:
    tap = Tap(tmp_path / "r", Watch(ops="IteratorGetNext", steps=1, keep="value"))
    dataset = traced(tap, numbered().shuffle(24, seed=3).batch(4).prefetch(3))
    assert int(dataset.cardinality()) == 6
    fit: dict[str, Any] = {"epochs": 3, "verbose": 0, "shuffle": False, "callbacks": [tap.callback()]}
    if behind == "prefetch":
        dataset = dataset.prefetch(4)
    elif behind == "repeat":
        dataset, fit["steps_per_epoch"] = dataset.repeat().prefetch(2), 5

    model_of().fit(dataset, validation_data=traced(tap, numbered(8).batch(4)), **fit)
    tap.close()

    fed = {step: numbers for (step, _), numbers in seen(tmp_path / "r").items()}
    assert len(fed) == (15 if behind == "repeat" else 18)
    assert reported(tmp_path / "r") == fed
    run = tensortap.open(tmp_path).runs["r"]
    assert run.batch(0)[0].files == [f"part-{n // 4}.csv" for n in fed[0]]
    assert run.steps_of(file="part-2.csv") == [
        step for step, numbers in fed.items() if {8, 9, 10, 11} & set(numbers)
    ]


def test_several_steps_in_one_call(tmp_path: Path) -> None:
    ops = ["IteratorGetNext", "OptionalGetValue"]
    tap = Tap(tmp_path / "r", Watch(ops=ops, steps=1, keep="value"))
    dataset = traced(tap, numbered().shuffle(24, seed=3).batch(4).prefetch(3))

    model_of(steps_per_execution=3).fit(
        dataset, epochs=2, verbose=0, shuffle=False, callbacks=[tap.callback()]
    )
    tap.close()

    fed: dict[int, set[int]] = {}
    for row in Dumped(tmp_path / "r").rows:
        if row.slot == 0:
            fed.setdefault(row.step, set()).update(row.value.reshape(-1).astype(int).tolist())
    found = reported(tmp_path / "r")
    assert sorted(found) == list(range(12))
    assert fed == {
        call: {number for step in range(call, call + 3) for number in found[step]} for call in (0, 3, 6, 9)
    }


def test_a_loop_that_is_left_early_and_begun_again(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch("^x$", steps=1, keep="value"))
    dataset = traced(tap, numbered().shuffle(24, seed=1).batch(4)).prefetch(2)

    @tap.function
    def step(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(x)

    for epoch in range(3):
        for number, (x, _) in enumerate(dataset):
            step(x)
            if epoch == 0 and number == 2:
                break
    tap.close()

    dumped = Dumped(tmp_path / "r")
    fed = {row.step: row.value.reshape(-1).astype(int).tolist() for row in dumped.at("x:0")}
    assert len(fed) == 3 + 6 + 6
    assert reported(tmp_path / "r") == fed


def test_a_loop_says_itself_what_it_feeds(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch(steps=[0]))

    @tap.function
    def step(x: tf.Tensor) -> tf.Tensor:
        return x * 2.0

    tap.batch(ids=["a", "b"])
    step(tf.constant(1.0))
    step(tf.constant(1.0))
    with tap.step(7):
        tap.batch(ids=tf.constant([3, 4]), files=np.array([b"x.png", b"\xff.png"]))
        step(tf.constant(1.0))
    tap.batch(ids=range(20_000))
    with tap.step(8):
        step(tf.constant(1.0))
    tap.close()

    run = tensortap.open(tmp_path).runs["r"]
    assert run.steps_of() == [0, 7, 8]
    (batch,) = run.batch(7)
    assert (batch.ids, batch.files, batch.count) == (["3", "4"], ["x.png", "\\xff.png"], 2)
    (large,) = run.batch(8)
    assert (large.count, len(large.ids or ())) == (20_000, 16_384)
    assert run.steps_of(id="b") == [0]


def test_ids_and_files_may_be_reported_one_by_one_but_before_the_step(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch(steps=[0]))
    train = tf.function(lambda x: x + 1.0)
    for number in range(2):
        tap.batch(ids=[number])
        tap.batch(files=[f"part-{number}.csv"])
        with tap.step(number):
            train(1.0)
    with tap.step(5):
        pass
    tap.batch(ids=[5])
    with pytest.warns(
        TapWarning, match=r"no step used the batch passed to tap\.batch.* Call tap\.batch.* before"
    ):
        tap.close()

    run = tensortap.open(tmp_path).runs["r"]
    assert [(batch.ids, batch.files) for step in (0, 1) for batch in run.batch(step)] == [
        (["0"], ["part-0.csv"]),
        (["1"], ["part-1.csv"]),
    ]
    assert run.steps_of() == [0, 1]

    twice = Tap(tmp_path / "twice", Watch(steps=[0]))
    twice.batch(ids=[1])
    with pytest.warns(TapWarning, match="no step used the batch"):
        twice.batch(ids=[2])
    twice.close()


def test_ids_of_any_shape_are_recorded_as_they_are(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch(steps=[0]))
    given = [[1, 2], [3]], [2**60 + 1, 0.5], ("a", b"b", np.int8(3)), [[np.arange(2)], "c"]
    for number, ids in enumerate(given):
        tap.batch(ids=ids)
        with tap.step(number):
            pass
    tap.close()
    run = tensortap.open(tmp_path).runs["r"]
    assert [run.batch(number)[0].ids for number in range(len(given))] == [
        ["1", "2", "3"],
        [str(2**60 + 1), "0.5"],
        ["a", "b", "3"],
        ["0", "1", "c"],
    ]


def test_ids_that_cannot_be_recorded_are_reported_after_the_step(tmp_path: Path) -> None:
    class Odd:
        def __str__(self) -> str:
            raise KeyError("odd")

    tap = Tap(tmp_path / "r", Watch(steps=[0]))
    with pytest.warns(TapWarning, match="samples of a step were not recorded"), tap.step(0):
        tap.batch(ids=[Odd()])
    tap.close()


def test_what_changes_the_order_afterwards_is_reported(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch(steps=[0]))
    dataset = traced(tap, numbered().batch(4)).shuffle(3)
    with pytest.warns(TapWarning, match=r": ShuffleDataset comes after trace_batches.*last"):
        model_of().fit(dataset, verbose=0, shuffle=False, callbacks=[tap.callback()])
    tap.close()
    assert tensortap.open(tmp_path).runs["r"].batch(0) == []


def test_mistakes_are_named(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r")
    for call, message in (
        (lambda: tap.batch(), "needs an argument"),
        (lambda: tap.batch(ids=object()), "is not a list of samples"),
        (lambda: tap.trace_batches(numbered()), "nothing to record"),
        (lambda: tap.trace_batches([1], ids=len), "list is not a tf.data.Dataset"),
    ):
        with pytest.raises(WatchError, match=message):
            call()
