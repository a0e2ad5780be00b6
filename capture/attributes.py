"""Attributes of a node as short text, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from .naming import short_function_name
from .tf_private import AttrValue

_LONGEST = 200  # characters of one attribute; longer ones are cut, the GraphDef has them whole
_FEW = 8  # elements of a constant that are written out

# Internal bookkeeping of TensorFlow; some carry numbers that differ from process to process.
_HIDDEN = frozenset(
    {
        "_output_shapes",
        "_gradient_op_type",
        "_construction_context",
        "_num_original_outputs",
        "_user_specified_name",
        "_handle_dtypes",
        "_handle_shapes",
    }
)


def attribute_texts(attributes: Mapping[str, AttrValue]) -> dict[str, str]:
    """Attribute name -> text of at most 200 characters, sorted by name."""
    return {name: _cut(_text(attributes[name])) for name in sorted(attributes) if name not in _HIDDEN}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _text(value: AttrValue) -> str:
    which = value.WhichOneof("value")
    if which is None:
        return ""
    if which == "list":
        return _list_text(value.list)
    return _scalar_text(which, getattr(value, which))


def _list_text(values: Any) -> str:
    for which in ("s", "i", "f", "b", "type", "shape", "tensor", "func"):
        items = getattr(values, which)
        if items:
            shown = ", ".join(_cut(_scalar_text(which, item)) for item in items[:_LONGEST])
            return f"[{shown}]"
    return "[]"


def _scalar_text(which: str, value: Any) -> str:
    if which == "s":
        return str(value.decode("utf-8", "replace"))
    if which == "b":
        return "true" if value else "false"
    if which == "type":
        return str(tf.dtypes.as_dtype(value).name)
    if which == "shape":
        return str(tf.TensorShape(value))
    if which == "func":
        return short_function_name(value.name)
    if which == "tensor":
        return _tensor_text(value)
    return f"{value:.9g}" if which == "f" else str(value)


def _tensor_text(proto: Any) -> str:
    shape = tf.TensorShape(proto.tensor_shape)
    head = f"{tf.dtypes.as_dtype(proto.dtype).name}{shape}"
    if (shape.num_elements() or 0) > _FEW:
        return head
    try:
        return f"{head} {tf.make_ndarray(proto).tolist()}"
    except (TypeError, ValueError):  # variants and resources have no array
        return head
