"""What counts as a leak, and what is exchanged in a batch: on arrays made by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError
from tensortap.dump.recording.recording import Argument, Recording
from tensortap.replay.invariant_checks.batch_inputs import BatchInputs
from tensortap.replay.invariant_checks.independence_checks import (
    cut_axes,
    describe_batch_norm,
    require_sequences,
    unpadded,
)
from tensortap.replay.invariant_checks.leakage import relative_change

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("beside", [0, math.inf, -math.inf, math.nan, -1e4, -1e9, float(np.finfo("f").min)])
def test_a_change_beside_a_mask_is_seen_and_rounding_is_not(beside: float) -> None:
    before = RANDOM.standard_normal((4, 4)).astype("f")
    before[np.triu_indices(4)] = beside
    leaking, rounded = before.copy(), before.copy()
    leaking[2, 0] += 1
    rounded[2, 0] *= 1 + 1e-6
    largest = np.abs(before[np.tril_indices(4, -1)]).max()
    assert relative_change(before, leaking) == pytest.approx(1 / largest, rel=1e-5)
    assert relative_change(before, rounded) == 0 == relative_change(before, before.copy())


def test_large_numbers_without_a_mask_round_too() -> None:
    before = (RANDOM.standard_normal(1000) * 1e7).astype("f")
    before[0] = 0.5
    after = before.copy()
    after[0] = 0.75
    assert relative_change(before, after) == 0


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_leaks_too(dtype: type) -> None:
    before = RANDOM.standard_normal(1000).astype(dtype)
    largest = np.abs(before.astype("f")).max()
    leaking = before.copy()
    leaking[0] += dtype(largest / 8)
    assert relative_change(before, leaking) == pytest.approx(1 / 8, rel=0.1)
    assert relative_change(before, np.nextafter(before, dtype(0))) == 0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_appear_and_vanish_count_as_infinite(value: float) -> None:
    one, other = np.zeros(3, "f"), np.array([0, value, 0], "f")
    assert relative_change(one, other) == relative_change(other, one) == math.inf
    assert relative_change(np.array([math.inf], "f"), np.array([-math.inf], "f")) == math.inf


def test_every_axis_of_positions_is_cut() -> None:
    scores = RANDOM.standard_normal((3, 6, 6))
    np.testing.assert_array_equal(cut_axes(scores, 6, slice(3)), scores[:, :3, :3])
    mask = np.array([[False, False, True], [False, True, True]])
    scores = np.arange(18).reshape(2, 3, 3)
    assert unpadded(scores, mask).tolist() == [0, 1, 3, 4, 9]
    assert unpadded(np.arange(12).reshape(2, 3, 2), mask).tolist() == [0, 1, 2, 3, 6, 7]


def of(**arrays: Array) -> BatchInputs:
    arguments = tuple(Argument("tensor", name, (array,)) for name, array in arrays.items())
    return BatchInputs.of(Recording("step", b"", arguments, step=1))


@pytest.mark.parametrize("dtype", [np.dtype("f"), np.dtype(ml_dtypes.bfloat16)])
def test_floats_are_exchanged_where_all_samples_are_the_same(dtype: np.dtype[Any]) -> None:
    inputs = of(x=np.zeros((3, 4), dtype))
    (sample,) = inputs.exchange(inputs.exchange_first_sample).arguments[0].arrays
    (future,) = inputs.exchange(inputs.exchange_future).arguments[0].arrays
    assert sample.dtype == future.dtype == dtype
    assert sample.astype("f").tolist() == [[1] * 4, [0] * 4, [0] * 4]
    assert future.astype("f").tolist() == [[0, 0, 1, 1]] * 3


def test_tokens_change_places_where_all_samples_are_the_same() -> None:
    inputs = of(tokens=np.array([[1, 2, 3, 4]] * 2))
    (sample,) = inputs.exchange(inputs.exchange_first_sample).arguments[0].arrays
    (future,) = inputs.exchange(inputs.exchange_future).arguments[0].arrays
    assert sample.tolist() == [[4, 3, 2, 1], [1, 2, 3, 4]]
    assert future.tolist() == [[1, 2, 4, 3]] * 2


def test_where_nothing_can_be_exchanged_nothing_passes() -> None:
    tokens = np.array([[1, 2, 0, 0], [3, 4, 0, 0]])
    inputs = of(tokens=tokens, labels=np.arange(2))
    with pytest.raises(NotFoundError, match="exchanging them has no effect"):
        inputs.exchange(inputs.exchange_future)
    assert inputs.exchange(inputs.exchange_first_sample).unchanged == ()
    inputs = of(tokens=np.ones((2, 4), int), labels=np.arange(2))
    assert inputs.exchange(inputs.exchange_first_sample).unchanged == ("tokens",)
    inputs = of(tokens=np.ones((2, 4), int))
    with pytest.raises(NotFoundError, match="identical"):
        inputs.exchange(inputs.exchange_first_sample)


@pytest.mark.parametrize("kernel", [None, [1, 3, 4, 4], [None, 3, 4, 4]])
def test_a_kernel_that_is_not_known_to_have_a_height_makes_no_image(kernel: list[int | None] | None) -> None:
    inputs = [SimpleNamespace(shape=tf.TensorShape(each)) for each in ([2, 6, 5, 4], kernel)]
    convolution = SimpleNamespace(type="Conv2D", name="along", inputs=inputs)
    candidates = {"along:0": SimpleNamespace(op_type="Conv2D")}
    chosen: Any = SimpleNamespace(operations={("step", "along"): convolution}, candidates=candidates)
    require_sequences(chosen, ["along:0"], 2, 6)
    inputs[1].shape = tf.TensorShape([3, 3, 4, 4])
    with pytest.raises(NotFoundError, match="along convolves over the 6 rows"):
        require_sequences(chosen, ["along:0"], 2, 6)


def test_batch_normalization_is_distinguished_from_other_leaks() -> None:
    assert describe_batch_norm(0, 0) == describe_batch_norm(1, 0) == ""
    assert "; all of it starts in batch normalization" in describe_batch_norm(2, 2)
    assert "2 of its 3 origins are in batch" in describe_batch_norm(3, 2)
