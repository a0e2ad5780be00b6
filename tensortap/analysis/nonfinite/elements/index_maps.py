"""Index maps from outputs to inputs: which input elements an output element is computed of.

A further op is one function and one row of `MAPS` at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tensortap.core.dtypes import Array

from ...model_graph.op_types import is_true, ops

Index = tuple[int, ...]
Part = int | slice
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A node as an index map needs it: shapes of its inputs (None if unknown) and of the output slot, values
    of small integer inputs (axes, permutations, indices; None if unknown), attributes, and the output's
    number."""

    op_type: str
    shapes: Sequence[Shape | None]
    out_shape: Shape
    integers: Callable[[int, tuple[Part, ...] | None], Array | None]
    attributes: dict[str, str] = field(default_factory=dict)
    slot: int = 0

    def flag(self, name: str) -> bool:
        """A boolean attribute; false if it is absent."""
        return is_true(self.attributes, name)


Wanted = list[tuple[int, tuple[Part, ...]]]
Map = Callable[[Call, Index], Wanted]


def inputs_of_element(call: Call, index: Index) -> Wanted:
    """(input position, selection) of the input elements that the output's element at `index` depends on;
    empty if the op is not supported or a needed tensor was not captured."""
    try:
        return MAPS.get(call.op_type, _by_position)(call, index)
    except (IndexError, ValueError, KeyError, TypeError):  # a graph whose attributes and shapes do not fit
        return []


def aligned(shape: Shape, index: Index) -> tuple[Part, ...]:
    """Index of an element in an operand that was broadcast."""
    tail = index[len(index) - len(shape) :]
    return tuple(0 if extent == 1 else at for extent, at in zip(shape, tail, strict=True))


def _by_position(call: Call, index: Index) -> Wanted:
    """Elementwise, with broadcasting: for every op whose float inputs broadcast to its output."""
    found: Wanted = []
    for position, shape in enumerate(call.shapes):
        if shape is None or len(shape) > len(index):
            continue
        tail = call.out_shape[len(call.out_shape) - len(shape) :]
        if all(extent in (1, full) for extent, full in zip(shape, tail, strict=True)):
            found.append((position, aligned(shape, index)))
    return found if call.op_type in ELEMENTWISE else []


def _bias(call: Call, index: Index) -> Wanted:
    channel = index[1] if call.attributes.get("data_format") == "NCHW" else index[-1]
    return [(0, index), (1, (channel,))]


def _matmul(call: Call, index: Index) -> Wanted:
    """out[…, i, j] = sum over k of a[…, i, k] b[…, k, j]."""
    batch, (i, j) = index[:-2], index[-2:]
    found: Wanted = []
    flags = (call.flag("transpose_a") or call.flag("adj_x"), call.flag("transpose_b") or call.flag("adj_y"))
    for position, turned in enumerate(flags):
        shape = call.shapes[position]
        if shape is None:
            continue
        ends: tuple[Part, Part] = (i, slice(None)) if position == 0 else (slice(None), j)
        lead = aligned(shape[:-2], batch)
        found.append((position, (*lead, *(ends[::-1] if turned else ends))))
    return found


def _einsum(call: Call, index: Index) -> Wanted:
    terms, _, result = call.attributes["equation"].replace(" ", "").partition("->")
    if "." in terms or len(result) != len(index):
        return []
    fixed = dict(zip(result, index, strict=True))
    return [
        (position, tuple(fixed.get(letter, slice(None)) for letter in term))
        for position, term in enumerate(terms.split(","))
    ]


def _reduce(call: Call, index: Index) -> Wanted:
    shape, axes = call.shapes[0], call.integers(1, None)
    if shape is None or axes is None:
        return []
    dropped = {int(axis) % max(len(shape), 1) for axis in np.atleast_1d(axes)}
    left = iter(index)
    parts: list[Part] = []
    for dim in range(len(shape)):
        at = next(left) if dim not in dropped or call.flag("keep_dims") else 0
        parts.append(slice(None) if dim in dropped else at)
    return [(0, tuple(parts))]


def _row(call: Call, index: Index) -> Wanted:
    """Softmax and the like: the last dimension as a whole."""
    return [(0, (*index[:-1], slice(None)))]


