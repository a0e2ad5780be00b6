"""More programs that make NaN and infinities (nan_programs.py runs them): functions outside their domain,
decompositions, narrow dtypes, and convolutions and pooling before the origin.

`# origin` marks the line that must be found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

FEW = tf.ones([2, 2, 1, 1])  # a filter over 2 x 2 pixels of one channel


def _gram(x: Any) -> Any:
    """A singular matrix: 3 x 3, of rank 2."""
    return tf.matmul(x, x, transpose_a=True)


def _picture(x: Any) -> Any:
    """The six numbers as one picture of 2 x 3 pixels."""
    return tf.reshape(x, [1, 2, 3, 1])


# Two infinities meet: the first origin made them, the second is what they make.


def inf_over_inf(x: Any) -> Any:
    huge = tf.exp(200.0 * x)  # origin
    return tf.reduce_sum(huge / huge)


def inf_times_0_in_sums(x: Any) -> Any:
    huge = tf.exp(200.0 * x)  # origin
    return tf.reduce_sum(tf.matmul(huge, tf.nn.relu(-x), transpose_b=True))


def softmax_of_inf(x: Any) -> Any:
    huge = tf.exp(200.0 * x)  # origin
    return tf.reduce_sum(tf.nn.softmax(huge))


def mean_of_both_infinities(x: Any) -> Any:
    huge = tf.sinh(200.0 * x)  # origin
    return tf.reduce_mean(huge)


def cross_entropy_of_inf(x: Any) -> Any:
    huge = tf.exp(200.0 * x)  # origin
    return tf.reduce_sum(tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(x), huge))


# Products, powers and quotients.


def product_overflow(x: Any) -> Any:
    return tf.reduce_sum(tf.reduce_prod((tf.abs(x) + 1.0) * 1e20, axis=1))  # origin


def cumulative_product_overflow(x: Any) -> Any:
    return tf.reduce_sum(tf.math.cumprod((tf.abs(x) + 1.0) * 1e20, axis=1))  # origin


def division_overflow(x: Any) -> Any:
    return tf.reduce_sum((x + 3.0) * 1e20 / (tf.abs(x) + 1e-20))  # origin


def reciprocal_of_0(x: Any) -> Any:
    return tf.reduce_sum(tf.math.reciprocal(x))  # origin


def pow_of_0(x: Any) -> Any:
    return tf.reduce_sum(tf.pow(tf.abs(x), -1.0 + 0.0 * x))  # origin


def pow_overflow(x: Any) -> Any:
    return tf.reduce_sum(tf.pow(tf.abs(x) * 1e20, 2.5 + 0.0 * x))  # origin


def deviation_of_equals(x: Any) -> Any:
    equal = 2.0 + 0.0 * x
    deviation = tf.sqrt(tf.reduce_mean(tf.square(equal - tf.reduce_mean(equal, 0)), 0))
    return tf.reduce_sum((equal - 2.0) / deviation)  # origin


def square_overflow(x: Any) -> Any:
    return tf.reduce_sum(tf.square(x * 1e20))  # origin


def squared_difference_overflow(x: Any) -> Any:
    return tf.reduce_sum(tf.math.squared_difference(x * 1e20, -x))  # origin


def addition_overflow(x: Any) -> Any:
    half = tf.cast(x, tf.float16) * 15000.0
    return tf.reduce_max(half + half)  # origin


def remainder_of_0(x: Any) -> Any:
    return tf.reduce_sum(tf.math.floormod(x, tf.nn.relu(x)))  # origin


def truncated_remainder_of_0(x: Any) -> Any:
    return tf.reduce_sum(tf.truncatemod(x, tf.nn.relu(x)))  # origin


def whole_division_by_0(x: Any) -> Any:
    return tf.reduce_sum((x + 3.0) // tf.nn.relu(x))  # origin


def xdivy_by_0(x: Any) -> Any:
    return tf.reduce_sum(tf.math.xdivy(x + 3.0, tf.nn.relu(x)))  # origin


def xlogy_of_0(x: Any) -> Any:
    return tf.reduce_sum(tf.math.xlogy(x + 3.0, tf.nn.relu(x)))  # origin


def xlogy_of_negative(x: Any) -> Any:
    return tf.reduce_sum(tf.math.xlogy(x + 3.0, x - 0.25))  # origin


# Outside of a function's domain.


def asin_outside(x: Any) -> Any:
    return tf.reduce_sum(tf.asin(x))  # origin


def atanh_at_its_end(x: Any) -> Any:
    return tf.reduce_sum(tf.atanh(tf.clip_by_value(x, -1.0, 1.0)))  # origin


def acosh_below_1(x: Any) -> Any:
    return tf.reduce_sum(tf.acosh(x))  # origin


def erfinv_outside(x: Any) -> Any:
    return tf.reduce_sum(tf.math.erfinv(x))  # origin


def ndtri_outside(x: Any) -> Any:
    return tf.reduce_sum(tf.math.ndtri(x))  # origin


def lgamma_at_a_pole(x: Any) -> Any:
    return tf.reduce_sum(tf.math.lgamma(tf.nn.relu(x)))  # origin


def digamma_at_a_pole(x: Any) -> Any:
    return tf.reduce_sum(tf.math.digamma(tf.nn.relu(x)))  # origin


def cosh_overflow(x: Any) -> Any:
    return tf.reduce_sum(tf.cosh(30.0 * x))  # origin


def expm1_overflow(x: Any) -> Any:
    return tf.reduce_sum(tf.math.expm1(30.0 * x))  # origin


# Matrices.


def cholesky_of_indefinite(x: Any) -> Any:
    return tf.reduce_sum(tf.linalg.cholesky(_gram(x) - 5.0 * tf.eye(3)))  # origin


def log_determinant_of_singular(x: Any) -> Any:
    return tf.linalg.slogdet(_gram(0.0 * x))[1]  # origin


def triangular_solve_of_singular(x: Any) -> Any:
    return tf.reduce_sum(tf.linalg.triangular_solve(_gram(0.0 * x), tf.ones([3, 1])))  # origin


def matrix_root_of_singular(x: Any) -> Any:
    shifted = tf.linalg.band_part(tf.abs(x[:, 1:]), 0, 1) - tf.linalg.diag([1.0, 4.0])
    return tf.reduce_sum(tf.linalg.sqrtm(shifted))  # origin


# Narrow dtypes and normalization.


def float8_with_infinities(x: Any) -> Any:
    narrow = tf.cast(x * 1e5, tf.dtypes.experimental.float8_e5m2)  # origin
    return tf.reduce_sum(tf.cast(narrow, tf.float32))


def float8_without_infinities(x: Any) -> Any:
    narrow = tf.cast(x * 1e3, tf.dtypes.experimental.float8_e4m3fn)  # origin
    return tf.reduce_sum(tf.cast(narrow, tf.float32))


def batch_norm_overflow(x: Any) -> Any:
    wide = _picture(x * 1e25)
    out, _, variance = tf.compat.v1.nn.fused_batch_norm(wide, [1.0], [0.0])  # origin
    return tf.reduce_sum(out) + tf.reduce_sum(variance)


def batch_norm_of_nothing(x: Any) -> Any:
    none = tf.boolean_mask(tf.reshape(x, [2, 3, 1, 1]), x[:, 0] > 9.0)
    out, mean, _ = tf.compat.v1.nn.fused_batch_norm(none, [1.0], [0.0])  # origin
    return tf.reduce_sum(out) + tf.reduce_sum(mean)


# TensorFlow's own kernel raises on a CPU; what XLA compiles gives NaN, as on a GPU.


def label_out_of_range(x: Any) -> Any:
    labels = tf.cast(x[:, 2], tf.int32)  # 2 and 4, of three classes

    @tf.function(jit_compile=True)
    def entropy(logits: Any) -> Any:
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)  # origin

    return tf.reduce_sum(entropy(x))


# Convolutions and pooling between the pixel and the origin.


def through_convolution(x: Any) -> Any:
    wide = tf.nn.conv2d(_picture(30.0 * x), FEW, 1, "VALID")
    return tf.reduce_sum(tf.exp(wide))  # origin


def through_strided_convolution(x: Any) -> Any:
    wide = tf.nn.conv2d(_picture(30.0 * x), FEW, 2, "SAME")
    return tf.reduce_sum(tf.exp(wide))  # origin


def through_dilated_convolution(x: Any) -> Any:
    wide = tf.nn.conv2d(_picture(30.0 * x), tf.ones([1, 2, 1, 1]), 1, "VALID", dilations=[1, 1, 2, 1])
    return tf.reduce_sum(tf.exp(wide))  # origin


def through_depthwise_convolution(x: Any) -> Any:
    wide = tf.nn.depthwise_conv2d(_picture(30.0 * x), FEW, [1, 1, 1, 1], "VALID")
    return tf.reduce_sum(tf.exp(wide))  # origin


def through_convolution_3d(x: Any) -> Any:
    cube = tf.reshape(30.0 * x, [1, 1, 2, 3, 1])
    wide = tf.nn.conv3d(cube, tf.ones([1, 2, 2, 1, 1]), [1, 1, 1, 1, 1], "VALID")
    return tf.reduce_sum(tf.exp(wide))  # origin


def through_transposed_convolution(x: Any) -> Any:
    wide = tf.nn.conv2d_transpose(_picture(30.0 * x), FEW, [1, 4, 6, 1], 2, "VALID")
    return tf.reduce_sum(tf.exp(wide))  # origin


def through_max_pooling(x: Any) -> Any:
    wide = tf.nn.max_pool2d(_picture(30.0 * x), 2, 1, "VALID")
    return tf.reduce_sum(tf.exp(wide))  # origin


def through_average_pooling(x: Any) -> Any:
    wide = tf.nn.avg_pool2d(_picture(80.0 * x), 2, 2, "SAME")
    return tf.reduce_sum(tf.exp(wide))  # origin


def convolution_overflow(x: Any) -> Any:
    return tf.reduce_sum(tf.nn.conv2d(_picture(1e20 * x), 1e19 * FEW, 1, "VALID"))  # origin


SPECIAL: dict[str, Callable[[Any], Any]] = {
    made.__name__: made
    for made in (
        *(inf_over_inf, inf_times_0_in_sums, softmax_of_inf, mean_of_both_infinities, cross_entropy_of_inf),
        *(product_overflow, cumulative_product_overflow, division_overflow, reciprocal_of_0, pow_of_0),
        deviation_of_equals,
        *(pow_overflow, square_overflow, squared_difference_overflow, addition_overflow, remainder_of_0),
        *(truncated_remainder_of_0, whole_division_by_0, xdivy_by_0, xlogy_of_0, xlogy_of_negative),
        *(asin_outside, atanh_at_its_end, acosh_below_1, erfinv_outside, ndtri_outside, lgamma_at_a_pole),
        *(digamma_at_a_pole, cosh_overflow, expm1_overflow, cholesky_of_indefinite),
        *(log_determinant_of_singular, triangular_solve_of_singular, matrix_root_of_singular),
        *(float8_with_infinities, float8_without_infinities, batch_norm_overflow, batch_norm_of_nothing),
        *(through_convolution, through_strided_convolution, through_dilated_convolution),
        *(through_depthwise_convolution, through_convolution_3d, through_transposed_convolution),
        *(through_max_pooling, through_average_pooling, convolution_overflow, label_out_of_range),
    )
}
