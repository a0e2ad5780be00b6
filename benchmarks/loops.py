"""What a tap costs programs with long loops: the actor-critic of TensorFlow's tutorial, and an LSTM.

    python benchmarks/loops.py [--quick] [--json FILE] [--rounds 7]

Each program is trained plainly, with the default `Tap(path)`, and with all tensors of every step and all
iterations of its loops. Blocks of ten steps of all modes are interleaved, and medians of their CPU time are
given, the writer's included. With the default one step of a block is watched: the goal is judged by it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before anything imports TensorFlow

from _records import Figure, report
from _table import print_table
from _tap_costs import Timings, timed_block

GOAL, STEPS = 1.2, 10
PLAIN, DEFAULT, EVERY_STEP, ALL = "plain", "default", "every step", "every step, all iterations"


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
    """Median CPU seconds of a step, by mode. Each mode has a separate program: taps of one would last."""
    from tensortap.capture.tap import Tap
    from tensortap.capture.watching.watch import Watch

    watches = {DEFAULT: None, EVERY_STEP: Watch(steps=1), ALL: Watch(steps=1, visits=None)}
    with tempfile.TemporaryDirectory() as logdir:
        timings = {mode: Timings() for mode in (PLAIN, *watches)}
        steps: dict[str, Callable[[], Any]] = {PLAIN: PROGRAMS[program](quick)}
        settle: dict[str, Callable[[], Any]] = {PLAIN: lambda: None}
        for mode, watch in watches.items():
            path = Path(logdir) / mode.replace(" ", "-").replace(",", "")
            tap = Tap(path) if watch is None else Tap(path, watch)
            steps[mode], settle[mode] = _tapped(tap, PROGRAMS[program](quick)), tap.flush
        for mode, step in steps.items():
            timed_block(STEPS, step, settle[mode], Timings())
        for _ in range(rounds):
            for mode, step in steps.items():
                timed_block(STEPS, step, settle[mode], timings[mode])
        return {mode: median(found.cpu) for mode, found in timings.items()}


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
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--program", choices=PROGRAMS, action="append")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write a record to this file")
    arguments = parser.parse_args()
    found = {
        program: measure(program, arguments.quick, arguments.rounds)
        for program in arguments.program or PROGRAMS
    }
    rows = [
        [program, mode, f"{1000 * seconds:.1f}", f"{seconds / modes[PLAIN]:.2f}"]
        for program, modes in found.items()
        for mode, seconds in modes.items()
    ]
    print_table("CPU time of a step", ("program", "mode", "ms", "/ plain"), rows)
    for program, modes in found.items():
        ratio = modes[DEFAULT] / modes[PLAIN]
        print(f"{program}: {ratio:.2f} of plain by default (goal: {GOAL})")
    figures = [
        Figure(f"{program}, {mode}", "of plain", seconds / modes[PLAIN])
        for program, modes in found.items()
        for mode, seconds in modes.items()
        if mode != PLAIN
    ]
    report("loops", figures, arguments.json)


if __name__ == "__main__":
    main()
