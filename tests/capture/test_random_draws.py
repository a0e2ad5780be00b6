"""Steps whose ops draw from streams of their own run again bit by bit: what they drew is recorded."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.errors import TapWarning
from tensortap.capture.recording.record_options import Record
from tensortap.capture.tap import Tap
from tensortap.capture.triggers.triggers import NonFinite
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.dump.recording.bundle import write_bundle
from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import find_recordings, read_recording
from tensortap.replay.execution.loaded_call import LoadedCall

NEVER = Watch(steps=range(10**6, 10**6 + 1))
X = np.random.default_rng(0).random((6, 4)).astype("f")
Step = Callable[[tf.Tensor], Any]

AGAIN = """
import json, sys
from pathlib import Path
from tensortap.replay.execution.loaded_call import LoadedCall
from tensortap.dump.recording.recording import array_hash
from tensortap.dump.recording.bundle import read_bundle
told = {}
for path in map(Path, sys.argv[1:]):
    recording = read_bundle(path)
    with LoadedCall(recording) as call:
        again = call.run()
    left = {k: array_hash(v) for k, v in again.variables.items()}
    same = tuple(map(array_hash, again.outputs)) == recording.output_hashes
    told[path.stem] = str(again.failure or "") or (same and left == dict(recording.variable_hashes))
