"""Summaries computed by TensorFlow on the device of a tensor: about 1,030 numbers leave it instead of the
tensor.

An op graph counts, and finds extremes and moments; outside the graph that becomes a `Summary`. Counts,
extremes and histogram equal what `stats.summarize` finds; sums are taken in another order, so that the last
bits of mean, std and l2 may differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.core.dtypes import Array, itemsize, numpy_dtype
from tensortap.core.histogram import BUCKETS, Histogram
from tensortap.core.records import Summary
from tensortap.stats.summarize import tiny_id
from tensortap.tf import internals

from ..tracing.candidate import Candidate
from ..watching.watch import is_static, static_size

_DTYPES = ("float16", "bfloat16", "float32")
_MIN_BYTES = 16 << 10  # of a tensor, if its size is known: below, its summary takes as much

_MAGNITUDE = 0x7FFFFFFF
_INF = 0x7F800000  # the pattern of infinity; those of NaN are above
_SMALLEST_NORMAL = 0x00800000
_NEGATIVE_INF = _INF - (1 << 31)  # as a signed number
_NOT_FINITE = np.array([510, 511, 1022, 1023])  # the buckets of patterns of infinity and NaN
_FACTS = 7


@dataclass(frozen=True, eq=False)
class DeviceSummary:
    """Represents an array that stayed on its device.

    It has the attributes of an array that capturing looks at: `dtype`, `shape`, `size`, and `nbytes` of the
    summary itself.
    """

    summary: Summary
    nbytes: int

    @staticmethod
    def from_numbers(numbers: Array, dtype: str) -> DeviceSummary:
        """Build it from the op graph's result for a tensor of that dtype: float64[7 + 1024 + rank]."""
        facts, table, shape = np.split(numbers, [_FACTS, _FACTS + BUCKETS])
        zero, pos_inf, neg_inf = (int(number) for number in facts[:3])
        counts = table.astype(np.int64)
        nan = int(counts[_NOT_FINITE].sum()) - pos_inf - neg_inf
        counts[_NOT_FINITE] = 0
        extents = tuple(int(extent) for extent in shape)
        histogram = Histogram.from_table(counts)
        half = BUCKETS // 2
        positive, negative = int(counts[:half].sum()), int(counts[half:].sum())
        tiny = tiny_id(dtype)
        subnormal = int(counts[:tiny].sum() + counts[half : half + tiny].sum())
        finite = zero + positive + negative
        low = high = mean = std = l2 = math.nan
        if finite:
            low, high = (_number(int(order)) for order in facts[3:5])
            mean, m2 = float(facts[5]), float(facts[6])
            std, l2 = math.sqrt(m2 / finite), math.sqrt(m2 + finite * mean * mean)
        summary = Summary(
            dtype,
            extents,
            math.prod(extents),
            nan,
            pos_inf,
            neg_inf,
            zero,
            negative,
            positive,
            subnormal,
            low,
            high,
            mean,
            std,
            l2,
            max(abs(low), abs(high)),
            histogram,
        )
        return DeviceSummary(summary, numbers.nbytes)

    @property
    def dtype(self) -> np.dtype[Any]:
        return numpy_dtype(self.summary.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.summary.shape

    @property
    def size(self) -> int:
        return self.summary.size

    @property
    def is_finite(self) -> bool:
        """Whether there is neither a NaN nor an infinity."""
        return not (self.summary.nan or self.summary.pos_inf or self.summary.neg_inf)


def _number(order: int) -> float:
    """The float32 number of a position in their order: see `_summarize`."""
    magnitude = float(np.uint32(abs(order)).view(np.float32))
    return -magnitude if order < 0 else magnitude


def _summarize(tensor: Any) -> Any:
    """float64[7 + 1024 + rank]: counts of zeros and infinities, extremes, mean, sum of squared deviations,
    counts by bucket, shape.

    What can be is computed on bit patterns: many devices take subnormal numbers for zero. On them, integers
    of 32 bits live in host memory, so that they are widened first.
    """
    numbers = tf.cast(tf.reshape(tensor, [-1]), tf.float32)  # exact for 16 bits
    bits = tf.cast(tf.bitcast(numbers, tf.int32), tf.int64)
    magnitude = tf.bitwise.bitwise_and(bits, _MAGNITUDE)
    finite, is_zero = magnitude < _INF, tf.equal(magnitude, 0)
    bucket = tf.bitwise.right_shift(tf.bitwise.bitwise_and(bits, (1 << 32) - 1), 22)
    table = tf.raw_ops.DenseBincount(
        # Zeros are in no bucket: they go beyond the last one.
        input=tf.cast(tf.where(is_zero, tf.constant(BUCKETS, tf.int64), bucket), tf.int32),
        size=tf.constant(BUCKETS + 1),
        weights=tf.constant([], tf.int32),  # float32 counts to 2**24 only
    )
    order = tf.where(bits < 0, -magnitude, magnitude)  # as the numbers do
    low = tf.reduce_min(tf.where(finite, order, tf.int64.max))
    high = tf.reduce_max(tf.where(finite, order, tf.int64.min))
    wide = tf.where(
        magnitude < _SMALLEST_NORMAL, tf.cast(order, tf.float64) * 2.0**-149, tf.cast(numbers, tf.float64)
    )
    nothing = tf.zeros([], tf.float64)
    mean = tf.math.divide_no_nan(tf.reduce_sum(tf.where(finite, wide, nothing)), _count(finite))
    m2 = tf.reduce_sum(tf.where(finite, tf.square(wide - mean), nothing))
    facts = [
        _count(is_zero),
        _count(tf.equal(bits, _INF)),
        _count(tf.equal(bits, _NEGATIVE_INF)),
        tf.cast(low, tf.float64),
        tf.cast(high, tf.float64),
        mean,
        m2,
    ]
    counts = tf.cast(table, tf.float64)[:BUCKETS]  # widened first, too
    return tf.concat([tf.stack(facts), counts, tf.cast(tf.shape(tensor), tf.float64)], 0)


def _count(mask: Any) -> Any:
    return tf.reduce_sum(tf.cast(mask, tf.float64))


@cache
def _function_name(dtype: str) -> str:
    """The registered function that summarizes a tensor of any shape."""
    with tf.init_scope():
        traced = tf.function(_summarize, autograph=False).get_concrete_function(
            tf.TensorSpec(None, tf.as_dtype(dtype))
        )
    _traced.append(traced)
    name: bytes = traced.name
    return name.decode()


_traced: list[Any] = []  # a function that nothing holds is taken out of TensorFlow


def can_summarize(candidate: Candidate) -> bool:
    """Whether a tensor is of a dtype that is summarized on its device, and not too small for it."""
    if candidate.dtype not in _DTYPES:
        return False
    return not is_static(candidate) or static_size(candidate) * itemsize(candidate.dtype) >= _MIN_BYTES


def add_summary(definition: internals.FunctionDef, reference: str, dtype: Any, name: str, device: str) -> str:
    """Adds a node that summarizes a tensor.

    Args:
        reference: to the tensor, in the definition.
        name, device: of the node.

    Returns:
        The name of the summary in the definition.
    """
    node = definition.node_def.add(name=name, op="PartitionedCall", device=device, input=[reference])
    node.attr["Tin"].list.type.append(dtype.as_datatype_enum)
    node.attr["Tout"].list.type.append(tf.float64.as_datatype_enum)
    node.attr["f"].func.name = _function_name(dtype.name)
    return f"{name}:output:0"
