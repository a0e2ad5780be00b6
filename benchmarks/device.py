"""Summaries of all nodes of a step, made on the host and on the device that computes it (`Tap(summarize=…)`).

    python benchmarks/device.py [--quick] [--json FILE] [--rounds 15]

A train step of ResNet-50 (batch 64) and of a transformer of GPT-2's smallest size (batch 8 of 512 tokens),
plain, summarized on the host, and on the device: seconds by the clock of a step that is captured, medians of
steps taken in turn. The first GPU is used; without one, small models on the CPU (`--quick` always does that),
where the host's kernel wins: there the table says only that it works.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before anything imports TensorFlow

from _table import print_table

GOAL = 1.1
WARM_STEPS = 3


def resnet50(small: bool) -> Callable[[], Any]:
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    size, batch = (32, 2) if small else (224, 64)
    model = keras.applications.ResNet50(weights=None, input_shape=(size, size, 3), classes=1000)
    images, labels = tf.random.normal([batch, size, size, 3]), tf.zeros([batch], tf.int32)
    return train_step(model, images, labels, keras.losses.SparseCategoricalCrossentropy())


def gpt2_small(small: bool) -> Callable[[], Any]:
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    layers, heads, width, tokens, vocabulary, batch = (
        (2, 2, 32, 16, 100, 2) if small else (12, 12, 768, 512, 50257, 8)
    )
    ids = keras.Input([tokens], dtype="int32")
    x = keras.layers.Embedding(vocabulary, width)(ids)
    x = x + keras.layers.Embedding(tokens, width)(keras.ops.arange(tokens))
    for _ in range(layers):
        normal = keras.layers.LayerNormalization()(x)
        attention = keras.layers.MultiHeadAttention(heads, width // heads)
        x = x + attention(normal, normal, use_causal_mask=True)
        up = keras.layers.Dense(4 * width, "gelu")(keras.layers.LayerNormalization()(x))
        x = x + keras.layers.Dense(width)(up)
    logits = keras.layers.Dense(vocabulary)(keras.layers.LayerNormalization()(x))
    words = tf.random.uniform([batch, tokens], 0, vocabulary, tf.int32)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return train_step(keras.Model(ids, logits), words, words, loss)


def train_step(model: Any, inputs: Any, labels: Any, loss: Any) -> Callable[[], Any]:
    import keras
    import tensorflow as tf

    optimizer = keras.optimizers.Adam(1e-4)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            value = loss(labels, model(inputs, training=True))
        optimizer.apply(tape.gradient(value, model.trainable_variables), model.trainable_variables)
        return value

    return step


def measure(step: Callable[[], Any], logdir: str, rounds: int) -> dict[str, dict[str, float]]:
    """By mode, the seconds of a step; of a tapped one also how many snapshots it lost."""
    import tensortap

    seconds: dict[str, list[float]] = {"plain": [], "host": [], "device": []}
    taps = {
        mode: tensortap.Tap(
            Path(logdir) / mode, tensortap.Watch(steps=1), summarize=mode, queue_bytes=8 << 30
        )
        for mode in ("host", "device")
    }
    for number in range(WARM_STEPS + rounds):
        for mode, times in seconds.items():
            begun = time.perf_counter()
            if mode == "plain":
                step().numpy()
            else:
                with taps[mode].step():
                    step().numpy()
            taken = time.perf_counter() - begun
            if mode != "plain":
                taps[mode].flush()
            if number >= WARM_STEPS:
                times.append(taken)
    for tap in taps.values():
        tap.close()
    plain = median(seconds["plain"])
    return {
        mode: {
            "seconds": median(times),
            "relative": median(times) / plain,
            "dropped": taps[mode].dropped if mode in taps else 0,
        }
        for mode, times in seconds.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small models")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()

    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    small = arguments.quick or not gpus
    found = {}
    for program in (resnet50, gpt2_small):
        with tempfile.TemporaryDirectory() as logdir:
            found[program.__name__] = measure(program(small), logdir, arguments.rounds)
    device = tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU") if gpus else "CPU"
    where = f"on {device}" + (", small models" if small else "")
    print_table(
        f"Summaries of all nodes, {where}",
        ("model", "summaries", "ms per step", "of plain", f"goal on a GPU: {GOAL}", "dropped"),
        [
            (
                name,
                mode,
                f"{1000 * row['seconds']:.1f}",
                f"{row['relative']:.2f}",
                "" if mode != "device" or not gpus else "met" if row["relative"] <= GOAL else "missed",
                f"{row['dropped']:.0f}",
            )
            for name, modes in found.items()
            for mode, row in modes.items()
        ],
    )
    if arguments.json:
        arguments.json.write_text(json.dumps({"device": device, "small": small, "models": found}, indent=1))


if __name__ == "__main__":
    main()
