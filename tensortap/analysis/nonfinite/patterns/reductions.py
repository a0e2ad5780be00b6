"""Patterns of ops that add many numbers up, and of softmax and other special ops."""

from __future__ import annotations

from collections.abc import Sequence

from tensortap.core.text import number_text

from ...dtype_limits import largest
from ...model_graph.op_types import BATCH_NORMS, ops
from ..explanation import Explanation, be_verb, elements
from ..operand import Operand
from .unary import Check, overflow_help, prefix


def total(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """A sum of many elements: it has infinities of both signs, is a mean of no elements, or overflows."""
    (x, *_) = ins
    if x.known and not x.size and out.nan:
        text = f"The mean of an empty tensor is 0/0 = NaN: {x.tensor}."
        return Explanation("mean of an empty tensor", text, "Skip this term if there are no elements.")
    if out.nan and x.pos_inf and x.neg_inf:
        text = f"inf - inf = NaN: {x.tensor} contains infinities of both signs, which are summed."
        return Explanation("inf - inf", text, "Find the origin of the infinities.")
    if x.abs_max * max(x.finite, 1) > largest(out.dtype):
        limit = number_text(largest(out.dtype))
        what = f"{elements(x.finite)} of {x.tensor} reach {number_text(x.abs_max)}"
        text = f"The sum overflows {out.dtype} ({limit}): {what}."
        return Explanation(
            f"{prefix(out.dtype)}sum overflow",
            text,
            overflow_help(out.dtype),
            certain=x.abs_max * 2 > largest(out.dtype),
        )
    return None


def product_sum(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """A sum of products, as in a matrix product or a convolution."""
    x, y = ins[:2]
    for one, other in ((x, y), (y, x)):
        if out.nan and one.inf and other.zero:
            what = f"{elements(one.inf)} of {one.tensor} {be_verb(one.inf)} infinite"
            text = f"0 * inf = NaN in the sums of products: {what}, and {other.tensor} contains zeros."
            return Explanation("0 * inf", text, "Find the origin of the infinities.")
    if out.nan and (x.inf or y.inf):
        one = x if x.inf else y
        what = f"{elements(one.inf)} of {one.tensor} {be_verb(one.inf)} infinite"
        text = f"inf - inf = NaN in the sums of products: {what}."
        return Explanation("inf - inf", text, "Find the origin of the infinities.", certain=False)
    terms = max(min(x.finite, y.finite), 1)
    if x.abs_max * y.abs_max * terms > largest(out.dtype):
        ends = f"{number_text(x.abs_max)} and {number_text(y.abs_max)}"
        limit = number_text(largest(out.dtype))
        text = f"Sums of products overflow {out.dtype} ({limit}): the operands reach {ends}."
        certain = x.abs_max * y.abs_max > largest(out.dtype)
        return Explanation(
            f"{prefix(out.dtype)}sum overflow", text, overflow_help(out.dtype), certain=certain
        )
    return None


def softmax(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """exp(x - max): a row of only -inf, or with +inf, computes inf - inf."""
    (x, *_) = ins
    if x.pos_inf:
        text = f"softmax of +inf is NaN (inf - inf): {elements(x.pos_inf)} of {x.tensor}."
        return Explanation("softmax of inf", text, "Find the origin of the infinities.")
    if x.neg_inf:
        row = x.shape[-1] if x.shape else 0
        what = f"{elements(x.neg_inf)} of {x.tensor} are -inf, in rows of {row}"
        text = f"softmax of an all -inf row is NaN: {what}."
        return Explanation("softmax of all -inf", text, _MASK, certain=bool(row) and x.neg_inf >= row)
    return None


def cross_entropy(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """Infinite logits, or labels outside the classes."""
    x, labels = ins[:2]
    if x.inf:
        text = (
            f"Cross entropy of infinite logits: {elements(x.inf)} of {x.tensor}; inf - inf or 0 * inf = NaN."
        )
        return Explanation("softmax of inf", text, _MASK)
    classes = x.shape[-1] if x.shape else 0
    if labels.known and classes and (labels.max >= classes or labels.min < 0):
        span = f"{number_text(labels.min)}…{number_text(labels.max)}"
        text = f"Labels outside 0…{classes - 1} give NaN: {labels.tensor} spans {span}."
        return Explanation(
            "label out of range", text, "Check the number of classes, and padding labels such as -1."
        )
    return None


def normalized(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """Batch normalization: the squares in the variance overflow, or the batch is empty."""
    (x, *_) = ins
    if x.known and not x.size:
        return Explanation(
            "mean of an empty tensor", f"{x.tensor} is empty: its mean and variance are 0/0.", ""
        )
    if x.abs_max > largest(x.dtype) ** 0.5:
        text = f"The variance overflows: |{x.tensor}| reaches {number_text(x.abs_max)}."
        return Explanation(f"{prefix(x.dtype)}overflow", text, overflow_help(x.dtype))
    return None


def product(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """A product of many elements overflows."""
    (x, *_) = ins
    if x.abs_max > 1:
        what = f"|{x.tensor}| reaches {number_text(x.abs_max)}"
        text = f"The product of {elements(x.size)} overflows {out.dtype}: {what}."
        return Explanation("product overflow", text, "Sum the logarithms instead.", certain=False)
    return None


def decomposition(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """A matrix that is singular or not positive definite."""
    (x, *_) = ins
    text = f"{x.tensor} is singular or not positive definite at this precision."
    return Explanation("singular matrix", text, "Add a small multiple of the identity matrix.", certain=False)


_MASK = (
    "Mask with a large finite number (-1e9 in float32, -1e4 in float16), and leave one position of each row "
    "unmasked."
)

_SUMS = ops(
    "Sum Mean Cumsum SegmentSum UnsortedSegmentSum SegmentMean SparseSegmentSum SparseSegmentMean "
    "BiasAddGrad L2Loss AvgPool EuclideanNorm"
)
_PRODUCTS = ops(
    "MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum XlaEinsum Conv1D Conv2D Conv3D "
    "DepthwiseConv2dNative _FusedMatMul _FusedConv2D "
    "Conv2DBackpropInput Conv2DBackpropFilter Conv3DBackpropInputV2 Conv3DBackpropFilterV2 "
    "DepthwiseConv2dNativeBackpropInput DepthwiseConv2dNativeBackpropFilter SparseMatMul"
)
_NORMS = BATCH_NORMS | ops("FusedBatchNormGradV3")
_MATRICES = ops(
    "Cholesky MatrixInverse MatrixSolve LogMatrixDeterminant MatrixSquareRoot MatrixTriangularSolve "
    "SelfAdjointEigV2 Svd Qr"
)

REDUCTIONS: dict[str, Check] = {
    **dict.fromkeys(_SUMS, total),
    **dict.fromkeys(_NORMS, normalized),
    **dict.fromkeys(_MATRICES, decomposition),
    "Softmax": softmax,
    "LogSoftmax": softmax,
    "Prod": product,
    "Cumprod": product,
}
TWO_OPERANDS: dict[str, Check] = {
    **dict.fromkeys(_PRODUCTS, product_sum),
    "SoftmaxCrossEntropyWithLogits": cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": cross_entropy,
}
