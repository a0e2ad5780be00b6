"""One program with one change each, for `diff`: `python compare_changes.py LOGDIR`. Run as a process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tensortap import Tap, Watch, every


def train(
    logdir: Path,
    run: str,
    *,
    epsilon: float = 1e-3,
    stopped: bool = False,
    rate: float = 1e-2,
    momentum: float = 0.9,
    prefix: str = "",
    few: bool = False,
    keep: str = "value",
) -> None:
    """A functional model with operators between its layers.

    Args:
        few: watch weights only. prefix: of the names of layers.
    """
    keras.utils.set_random_seed(1)
    random = np.random.default_rng(0)
    x = random.standard_normal((96, 8, 8, 1)).astype(np.float32)
    y = random.integers(0, 3, 96)
    layers = keras.layers
    inputs = keras.Input((8, 8, 1))
    first = layers.Conv2D(4, 3, padding="same", activation="relu", name=f"{prefix}first")(inputs)
    second = layers.Conv2D(4, 3, padding="same", name=f"{prefix}second")(first)
    second = layers.BatchNormalization(epsilon=epsilon, name=f"{prefix}norm")(second)  # epsilon
    mixed = first * 0.5 + second
    if stopped:
        mixed = keras.ops.stop_gradient(mixed)  # stopped
    outputs = layers.Dense(3, name="logits")(layers.GlobalAveragePooling2D()(mixed))
    model = keras.Model(inputs, outputs)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.Adam(rate, beta_1=momentum)  # optimizer
    model.compile(optimizer, loss, jit_compile=False)
    watch: Any = Watch(steps=every(1), kinds=("weight",) if few else None, keep=keep)
    with Tap(logdir / run, watch=watch, record=[0]) as tap:
        model.fit(x, y, batch_size=32, shuffle=False, verbose=0, callbacks=[tap.callback()])


def main() -> None:
    logdir = Path(sys.argv[1])
    train(logdir, "base")
    train(logdir, "epsilon", epsilon=1e-5)
    train(logdir, "stopped", stopped=True)
    train(logdir, "rate", rate=1e-3)
    train(logdir, "renamed", prefix="new_")
    train(logdir, "weights", few=True)
    train(logdir, "weights_momentum", few=True, momentum=0.8)
    train(logdir, "summaries", keep="summary")


if __name__ == "__main__":
    main()
