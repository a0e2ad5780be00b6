"""Sets of op types that several analyses share, and helpers that read attributes: elements of a Const,
flags."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


def ops(text: str) -> frozenset[str]:
    """`"Log Exp"` -> `{"Log", "Exp"}`."""
    return frozenset(text.split())


LOOPS = ops("While StatelessWhile")
FUNCTION_CALLS = ops("PartitionedCall StatefulPartitionedCall")
CALLS = LOOPS | FUNCTION_CALLS | ops("If StatelessIf Case StatelessCase")  # of functions of the graph
DATASET_READS = ops("IteratorGetNext OptionalGetValue")
INPUTS = DATASET_READS | ops("_Arg Placeholder PlaceholderWithDefault")
VARIABLE_READS = ops("ReadVariableOp ResourceGather ResourceGatherNd VariableV2 Variable")
LOOKUPS = ops("Gather GatherV2 GatherNd ResourceGather ResourceGatherNd")
MATRIX_PRODUCTS = ops("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum")
CONVOLUTIONS = ops("Conv2D Conv3D DepthwiseConv2dNative")
ADDITIVE_REDUCTIONS = ops("Sum Mean BiasAddGrad AddN SegmentSum UnsortedSegmentSum")
BATCH_NORMS = ops("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3")
SELECTS = ops("Select SelectV2")
REPLACING = SELECTS | ops("MulNoNan")  # a NaN in the branch that is not taken does not pass
SHAPES = ops("Shape ShapeN Size Rank ZerosLike OnesLike")  # nothing of the numbers passes

# `float32(2, 3) [[0.0, …]]`: dtype, shape, elements where they are written out.
CONST = re.compile(r"(?P<dtype>[a-z]+[0-9a-z_]*)(?P<shape>\([0-9, ]*\))?(?: (?P<value>.+))?\Z")
_WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def nested_list(text: str) -> Any:
    """A nested list of numbers in Python syntax, with `nan` and `inf`; None if truncated or not a list."""
    try:
        return json.loads(re.sub(r"(?<![\w.])-?(nan|inf)\b", lambda word: _WORDS[word.group()], text))
    except (ValueError, RecursionError, KeyError):
        return None


def is_true(attributes: Mapping[str, str], name: str) -> bool:
    """A boolean attribute; false if it is absent."""
    return attributes.get(name, "false").lower() == "true"


def constant_text(attributes: Mapping[str, str]) -> str | None:
    """The elements of a Const as text, if the graph writes them out."""
    match = CONST.match(attributes.get("value", ""))
    return None if match is None else match["value"]


def constant_number(attributes: Mapping[str, str]) -> float | None:
    """The number in a scalar Const, if the graph stores it."""
    try:
        return float(constant_text(attributes) or "")
    except ValueError:
        return None
