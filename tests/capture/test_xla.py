"""Functions that XLA compiles (`jit_compile=True`)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import BATCH, data, mlp

from tensortap.capture.errors import TapWarning
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch

ALL = Watch(steps=1, keep="value")


def test_a_compiled_root_function(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function(jit_compile=True)
        def compiled(x: Any) -> Any:
            return tf.reduce_sum(tf.nn.relu(tf.matmul(x, x, name="square"), name="active"), name="total")

        assert compiled(tf.constant([[1.0, -2.0], [3.0, 4.0]])) == 25.0

    dumped = Dumped(tmp_path / "r")
    np.testing.assert_array_equal(dumped.value("square:0"), [[-5.0, -10.0], [15.0, 10.0]])
    np.testing.assert_array_equal(dumped.value("active:0"), [[0.0, 0.0], [15.0, 10.0]])
    assert dumped.value("total:0") == 25.0


def test_compiled_functions_inside_others_and_in_loops(tmp_path: Path) -> None:
    @tf.function(jit_compile=True)
    def innermost(x: Any) -> Any:
        return tf.add(x, 1.0, name="plus")

    @tf.function(jit_compile=True)
    def compiled(x: Any) -> Any:
        return tf.multiply(innermost(x), 2.0, name="twice")

    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def outer(x: Any) -> Any:
            for _ in tf.range(3):
                x = compiled(x)
            return tf.negative(x, name="end")

        assert outer(tf.constant(1.0)) == -22.0

    dumped = Dumped(tmp_path / "r")
    assert values(dumped, "plus") == [2.0, 5.0, 11.0]
    assert values(dumped, "twice") == [4.0, 10.0, 22.0]
    assert values(dumped, "end") == [-22.0]


def values(dumped: Dumped, ending: str) -> list[float]:
    """Values of the only tensor whose node's name ends so, by visit."""
    node = dumped.node(ending)
    return [float(row.value) for row in dumped.at(f"{node.name}:0")]


def test_loops_inside_a_compiled_function_are_reported_once(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", ALL)

    @tap.function(jit_compile=True)
    def compiled(x: Any) -> Any:
        for _ in tf.range(3):
            x = tf.multiply(x, 2.0, name="doubled")
        return tf.negative(x, name="end")

    with pytest.warns(TapWarning, match="inside loops or branches that XLA compiles") as reported:
        compiled(tf.constant(1.0))
        compiled(tf.constant(2.0))
    tap.close()

    assert [each.category for each in reported].count(TapWarning) == 1
    dumped = Dumped(tmp_path / "r")
    assert [float(row.value) for row in dumped.at("end:0")] == [-8.0, -16.0]
    assert not any("doubled" in name for name in dumped.names)


def compiled_by_choice(monkeypatch: pytest.MonkeyPatch) -> keras.Model:
    """A model for which Keras chooses (`jit_compile="auto"`) as it does on a machine that has a GPU."""
    device = SimpleNamespace(device_type="GPU")
    with monkeypatch.context() as machine:
        machine.setattr(tf.config, "list_physical_devices", lambda *args: [device])
        model = mlp(jit_compile="auto")
        assert model.jit_compile is True
    return model


def test_a_compiled_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = data(batches=3)
    plain, tapped = mlp(jit_compile=True), compiled_by_choice(monkeypatch)
    plain.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0)

    watch = Watch(kinds=["output", "gradient", "weight"], steps=1, keep="value")
    tapped.fit(
        x, y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[Tap(tmp_path / "r", watch).callback()]
    )

    dumped = Dumped(tmp_path / "r")
    assert dumped.steps == [0, 1, 2]
    kinds = {node.name: node.attributes.get("tensortap.kind") for node in dumped.graph().nodes}
    assert {kinds[row.node] for row in dumped.rows} == {"output", "gradient", "weight"}
    for ours, theirs in zip(tapped.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_has_no_shadow_is_not_captured_in_compiled_functions(tmp_path: Path) -> None:
    @tf.function(jit_compile=True)
    def compiled(x: Any) -> Any:
        return tf.multiply(x, 2.0, name="inside")

    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def step(x: Any) -> Any:
            tf.py_function(print, [], [])
            return tf.negative(compiled(x), name="outside")

        with pytest.warns(TapWarning, match="inside functions that XLA compiles .* it calls Python code"):
            assert step(tf.constant(1.0)) == -2.0

    dumped = Dumped(tmp_path / "r")
    assert dumped.value("outside:0") == -2.0
    assert not any("inside" in name for name in dumped.names)
    assert {graph.way for graph in dumped.graphs()} == {"in-place"}


def test_recordings_share_the_graph_of_a_compiled_function(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL, record=1) as tap:
        tap.function(lambda x: tf.multiply(x, 2.0), jit_compile=True)(tf.constant(1.0))
    assert [graph.way for graph in Dumped(tmp_path / "r").graphs()] == ["shadow"]


def test_clusters_that_xla_chooses_count_as_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit")
    with Tap(tmp_path / "r", ALL) as tap:
        tap.function(lambda x: tf.multiply(x, 2.0))(tf.constant(1.0))
    assert [graph.way for graph in Dumped(tmp_path / "r").graphs()] == ["shadow"]


def test_branches_inside_a_compiled_function_are_reported(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function(jit_compile=True)
        def compiled(x: Any) -> Any:
            up, down = lambda: tf.add(x, 1.0, name="up"), lambda: tf.subtract(x, 1.0, name="down")
            return tf.negative(tf.cond(x > 0.0, up, down), name="end")

        with pytest.warns(TapWarning, match=r"branches that XLA compiles \(cond_false, cond_true\)"):
            compiled(tf.constant(1.0))

    dumped = Dumped(tmp_path / "r")
    assert dumped.value("cond:0") == 2.0
    assert dumped.value("end:0") == -2.0
    (unseen,) = dumped.events("unseen")
    assert unseen["functions"] == ["cond_false", "cond_true"]
    assert "set jit_compile=False" in unseen["text"]
