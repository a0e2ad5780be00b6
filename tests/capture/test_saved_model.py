"""`tap.saved_model()`: every signature, tapped."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import FEATURES, mlp

from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch

ALL = Watch(steps=1, keep="value")


class Counter(tf.Module):  # type: ignore[misc]
    """A loop, a branch and a side effect behind two signatures."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = tf.Variable(0)

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def grow(self, x: Any) -> dict[str, Any]:
        self.calls.assign_add(1)
        while tf.reduce_sum(x) < 10.0:
            x = tf.multiply(x, 2.0, name="doubled")
        return {"grown": x}

    @tf.function(input_signature=[tf.TensorSpec([])])
    def negate(self, x: Any) -> dict[str, Any]:
        return {"negated": tf.negative(x, name="minus")}


def test_every_signature_of_a_directory(tmp_path: Path) -> None:
    module = Counter()
    tf.saved_model.save(module, str(tmp_path / "model"), {"grow": module.grow, "negate": module.negate})

    with Tap(tmp_path / "r", ALL) as tap:
        model = tap.saved_model(tmp_path / "model")
        assert set(model.signatures) == {"grow", "negate"}
        assert len(model.signatures) == 2
        grown = model.signatures["grow"](x=tf.constant([1.0, 2.0]))["grown"]
        model.signatures["negate"](x=tf.constant(3.0))
        model.signatures["grow"](x=tf.constant([7.0]))
        assert model.calls.numpy() == 2

    np.testing.assert_array_equal(grown, [4.0, 8.0])
    dumped = Dumped(tmp_path / "r")
    doubled = next(
        node.name for graph in dumped.graphs() for node in graph.nodes if node.name.endswith("doubled")
    )
    assert [row.value.tolist() for row in dumped.at(f"{doubled}:0", 0)] == [[2.0, 4.0], [4.0, 8.0]]
    assert [row.value.tolist() for row in dumped.at(f"{doubled}:0", 1)] == [[14.0]]
    minus = next(
        node.name for graph in dumped.graphs() for node in graph.nodes if node.name.endswith("minus")
    )
    assert dumped.value(f"{minus}:0") == -3.0


def test_a_loaded_keras_export(tmp_path: Path) -> None:
    model = mlp()
    model.export(str(tmp_path / "model"), verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    x = np.ones((2, FEATURES), np.float32)

    with Tap(tmp_path / "r", ALL) as tap:
        (output,) = tap.saved_model(loaded).signatures["serving_default"](tf.constant(x)).values()

    np.testing.assert_array_equal(output, model(x))
    assert any(np.array_equal(row.value, output) for row in Dumped(tmp_path / "r").rows)


def test_a_tapped_function_is_saved_as_what_it_taps(tmp_path: Path) -> None:
    scalar = [tf.TensorSpec([], tf.float32)]

    with Tap(tmp_path / "r", ALL) as tap:

        class Model(tf.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                self.weight = tf.Variable(2.0)
                self.half = tap.function(lambda x: self.weight * x / 4.0, input_signature=scalar)

            @tap.function(input_signature=scalar)
            def scale(self, x: Any) -> Any:
                return self.weight * x

        model, other = Model(), Model()
        other.weight.assign(5.0)
        assert [model.scale(3.0), other.scale(3.0), model.half(3.0)] == [6.0, 15.0, 1.5]
        tf.saved_model.save(model, str(tmp_path / "model"), signatures={"named": model.scale})
        restored = tf.train.Checkpoint(model=model)
        restored.restore(restored.save(tmp_path / "checkpoint" / "x")).assert_consumed()
        gone = weakref.ref(other)
        del other
        gc.collect()
        assert gone() is None

    assert Dumped(tmp_path / "r").steps == [0, 1]
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    assert [loaded.scale(4.0), loaded.half(4.0)] == [8.0, 2.0]
    assert loaded.signatures["named"](tf.constant(4.0))["output_0"] == 8.0


def test_a_missing_model_says_so(tmp_path: Path) -> None:
    with Tap(tmp_path / "r") as tap, pytest.raises(OSError, match="does not exist"):
        tap.saved_model(tmp_path / "nowhere")
