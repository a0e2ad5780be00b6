"""Expressions that change a tensor (`clip(x, -1, 1)`): a small part of Python's grammar, walked as a tree and
never evaluated as code."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.core.errors import InvalidValueError, NotFoundError, SelectionError

from ..locate import locate_beside, open_recording
from .expression_grammar import CONSTANTS, HINT, STEP, parsed, parts_of
from .loaded_call import LoadedCall

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
    ast.Mod: lambda a, b: a % b,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: tf.equal(a, b),
    ast.NotEq: lambda a, b: tf.not_equal(a, b),
}


def _through(x: Any, dtype: str) -> Any:
    """Rounded to another dtype, and back."""
    return tf.cast(tf.cast(x, tf.as_dtype(dtype)), x.dtype)


def _put(x: Any, index: int | tuple[int, ...], value: Any) -> Any:
    place = [index] if isinstance(index, int) else list(index)
    shape = x.shape.as_list() if x.shape.rank is not None else None
    if shape is not None and len(place) != len(shape):
        given = ", ".join(map(str, place))
        raise ValueError(f"an element of a tensor of shape {shape} needs {len(shape)} indices, not ({given})")
    return tf.tensor_scatter_nd_update(x, [place], [tf.cast(value, x.dtype)])


def _where(condition: Any, then: Any, otherwise: Any) -> Any:
    dtype = next((each.dtype for each in (then, otherwise) if tf.is_tensor(each)), None)
    then, otherwise = (tf.convert_to_tensor(each, dtype) for each in (then, otherwise))
    return tf.where(condition, then, otherwise)


def _nan_to_num(x: Any, nan: float = 0.0) -> Any:
    """NaN to a number, infinities to the largest ones of the dtype."""
    finite = tf.where(tf.math.is_nan(x), tf.cast(nan, x.dtype), x)
    return tf.clip_by_value(finite, x.dtype.min, x.dtype.max)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": tf.abs,
    "cast": _through,
    "ceil": tf.math.ceil,
    "clip": tf.clip_by_value,
    "exp": tf.exp,
    "floor": tf.floor,
    "full_like": lambda x, value: tf.fill(tf.shape(x), tf.cast(value, x.dtype)),
    "isfinite": tf.math.is_finite,
    "isinf": tf.math.is_inf,
    "isnan": tf.math.is_nan,
    "log": tf.math.log,
    "max": tf.reduce_max,
    "maximum": tf.maximum,
    "mean": tf.reduce_mean,
    "min": tf.reduce_min,
    "minimum": tf.minimum,
    "nan_to_num": _nan_to_num,
    "ones_like": tf.ones_like,
    "put": _put,
    "round": tf.round,
    "sign": tf.sign,
    "sqrt": tf.sqrt,
    "std": tf.math.reduce_std,
    "sum": tf.reduce_sum,
    "tanh": tf.tanh,
    "where": _where,
    "zeros_like": tf.zeros_like,
}


ValueAtStep = Callable[[int, str], Any]
"""(step, run or empty) -> the value of the same tensor there, an array."""


def parse_changes(text: str, value_at_step: ValueAtStep | None = None) -> Callable[[Any], Any]:
    """Parses several expressions separated by `;`, each applied to the result of the previous one.

    Raises:
        SelectionError: one of them cannot be parsed, or there are more than `MAX_PARTS`.
    """
    changes = [parse_change(part, value_at_step) for part in parts_of(text)]
    return lambda x: functools.reduce(lambda value, change: change(value), changes, x)


def parse_change(text: str, value_at_step: ValueAtStep | None = None) -> Callable[[Any], Any]:
    """Parse an expression in a tensor `x`: a function of a `tf.Tensor`.

    Numbers take the tensor's dtype; `cast(x, 'float16')` rounds through another dtype and back;
    `put(x, (0, 3), 1.5)` sets one element; a single number fills the tensor.

    Raises:
        SelectionError: it cannot be parsed, or uses a name that is unknown.
    """
    tree = parsed(text)

    def change(x: Any) -> Any:
        found = _value(tree, x, value_at_step)
        return found if tf.is_tensor(found) else tf.fill(tf.shape(x), tf.cast(found, x.dtype))

    return change


def _value(node: ast.AST, x: Any, value_at_step: ValueAtStep | None) -> Any:
    def value(part: ast.AST) -> Any:
        return _value(part, x, value_at_step)

    if isinstance(node, ast.Name):
        return x if node.id == "x" else CONSTANTS[node.id]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple):
        return tuple(map(value, node.elts))
    if isinstance(node, ast.UnaryOp):
        return -value(node.operand)
    if isinstance(node, ast.BinOp):
        return _binary(node.op, value(node.left), value(node.right))
    if isinstance(node, ast.Compare):
        return _COMPARISONS[type(node.ops[0])](value(node.left), value(node.comparators[0]))
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    arguments = [value(each) for each in node.args]
    if node.func.id == STEP:
        return _at_step(x, arguments, value_at_step)
    return FUNCTIONS[node.func.id](*arguments)


def _binary(operator: ast.operator, left: Any, right: Any) -> Any:
    """Of tensors and numbers. Texts and tuples could be multiplied, integers raised, beyond all memory."""
    if not all(tf.is_tensor(each) or isinstance(each, int | float) for each in (left, right)):
        raise SelectionError("Expressions can only use tensors and numbers.", HINT)
    if not tf.is_tensor(left) and not tf.is_tensor(right):
        left, right = float(left), float(right)
    try:
        return _BINARY[type(operator)](left, right)
    except (OverflowError, ZeroDivisionError) as error:
        raise SelectionError(f"A number in the expression cannot be computed: {error}.", HINT) from error


def _at_step(x: Any, arguments: list[Any], value_at_step: ValueAtStep | None) -> Any:
    step, run = arguments[0] if arguments else None, arguments[1] if len(arguments) == 2 else ""
    if not isinstance(step, int) or not isinstance(run, str) or not 1 <= len(arguments) <= 2:
        raise SelectionError("'step' takes a step and optionally a run.", "Write step(100).")
    if value_at_step is None:
        raise SelectionError("'step' is not available for a bundle.", "Replay a run instead.")
    return tf.constant(value_at_step(step, run), x.dtype)


def value_at_step(source: Path, tensor: str) -> ValueAtStep:
    """The value of a tensor in other recordings, of the run of `source` or of one beside it.

    The returned function raises NotFoundError without that recording or value, and InvalidValueError if the
    tensor has several: in a loop, one value would be used for all visits.
    """

    def value(step: int, run: str) -> np.ndarray[Any, Any]:
        recording = open_recording(locate_beside(source, step, run))
        with tf.init_scope(), LoadedCall(recording) as call:  # out of the function that is being traced
            again = call.run(lambda candidate: candidate.name == tensor)
        if not again.tensors:
            raise NotFoundError(f"{tensor!r} has no value at step {step}.", "Choose another step.")
        if len(again.tensors) > 1:
            raise InvalidValueError(
                f"{tensor!r} is in a loop: it has {len(again.tensors)} values at step {step}.",
                "Choose a tensor that is computed once per step.",
            )
        return again.tensors[0][2]

    return value
