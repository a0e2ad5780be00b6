"""What a tap costs programs with long loops: the actor-critic of TensorFlow's tutorial, and an LSTM.

    python benchmarks/loops.py [--quick] [--json FILE] [--rounds 30] [--program LSTM]

Each program is trained plainly, with the default `Tap(path)`, and with all tensors of every step; then with
all iterations of its loops, too. Blocks of ten steps of all modes are interleaved. Given is the median of
the ratios of their CPU time, the writer's included, to that of the plain block of the same round. With the
default one step of a block is watched: the goal is judged by it. A second plain program shows how far the
ratios can be trusted: its own is 1.00, or the machine was not quiet.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before anything imports TensorFlow

from _records import Figure, report
from _table import print_table
from _tap_costs import Timings, timed_block

GOAL, STEPS = 1.2, 10
PLAIN, CONTROL, UNWATCHED = "plain", "plain again", "unwatched steps"
DEFAULT, EVERY_STEP, ALL = "default", "every step", "every step, all iterations"


def actor_critic(quick: bool) -> Callable[[], Any]:
    """An episode of at most 500 steps of a pole that Python balances, and a step of Adam."""
    import keras
    import numpy as np
    import tensorflow as tf

    keras.utils.set_random_seed(42)
    common = keras.layers.Dense(128, "relu")
    actor, critic = keras.layers.Dense(2), keras.layers.Dense(1)
    optimizer = keras.optimizers.Adam(0.01)
    huber = keras.losses.Huber(reduction="sum")
    length = 60 if quick else 200

    def environment(state: Any, action: Any) -> Any:
        state = 0.98 * state + 0.02 * np.float32(2 * action - 1) * np.float32([1, -1, 0.5, -0.5])
        return state.astype(np.float32), np.float32(1.0)

    def episode(state: Any) -> Any:
        chances, values, rewards = (tf.TensorArray(tf.float32, 0, dynamic_size=True) for _ in range(3))
        for t in tf.range(length):
            hidden = common(state[None])
            logits = actor(hidden)
            action = tf.random.categorical(logits, 1)[0, 0]
            chances = chances.write(t, tf.nn.softmax(logits)[0, action])
            values = values.write(t, critic(hidden)[0, 0])
            state, reward = tf.numpy_function(environment, [state, action], [tf.float32, tf.float32])
            state.set_shape([4])
            rewards = rewards.write(t, reward)
        return chances.stack(), values.stack(), rewards.stack()

    def expected_return(rewards: Any) -> Any:
        total, found = tf.constant(0.0), tf.TensorArray(tf.float32, tf.shape(rewards)[0])
        for t in tf.range(tf.shape(rewards)[0]):
            total = rewards[-1 - t] + 0.99 * total
            total.set_shape([])
            found = found.write(t, total)
        returns = found.stack()[::-1]
        return (returns - tf.math.reduce_mean(returns)) / (tf.math.reduce_std(returns) + 1e-7)

    @tf.function
    def train(state: Any) -> Any:
        with tf.GradientTape() as tape:
            chances, values, rewards = episode(state)
            returns = expected_return(rewards)
            loss = -tf.reduce_sum(tf.math.log(chances) * (returns - values)) + huber(returns, values)
        weights = [weight for layer in (common, actor, critic) for weight in layer.trainable_weights]
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    start = tf.constant(np.float32([0.1, 0.0, 0.05, 0.0]))
    return lambda: train(start)


def lstm(quick: bool) -> Callable[[], Any]:
    """A step of an LSTM over 100 tokens, as Keras unrolls it into a loop."""
    import keras
    import numpy as np
    import tensorflow as tf

    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.layers.Input((None,), dtype="int32"),
            keras.layers.Embedding(500, 64),
            keras.layers.LSTM(64),
            keras.layers.Dense(1),
        ]
    )
    optimizer = keras.optimizers.Adam()
    rng = np.random.default_rng(0)
    tokens = tf.constant(rng.integers(0, 500, (32, 40 if quick else 100)), tf.int32)
    labels = tf.constant(rng.random((32, 1)), tf.float32)

    @tf.function
    def train() -> Any:
        with tf.GradientTape() as tape:
            logits = model(tokens, training=True)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
        optimizer.apply(tape.gradient(loss, model.trainable_weights), model.trainable_weights)
        return loss

    return train


PROGRAMS = {"actor-critic": actor_critic, "LSTM": lstm}


def measure(program: str, quick: bool, rounds: int) -> dict[str, float]:
    """Median of the ratios to the plain blocks, by mode; of `PLAIN` itself the CPU seconds of a step."""
    found = _ratios(program, quick, rounds, (CONTROL, UNWATCHED, DEFAULT, EVERY_STEP))
    # Separate, as it leaves nothing in the caches that the next mode could use.
    return found | {ALL: _ratios(program, quick, max(2, rounds // 6), (ALL,))[ALL]}


def _ratios(program: str, quick: bool, rounds: int, modes: Sequence[str]) -> dict[str, float]:
    """`measure`, of some modes. Each has a separate program: taps of one would last."""
    from tensortap.capture.tap import Tap
    from tensortap.capture.watching.watch import Watch

    watches = {
        UNWATCHED: Watch(steps=lambda step: step == 0),
        DEFAULT: Watch(),
        EVERY_STEP: Watch(steps=1),
        ALL: Watch(steps=1, visits=None),
    }
    with tempfile.TemporaryDirectory() as logdir:
        steps: dict[str, Callable[[], Any]] = {PLAIN: PROGRAMS[program](quick)}
        settle: dict[str, Callable[[], Any]] = {PLAIN: lambda: None}
        for number, mode in enumerate(modes):
            steps[mode], settle[mode] = PROGRAMS[program](quick), settle[PLAIN]
            if mode in watches:
                tap = Tap(Path(logdir) / str(number), watches[mode])
                steps[mode], settle[mode] = _tapped(tap, steps[mode]), tap.flush
        timings = {mode: Timings() for mode in steps}
        for mode, step in steps.items():
            timed_block(STEPS, step, settle[mode], Timings())
        for _ in range(rounds):
            for mode, step in steps.items():
                timed_block(STEPS, step, settle[mode], timings[mode])
    plain = timings.pop(PLAIN).cpu
    ratios = {
        mode: median(one / other for one, other in zip(each.cpu, plain, strict=True))
        for mode, each in timings.items()
    }
    return {PLAIN: median(plain)} | ratios


def _tapped(tap: Any, step: Callable[[], Any]) -> Callable[[], Any]:
    def tapped() -> Any:
        with tap.step():
            return step()

    return tapped


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="shorter loops")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--program", choices=PROGRAMS, action="append")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write a record to this file")
    arguments = parser.parse_args()
    found = {
        program: measure(program, arguments.quick, arguments.rounds)
        for program in arguments.program or PROGRAMS
    }
    rows = [
        [program, mode, f"{1000 * modes[PLAIN] * ratio:.1f}", f"{ratio:.2f}"]
        for program, modes in found.items()
        for mode, ratio in {**modes, PLAIN: 1.0}.items()
    ]
    print_table("CPU time of a step", ("program", "mode", "ms", "/ plain"), rows)
    for program, modes in found.items():
        print(f"{program}: {modes[DEFAULT]:.2f} of plain by default (goal: {GOAL})")
    figures = [
        Figure(f"{program}, {mode}", "of plain", modes[mode])
        for program, modes in found.items()
        for mode in (DEFAULT, EVERY_STEP, ALL)
    ]
    report("loops", figures, arguments.json, adds=True)


if __name__ == "__main__":
    main()
