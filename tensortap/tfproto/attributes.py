"""Attributes of a node as short text, for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tensortap.core.errors import TensortapError
from tensortap.core.names import short_function_name
from tensortap.core.text import shortened

from .tensor_proto import proto_shape, tensor_array, tensorflow_type_name

_LONGEST = 200  # characters of one attribute; longer ones are cut, the GraphDef has them whole
_MAX_WRITTEN_ELEMENTS = 8  # elements of a constant that are written out

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


def attribute_texts(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Attribute name -> text of at most 200 characters, sorted by name, of AttrValue messages."""
    return {
        name: shortened(_text(attributes[name]), _LONGEST)
        for name in sorted(attributes)
        if name not in _HIDDEN
    }


def _text(value: Any) -> str:
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
            shown = ", ".join(shortened(_scalar_text(which, item), _LONGEST) for item in items[:_LONGEST])
            return f"[{shown}]"
    return "[]"


def _scalar_text(which: str, value: Any) -> str:
    if which == "s":
        return str(value.decode("utf-8", "replace"))
    if which == "b":
        return "true" if value else "false"
    if which == "type":
        return tensorflow_type_name(value)
    if which == "shape":
        return _shape_text(value)
    if which == "func":
        return short_function_name(value.name)
    if which == "tensor":
        return _tensor_text(value)
    return f"{value:.9g}" if which == "f" else str(value)


def _shape_text(proto: Any) -> str:
    shape = proto_shape(proto)
    return "<unknown>" if shape is None else str(shape)


def _tensor_text(proto: Any) -> str:
    head = f"{tensorflow_type_name(proto.dtype)}{_shape_text(proto.tensor_shape)}"
    shape = proto_shape(proto.tensor_shape)
    if shape is not None and math.prod(extent or 0 for extent in shape) > _MAX_WRITTEN_ELEMENTS:
        return head
    try:
        return f"{head} {tensor_array(proto).tolist()}"
    except TensortapError:  # variants and resources have no array
        return head