def _cross_entropy(call: Call, index: Index) -> Wanted:
    whole: tuple[Part, ...] = (*index[:1], slice(None))
    return [(0, whole), (1, index[:1] if call.op_type.startswith("Sparse") else whole)]


def _reshape(call: Call, index: Index) -> Wanted:
    shape = call.shapes[0]
    if shape is None:
        return []
    flat = int(np.ravel_multi_index(index, call.out_shape)) if index else 0
    return [(0, tuple(map(int, np.unravel_index(flat, shape))) if shape else ())]


def _transpose(call: Call, index: Index) -> Wanted:
    order = call.integers(1, None)
    if order is None:
        return []
    found = [0] * len(index)
    for at, dim in zip(index, order.tolist(), strict=True):
        found[dim] = at
    return [(0, tuple(found))]


def _tile(call: Call, index: Index) -> Wanted:
    shape = call.shapes[0]
    return [] if shape is None else [(0, tuple(at % n for at, n in zip(index, shape, strict=True)))]


def _concat(call: Call, index: Index) -> Wanted:
    axis = call.integers(len(call.shapes) - 1, None)
    if axis is None:
        return []
    dim = int(axis) % len(index)
    at = index[dim]
    for position, shape in enumerate(call.shapes[:-1]):
        if shape is None:
            return []
        if at < shape[dim]:
            return [(position, (*index[:dim], at, *index[dim + 1 :]))]
        at -= shape[dim]
    return []


def _pack(call: Call, index: Index) -> Wanted:
    dim = int(call.attributes.get("axis", "0")) % len(index)
    return [(index[dim], (*index[:dim], *index[dim + 1 :]))]


def _split(call: Call, index: Index) -> Wanted:
    """Split (axis, value) and SplitV (value, sizes, axis): output `slot` begins where those before it end."""
    sized = call.op_type == "SplitV"
    axis, shape = call.integers(2 if sized else 0, None), call.shapes[0 if sized else 1]
    sizes = call.integers(1, None) if sized else None
    if axis is None or shape is None or (sized and sizes is None):
        return []
    dim = int(axis.reshape(-1)[0]) % len(index)
    begin = call.out_shape[dim] * call.slot
    if sizes is not None:
        known = [int(size) for size in sizes.reshape(-1)]
        left = shape[dim] - sum(size for size in known if size >= 0)  # -1 is inferred
        begin = sum(left if size < 0 else size for size in known[: call.slot])
    return [(0 if sized else 1, (*index[:dim], begin + index[dim], *index[dim + 1 :]))]


def _unpack(call: Call, index: Index) -> Wanted:
    dim = int(call.attributes.get("axis", "0")) % (len(index) + 1)
    return [(0, (*index[:dim], call.slot, *index[dim:]))]


def _gather(call: Call, index: Index) -> Wanted:
    """out[…] = params[…, indices[…], …]; no batch dimensions."""
    indices, axis = call.shapes[1], call.integers(2, None) if len(call.shapes) > 2 else np.array(0)
    shape = call.shapes[0]
    if indices is None or axis is None or int(call.attributes.get("batch_dims", "0")):
        return []
    if shape is None:  # rows of a variable
        return [(1, tuple(index[int(axis) : int(axis) + len(indices)]))] if int(axis) >= 0 else []
    dim = int(axis) % len(shape)
    place = index[dim : dim + len(indices)]
    which = call.integers(1, tuple(place))
    if which is None:
        return [(1, tuple(place))]
    return [(0, (*index[:dim], int(which), *index[dim + len(indices) :])), (1, tuple(place))]


def _slice(call: Call, index: Index) -> Wanted:
    begin = call.integers(1, None)
    return [] if begin is None else [(0, tuple(int(b) + at for b, at in zip(begin, index, strict=True)))]


def _strided(call: Call, index: Index) -> Wanted:
    """Slices without ellipsis or new dimensions."""
    masks = {name: int(call.attributes.get(name, "0")) for name in _MASKS}
    shape, begin, strides = call.shapes[0], call.integers(1, None), call.integers(3, None)
    if shape is None or begin is None or strides is None or masks["ellipsis_mask"] or masks["new_axis_mask"]:
        return []
    left, parts = iter(index), list[Part]()
    for dim, extent in enumerate(shape):
        first, step = (int(begin[dim]), int(strides[dim])) if dim < len(begin) else (0, 1)
        if dim >= len(begin) or masks["begin_mask"] >> dim & 1:
            first = 0 if step > 0 else extent - 1
        first += extent if first < 0 else 0
        shrunk = dim < len(begin) and masks["shrink_axis_mask"] >> dim & 1
        parts.append(first if shrunk else first + step * next(left))
    return [(0, tuple(parts))]


