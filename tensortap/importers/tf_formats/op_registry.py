"""The outputs of TensorFlow's op types, from `ops.txt`, which tells them without TensorFlow.

A line is an op type and its outputs: `name:=dtype`, `name:attribute/default` (the attribute holds the type),
`name:count*…` (as many as the attribute says), `name:[attribute` (the attribute holds a list of types).
`tests/importers/test_op_outputs.py` compares it with TensorFlow and says how to write it anew.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from tensortap.tfproto.proto_classes import Message
from tensortap.tfproto.tensor_proto import data_type_name

OPS = Path(__file__).with_name("ops.txt")
MOST_OUTPUTS = 10_000  # of one node


class Output(NamedTuple):
    """One output argument of a node: its first slot, and the dtypes of its slots."""

    name: str
    slot: int
    dtypes: tuple[str, ...]


@cache
def _outputs() -> dict[str, tuple[tuple[str, str], ...]]:
    found = {}
    for line in OPS.read_text(encoding="utf-8").splitlines():
        op_type, *outputs = line.split()
        found[op_type] = tuple((name, kind) for name, _, kind in (text.partition(":") for text in outputs))
    return found


def outputs_of(node: Message) -> tuple[Output, ...] | None:
    """What a node puts out; None if its op type is not known here (a custom one)."""
    known = _outputs().get(node.op)
    if known is None:
        return None
    found, slot = [], 0
    for name, kind in known:
        dtypes = _dtypes(node, kind)
        found.append(Output(name, slot, dtypes))
        slot += len(dtypes)
    return tuple(found)


def _dtypes(node: Message, kind: str) -> tuple[str, ...]:
    if kind.startswith("["):
        types = node.attr[kind[1:]].list.type if kind[1:] in node.attr else ()
        return tuple(data_type_name(number) for number in types[:MOST_OUTPUTS])
    count, star, one = kind.rpartition("*")
    if one.startswith("="):
        dtype = one[1:]
    else:
        attribute, _, default = one.partition("/")
        dtype = data_type_name(node.attr[attribute].type) if attribute in node.attr else default or "unknown"
    times = node.attr[count].i if star and count in node.attr else 1
    return (dtype,) * max(0, min(times, MOST_OUTPUTS))
