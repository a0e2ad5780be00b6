"""Summaries that TensorFlow computes (`Tap(summarize="device")`) beside those of the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import tensortap
from tensortap.capture.errors import TapWarning, WatchError
from tensortap.capture.instrument import device_summary
from tensortap.capture.instrument.device_summary import DeviceSummary
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch
from tensortap.core.records import Summary
from tensortap.stats.summarize import summarize

SUMS = ("mean", "std", "l2")
EXACT = [name for name in Summary.__dataclass_fields__ if name not in SUMS]
ALL = Watch(steps=1)


def assert_same(found: Summary, expected: Summary) -> None:
    for name in EXACT:
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert ours == theirs or (ours != ours and theirs != theirs), (name, ours, theirs)
    for name in SUMS:
        # A mean that cancels is as exact as what is summed.
        scale = expected.abs_max if name == "mean" else getattr(expected, name)
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-13 * abs(scale), equal_nan=True
        )


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "xla"])
def summarize_in_graph(request: Any) -> Any:
    traced: dict[str, Any] = {}

    def run(array: np.ndarray[Any, Any]) -> DeviceSummary:
        dtype = array.dtype.name
        if dtype not in traced:
            specification = tf.TensorSpec([None, None], tf.as_dtype(dtype))
            traced[dtype] = tf.function(
                device_summary._summarize, input_signature=[specification], jit_compile=request.param
            )
        return DeviceSummary.from_numbers(traced[dtype](tf.constant(array)).numpy(), dtype)

    return run


ODD = np.array(
    [0.0, -0.0, 1e-45, -1e-45, 1.1754942e-38, -1.1754944e-38, np.inf, -np.inf, np.nan, -np.nan, 3.4e38, 1.5],
    np.float32,
)


@pytest.mark.parametrize(
    "array",
    [
        ODD,
        np.array([0x7F800001, 0xFF800001, 0x7FC00000, 0x80000000], np.uint32).view(np.float32),
        np.array([1e-45, 3e-45, -1e-40], np.float32),
        np.array([np.nan, np.inf], np.float32),
        np.zeros(0, np.float32),
        (1e8 + 8 * np.arange(4096)).astype(np.float32),
        np.arange(1 << 16, dtype=np.uint16).view(np.float16),
        np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16),
    ],
    ids=["odd", "nan", "subnormal", "not-finite", "empty", "large-mean", "float16", "bfloat16"],
)
def test_counts_extremes_and_histograms_are_exact(summarize_in_graph: Any, array: Any) -> None:
    array = array.reshape(1, -1)
    assert_same(summarize_in_graph(array).summary, summarize(array))


FLOATS = arrays.arrays(
    np.float32, st.tuples(st.integers(0, 9), st.integers(0, 9)), elements=st.floats(width=32)
)


@given(FLOATS)
def test_any_float32(array: Any) -> None:
    found = DeviceSummary.from_numbers(device_summary._summarize(tf.constant(array)).numpy(), "float32")
    assert_same(found.summary, summarize(array))


def test_buckets_are_counted_in_integers() -> None:
    """A float32 counter stops at 2**24 elements."""
    traced = tf.function(device_summary._summarize).get_concrete_function(tf.TensorSpec([None], tf.float32))
    (counter,) = [op for op in traced.graph.get_operations() if op.type == "DenseBincount"]
    assert counter.outputs[0].dtype == tf.int32


def train(path: Path, *, jit_compile: bool = False, **options: Any) -> Any:
    """The weights of a model after two steps; batches have no static size."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Input((256,)), keras.layers.Dense(64, "relu"), keras.layers.Dropout(0.5)]
    model = keras.Sequential([*layers, keras.layers.Dense(4)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss, jit_compile=jit_compile)
    x = np.random.default_rng(0).normal(size=(2 * 64, 256)).astype(np.float32)
    with Tap(path, ALL, **options) as tap:
        y = np.arange(len(x)) % 4
        model.fit(x, y, batch_size=64, verbose=0, shuffle=False, callbacks=[tap.callback()])
    return model.get_weights()


@pytest.mark.parametrize("jit_compile", [False, True], ids=["plain", "xla"])
def test_a_keras_step_is_summarized_as_on_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jit_compile: bool
) -> None:
    taken: list[DeviceSummary] = []
    original = DeviceSummary.from_numbers
    monkeypatch.setattr(
        DeviceSummary,
        "from_numbers",
        staticmethod(lambda numbers, dtype: taken.append(original(numbers, dtype)) or taken[-1]),
    )
    weights = train(tmp_path / "host", jit_compile=jit_compile)
    assert not taken
    on_device = train(tmp_path / "device", jit_compile=jit_compile, summarize="device")
    assert sum(summary.size * 4 >= 16 << 10 for summary in taken) >= 2 * 10
    for one, other in zip(weights, on_device, strict=True):
        np.testing.assert_array_equal(one, other)

    runs = tensortap.open(tmp_path).runs
    host, device = runs["host"], runs["device"]
    assert [each.name for each in host.find()] == [each.name for each in device.find()]
    for each in host.find():
        assert_same(device.tensor(each.name, step=-1).summary, host.tensor(each.name, step=-1).summary)


def test_loops_values_and_functions_called_twice(tmp_path: Path) -> None:
    watch = ALL | Watch("kept", steps=1, keep="value")
    for place in ("host", "device"):
        with Tap(tmp_path / place, watch, summarize=place) as tap:

            @tf.function(jit_compile=True)
            def compiled(x: Any) -> Any:
                return tf.sin(x, name="inner")

            @tap.function
            def step(x: Any) -> Any:
                for number in tf.range(3):
                    if number > 0:
                        x = tf.multiply(x, 2.0, name="twice")
                return tf.add(compiled(x), compiled(2 * x), name="kept")

            step(tf.reshape(tf.range(8192.0), [64, 128]))
    host, device = Dumped(tmp_path / "host"), Dumped(tmp_path / "device")
    key = ["node", "slot", "visit", "shape", "min", "max", "nan", "zero", "bucket_id", "bucket_count"]
    # Branches of a loop run side by side: their order is that of the moment.
    found = [[[row.columns[name] for name in key] for row in run.rows] for run in (host, device)]
    assert sorted(found[0], key=lambda row: row[:3]) == sorted(found[1], key=lambda row: row[:3])
    np.testing.assert_array_equal(host.value("kept:0"), device.value("kept:0"))
    assert [row.visit for row in device.rows if row.node.endswith("twice")] == [1, 2]


def test_training_goes_on_where_the_device_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call makes the optimizer's variables: it is undone, and made again without taps."""
    plain = train(tmp_path / "plain")
    monkeypatch.setattr(device_summary, "_function_name", lambda dtype: "not_there")
    with pytest.warns(TapWarning, match="could not run with taps"):
        np.testing.assert_array_equal(train(tmp_path / "failing", summarize="device")[0], plain[0])


@pytest.mark.parametrize("options", [{"summarize": "gpu"}, {"on": tensortap.NonFinite()}, {"record": 10}])
def test_arguments(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(WatchError, match=r"'gpu' is unknown|cannot be combined with"):
        Tap(tmp_path / "r", **{"summarize": "device", **options})