def _bias_gradient(call: Call, index: Index) -> Wanted:
    shape = call.shapes[0]
    return [] if shape is None else [(0, (*[slice(None)] * (len(shape) - 1), *index))]


def _batch_norm(call: Call, index: Index) -> Wanted:
    """In training every output depends on its whole channel, as do the statistics (one dimension)."""
    channel_first = call.attributes.get("data_format", "").startswith("NC")
    shape, statistic = call.shapes[0], len(index) == 1
    if shape is None:
        return []
    dim = 1 if channel_first else len(shape) - 1
    channel = index[0] if statistic else index[dim]
    if not statistic and not call.flag("is_training"):
        return [(0, index), *((position, (channel,)) for position in range(1, len(call.shapes)))]
    return [(0, tuple(channel if at == dim else slice(None) for at in range(len(shape))))]


def _cumulative(call: Call, index: Index) -> Wanted:
    """out[…, i, …] = the sum, or product, of a[…, :i + 1, …]."""
    axis = call.integers(1, None)
    if axis is None:
        return []
    dim = int(axis) % len(index)
    least = index[dim] + (1 if call.flag("exclusive") else 0)
    most = index[dim] + (0 if call.flag("exclusive") else 1)
    part = slice(least, call.out_shape[dim]) if call.flag("reverse") else slice(0, most)
    return [(0, (*index[:dim], part, *index[dim + 1 :]))]


def _pad(call: Call, index: Index) -> Wanted:
    paddings, shape = call.integers(1, None), call.shapes[0]
    if paddings is None or shape is None:
        return []
    found = tuple(at - int(before) for at, (before, _) in zip(index, paddings.reshape(-1, 2), strict=True))
    return [(0, found)] if all(0 <= at < n for at, n in zip(found, shape, strict=True)) else []


def _reverse(call: Call, index: Index) -> Wanted:
    axes = call.integers(1, None)
    if axes is None:
        return []
    turned = {int(axis) % len(index) for axis in axes.reshape(-1)}
    extents = enumerate(zip(index, call.out_shape, strict=True))
    return [(0, tuple(extent - 1 - at if dim in turned else at for dim, (at, extent) in extents))]


def _roll(call: Call, index: Index) -> Wanted:
    """out[…, i, …] = a[…, i - shift, …], around the end."""
    shifts, axes = call.integers(1, None), call.integers(2, None)
    if shifts is None or axes is None:
        return []
    found = list(index)
    for shift, axis in zip(shifts.reshape(-1), axes.reshape(-1), strict=True):
        dim = int(axis) % len(index)
        found[dim] = (found[dim] - int(shift)) % call.out_shape[dim]
    return [(0, tuple(found))]


_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
ELEMENTWISE = ops(
    "Abs Acos Acosh Add AddN AddV2 Asin Asinh Atan Atan2 Atanh BroadcastTo Cast CheckNumerics Ceil Cos Cosh "
    "Digamma Div DivNoNan Elu EluGrad Erf Erfc Erfinv Exp Expm1 Floor FloorDiv FloorMod Gelu Identity Inv "
    "LeakyRelu LeakyReluGrad Lgamma Log Log1p Maximum Minimum Mod Mul MulNoNan Neg NextAfter OnesLike Pow "
    "PreventGradient RealDiv Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad Rint Round Rsqrt "
    "Select SelectV2 Selu SeluGrad Sigmoid SigmoidGrad Sign Sin Sinh Snapshot Softplus SoftplusGrad Softsign "
    "Sqrt SqrtGrad Square SquaredDifference StopGradient Sub Tan Tanh TanhGrad Xdivy Xlogy ZerosLike "
    "Ndtri RsqrtGrad TruncateDiv TruncateMod Xlog1py"
)
_INTEGER = re.compile(r"-?\d+")