print(json.dumps(told))
"""


def vae() -> Step:
    """A custom training step with the noise of a variational autoencoder."""
    w = tf.Variable(X[:4], name="w")

    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            mean = tf.random.shuffle(x) @ w
            z = mean + tf.exp(0.5 * mean) * tf.random.normal(tf.shape(mean))
            loss = tf.reduce_mean((z - x) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    return step


def all_ops() -> Step:
    def step(x: tf.Tensor) -> list[tf.Tensor]:
        candidates = tf.random.log_uniform_candidate_sampler(tf.ones((1, 1), tf.int64), 1, 5, True, 50)
        return [
            tf.random.uniform(tf.shape(x)),
            tf.random.uniform([4], 0, 10, tf.int32),
            tf.random.truncated_normal([3, 2]),
            tf.random.shuffle(tf.constant(["a", "b", "a", "c"])),
            tf.random.categorical(x, 3),
            tf.random.gamma([3], x[0] + 1),
            tf.random.poisson([2], x[0] * 5),
            tf.compat.v1.nn.dropout(x, rate=0.5),
            *candidates,
        ]

    return step


def loops() -> Step:
    """Draws in each iteration, in branches of some of them, in a condition, and of growing shapes."""
    w = tf.Variable(X[:4], name="w")

    def step(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            state = x
            for i in tf.range(5):
                state = tf.tanh(state @ w + tf.random.normal(tf.shape(state)))
                if i % 2 == 0:
                    state += tf.random.uniform(tf.shape(state))
                else:
                    state *= tf.random.normal(tf.shape(state))
            while tf.random.uniform([]) < 0.5:
                state += 1.0
            loss = tf.reduce_sum(state)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        rows = tf.zeros([0, 4])
        for i in tf.range(3):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(rows, tf.TensorShape([None, 4]))]  # it grows
            )
            rows = tf.concat([rows, tf.random.normal([i + 1, 4])], 0)
        return loss, rows

    return step


def nested() -> Step:
    """One function that draws, called from many places, and branches that are not taken."""

    @tf.function
    def noise(x: tf.Tensor) -> tf.Tensor:
        return tf.maximum(x, tf.random.normal(tf.shape(x)))

    @tf.function
    def twice(x: tf.Tensor) -> tf.Tensor:
        return tf.minimum(noise(x), noise(x + 1))

    def step(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
        drawn = twice(x)
        for _ in tf.range(3):
            drawn = tf.maximum(twice(drawn), noise(drawn))
        if tf.reduce_sum(x) > 1e9:
            drawn = tf.random.normal(tf.shape(x))
        picked = tf.switch_case(tf.cast(x[0, 0] + 1, tf.int32), [lambda: x[0], lambda: tf.random.normal([4])])
        return noise(x), drawn, picked

    return step


def compiled() -> Step:
    """A function that XLA compiles, called also in a loop outside of it."""

    @tf.function(jit_compile=True)
    def noise(x: tf.Tensor) -> tf.Tensor:
        return x + tf.random.normal(tf.shape(x))

    def step(x: tf.Tensor) -> tf.Tensor:
        drawn = noise(x)
        for _ in tf.range(3):
            drawn = noise(drawn)
        return drawn

    return step


PROGRAMS = {each.__name__: each for each in (vae, all_ops, loops, nested, compiled)}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Recording]]:
    base = tmp_path_factory.mktemp("drawn")
    found = {}
    for name, make in PROGRAMS.items():
        with Tap(base / name, NEVER, record=every(1)) as tap:
            step = tap.function(make())
            for _ in range(2 if name == "loops" else 1):
                step(tf.constant(X))
        found[name] = [read_recording(place.path) for place in find_recordings(base / name)]
    return found


def test_steps_run_again_bit_by_bit_in_another_process(
    recorded: dict[str, list[Recording]], tmp_path: Path
) -> None:
    for name, recordings in recorded.items():
        write_bundle(tmp_path / f"{name}.tapbundle", recordings[-1])
    done = subprocess.run(
        [sys.executable, "-c", AGAIN, *map(str, tmp_path.glob("*.tapbundle"))],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == dict.fromkeys(PROGRAMS, True)


def test_draws_are_tensors_or_in_loops_iterators(recorded: dict[str, list[Recording]]) -> None:
    def drawn(name: str) -> list[tuple[str, str, int]]:
        arguments = recorded[name][0].arguments
        return [(each.kind, each.name, len(each.arrays)) for each in arguments if each.drawn]

    assert sorted(drawn("vae")) == [
        ("tensor", "RandomShuffle", 1),
        ("tensor", "random_normal/RandomStandardNormal", 1),
    ]
    assert ("iterator", "while/random_normal/RandomStandardNormal", 5) in drawn("loops")
    assert ("iterator", "while/cond/random_uniform/RandomUniform", 3) in drawn("loops")
    assert len(drawn("all_ops")) == 8 + 3  # a sampler has three outputs


def test_steps_draw_different_numbers(recorded: dict[str, list[Recording]]) -> None:
    one, two = ([each for each in recording.arguments if each.drawn] for recording in recorded["loops"])
    assert not np.array_equal(one[0].arrays[0], two[0].arrays[0])
    assert not np.array_equal(one[0].arrays[0], one[0].arrays[1])


def test_what_was_drawn_can_be_asked_for(recorded: dict[str, list[Recording]]) -> None:
    (noise,) = (each for each in recorded["vae"][0].arguments if each.drawn and "normal" in each.name)
    with LoadedCall(recorded["vae"][0]) as call:
        again = call.run(lambda candidate: candidate.op_type == "RandomStandardNormal")
        ((candidate, _, array),) = again.tensors
        assert candidate.name == "random_normal/RandomStandardNormal:0"
        np.testing.assert_array_equal(array, noise.arrays[0])


def test_other_inputs_are_shuffled_in_the_recorded_order(recorded: dict[str, list[Recording]]) -> None:
    recording = recorded["vae"][0]
    (order,) = (each.arrays[0] for each in recording.arguments if each.name == "RandomShuffle")
    others = [replace(each, arrays=(X + 1,)) if each.name == "x" else each for each in recording.arguments]
    with LoadedCall(recording) as call:
        again = call.run(lambda candidate: candidate.op_type == "RandomShuffle", others)
    np.testing.assert_array_equal(again.tensors[0][2], X[order] + 1)


def test_recording_beside_watching_keeps_the_same_values(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", Watch("RandomStandardNormal", keep="value"), record=every(1)) as tap:
        tap.function(vae())(tf.constant(X))
    (place,) = find_recordings(tmp_path / "r")
    (noise,) = (
        each.arrays[0] for each in read_recording(place.path).arguments if "RandomStandardNormal" in each.name
    )
    (row,) = Dumped(tmp_path / "r").rows
    np.testing.assert_array_equal(row.value, noise)


def test_a_failing_step_is_recorded_with_what_it_drew(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", NEVER, record=Record(every(1))) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            noise = tf.random.normal(tf.shape(x))
            return tf.debugging.check_numerics(tf.math.log(-1 - noise * noise), "no logarithm")

        with pytest.raises(tf.errors.InvalidArgumentError):
            step(tf.constant(X))
    (place,) = find_recordings(tmp_path / "r")
    recording = read_recording(place.path)
    assert np.count_nonzero(recording.arguments[-1].arrays[0]) == X.size
    with LoadedCall(recording) as call:
        assert "no logarithm" in str(call.run().failure)


@pytest.mark.parametrize("exact", [True, False])
def test_what_cannot_be_recorded_is_reported(tmp_path: Path, exact: bool) -> None:
    tf.random.set_seed(1)
    with (
        pytest.warns(TapWarning, match="cannot be recorded: XLA compiles.*draws.*jit_compile"),
        Tap(tmp_path / "r", NEVER, record=every(1), exact=exact) as tap,
    ):
        tap.function(lambda x: looping(x))(tf.constant(X))
    assert not find_recordings(tmp_path / "r")


@tf.function(jit_compile=True)
def looping(x: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(3):
        x += tf.random.normal(tf.shape(x))
    return x


@pytest.mark.parametrize("on_trigger", [False, True])
def test_recording_steps_draws_what_training_alone_would(tmp_path: Path, on_trigger: bool) -> None:
    """Recorded, watched and other steps run one copy, which draws on; also after the tap is closed."""

    def trained(step: Step) -> list[float]:
        return [float(step(tf.constant(X))) for _ in range(3)]

    tf.random.set_seed(1)
    function = tf.function(vae())
    alone = trained(function) + trained(function)
    tf.random.set_seed(1)
    record = Record(every(2), on_trigger=True) if on_trigger else Record(every(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", TapWarning)
        tap = Tap(tmp_path / "r", NEVER, record=record, on=NonFinite() if on_trigger else None)
        function = tap.function(vae())
        tapped = trained(function)
        tap.close()
    assert tapped + trained(function) == alone
    assert len(find_recordings(tmp_path / "r")) == 2


def _in_a_loop(x: tf.Tensor) -> tf.Tensor:
    for number in tf.range(4):
        tf.autograph.experimental.set_loop_options(parallel_iterations=1)  # in the order of iterations
        if number % 2 == 0:
            x += tf.random.uniform([3])
    return tf.sin(x * 1.5)


def _in_a_branch(x: tf.Tensor) -> tf.Tensor:
    if x[0] > 0.5:
        x += tf.random.normal([3])
    return tf.sin(x * 1.5)


def _in_functions(x: tf.Tensor) -> tf.Tensor:
    inner = tf.function(lambda x: x + tf.random.normal([3], seed=4))
    return tf.sin(inner(inner(x)))


def _of_unknown_shape(x: tf.Tensor) -> tf.Tensor:
    return tf.sin(x + tf.reduce_mean(tf.random.normal(tf.shape(tf.where(x > -2)))))


@pytest.mark.parametrize(
    "step",
    [
        lambda x: tf.sin(x + tf.random.normal([3], seed=1)),
        lambda x: tf.sin(tf.random.shuffle(x, seed=7)),
        lambda x: tf.sin(tf.nn.dropout(x, 0.3)),
        _in_a_loop,
        _in_a_branch,
        _in_functions,
        _of_unknown_shape,
    ],
)
@pytest.mark.parametrize(("steps", "exact"), [(1, False), (3, False), (3, True)])
def test_watched_and_other_steps_draw_from_one_stream(
    tmp_path: Path, step: Step, steps: int, exact: bool
) -> None:
    def run(function: Step) -> list[list[float]]:
        x, seen = tf.constant([0.1, 0.7, -0.4]), []
        for _ in range(10):
            x = function(x)
            seen.append(x.numpy().tolist())
        return seen

    tf.random.set_seed(2)
    alone = run(tf.function(step))
    tf.random.set_seed(2)
    with Tap(tmp_path / "r", Watch(steps=steps, keep="value"), exact=exact) as tap:
        assert run(tap.function(step)) == alone
    rows = Dumped(tmp_path / "r").rows
    assert {row.step for row in rows} == set(range(0, 10, steps))
    returned = {row.step: row.value.tolist() for row in rows if row.node == "Sin"}
    assert returned == {number: alone[number] for number in range(0, 10, steps)}


def test_a_function_that_has_drawn_before_is_left_alone(tmp_path: Path) -> None:
    def step() -> tf.Tensor:
        return tf.random.normal([], seed=1, name="noise")

    alone = [float(each()) for each in [tf.function(step)] * 4]
    function = tf.function(step)
    begun = [float(function())]
    with (
        Tap(tmp_path / "r", Watch(steps=1)) as tap,
        pytest.warns(TapWarning, match="is not captured, as its seeded random"),
    ):
        for _ in range(3):
            with tap.step():
                begun.append(float(function()))
    assert begun == alone
    assert Dumped(tmp_path / "r").rows == []


def test_what_is_watched_later_is_reported(tmp_path: Path) -> None:
    def step(x: tf.Tensor) -> tf.Tensor:
        return tf.exp(x + tf.random.normal([], seed=1), name="late")

    alone = [float(each(tf.constant(0.5))) for each in [tf.function(step)] * 3]
    function = tf.function(step)
    with Tap(tmp_path / "first", Watch("add", steps=1)) as tap, tap.step():
        drawn = [float(function(tf.constant(0.5)))]
    with (
        Tap(tmp_path / "second", Watch(steps=1)) as tap,
        pytest.warns(TapWarning, match="cannot be captured"),
    ):
        for _ in range(2):
            with tap.step():
                drawn.append(float(function(tf.constant(0.5))))
    assert drawn == alone
    assert {row.node for row in Dumped(tmp_path / "second").rows} == {"add"}