def _windows(call: Call, index: Index, extents: tuple[int, ...]) -> tuple[slice, ...]:
    """The slices of the spatial dimensions (channels last) that one output position sees.

    Padding as TensorFlow defines it: SAME puts `max((out - 1) * stride + window - in, 0) // 2` in front.
    """
    same, found, image = _is_same(call), [], call.shapes[0] or ()
    for dim, extent in enumerate(extents, 1):
        stride, step = _number(call, "strides", dim), _number(call, "dilations", dim)
        size, span = image[dim], (extent - 1) * step + 1
        before = max((call.out_shape[dim] - 1) * stride + span - size, 0) // 2 if same else 0
        first = index[dim] * stride - before
        found.append(slice(first % step if first < 0 else first, min(first + span, size), step))
    return tuple(found)


def _number(call: Call, name: str, dim: int) -> int:
    """The entry of a list attribute for a dimension; 1 where it is absent."""
    found = _INTEGER.findall(call.attributes.get(name, ""))
    return int(found[dim]) if dim < len(found) else 1


def _is_same(call: Call) -> bool:
    return "SAME" in call.attributes.get("padding", "VALID")


def _channels_last(call: Call) -> bool:
    return not call.attributes.get("data_format", "NHWC").startswith("NC") and call.shapes[0] is not None


def _convolution(call: Call, index: Index) -> Wanted:
    kernel = call.shapes[1]
    if not _channels_last(call) or kernel is None:
        return []
    spatial = _windows(call, index, kernel[:-2])
    everywhere = (slice(None),) * len(spatial)
    if call.op_type.startswith("Depthwise"):
        channel, copy = divmod(index[-1], kernel[-1])
        return [(0, (index[0], *spatial, channel)), (1, (*everywhere, channel, copy))]
    return [(0, (index[0], *spatial, slice(None))), (1, (*everywhere, slice(None), index[-1]))]


def _transposed(call: Call, index: Index) -> Wanted:
    """Conv2DBackpropInput (transposed convolution): the elements of input 2 that saw this position."""
    kernel, image = call.shapes[1], call.shapes[2]
    if call.attributes.get("data_format", "NHWC").startswith("NC") or kernel is None or image is None:
        return []
    spatial = []
    for dim, extent in enumerate(kernel[:-2], 1):
        stride = _number(call, "strides", dim)
        span = (extent - 1) * _number(call, "dilations", dim) + 1
        size = call.out_shape[dim]
        before = max((image[dim] - 1) * stride + span - size, 0) // 2 if _is_same(call) else 0
        last = (index[dim] + before) // stride
        first = -((span - 1 - index[dim] - before) // stride)
        spatial.append(slice(max(first, 0), min(last + 1, image[dim])))
    return [(2, (index[0], *spatial, slice(None)))]


def _pooling(call: Call, index: Index) -> Wanted:
    if not _channels_last(call):
        return []
    size = [int(n) for n in _INTEGER.findall(call.attributes.get("ksize", ""))]
    return [(0, (index[0], *_windows(call, index, tuple(size[1:-1])), index[-1]))]


MAPS: dict[str, Map] = {
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _matmul),
    **dict.fromkeys(("Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm"), _reduce),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _row),
    **dict.fromkeys(("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"), _cross_entropy),
    **dict.fromkeys(("Reshape", "ExpandDims", "Squeeze", "EnsureShape"), _reshape),
    **dict.fromkeys(("Pad", "PadV2"), _pad),
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), _batch_norm),
    **dict.fromkeys(("Cumsum", "Cumprod"), _cumulative),
    "BiasAdd": _bias,
    "BiasAddGrad": _bias_gradient,
    "Einsum": _einsum,
    "Transpose": _transpose,
    "Tile": _tile,
    "ConcatV2": _concat,
    "Pack": _pack,
    "Split": _split,
    "SplitV": _split,
    "Unpack": _unpack,
    "GatherV2": _gather,
    "ResourceGather": _gather,
    "Slice": _slice,
    "StridedSlice": _strided,
    "ReverseV2": _reverse,
    "Roll": _roll,
    **dict.fromkeys(("Conv2D", "Conv3D", "DepthwiseConv2dNative"), _convolution),
    **dict.fromkeys(("Conv2DBackpropInput", "Conv3DBackpropInputV2"), _transposed),
    **dict.fromkeys(("MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D"), _pooling),
}
