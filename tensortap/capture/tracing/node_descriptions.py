"""Describes nodes with cryptic names: `rnn/bw/while/Exit_4` is the result of a loop."""

from __future__ import annotations

import re

from tensortap.core.names import short_function_name
from tensortap.tfproto.function_calls import Role

from .layer_map import forward_name

# Names that TensorFlow gives to loops, branches and calls; they do not help a reader.
_MACHINERY = re.compile(
    r"(?:.*_)?(?:while|cond|switch_case|indexed_case|StatefulPartitionedCall|PartitionedCall|body|Identity)(?:_\d+)?\Z"
)
_NAME_NUMBER = re.compile(r"_(\d+)\Z")

_OF_LOOPS = {
    "Enter": "input of the loop",
    "Merge": "loop variable {number} at the start",
    "Switch": "loop variable {number} entering the iteration, or leaving the loop",
    "NextIteration": "loop variable {number} for the next iteration",
    "Exit": "loop variable {number} after the last iteration",
    "LoopCond": "whether the loop continues",
}
_OF_BRANCHES = {
    "Merge": "the result of the branch that ran",
    "Switch": "a value entering the branch that runs",
}
_CALLS = {
    "While": "runs a loop; its outputs are the loop variables after the last iteration",
    "If": "runs one of two branches",
    "Case": "runs one of several branches",
}
_OUTSIDE = ("Enter", "RefEnter", "Exit", "RefExit")  # once for a loop
_KEPT = {
    "TensorListPushBack": "saves a value of this iteration for the backward pass",
    "TensorListPopBack": "loads the value saved by the same forward iteration",
    "StackPushV2": "saves a value of this iteration for the backward pass",
    "StackPopV2": "loads the value saved by the same forward iteration",
}
_ROLES: dict[Role, str] = {
    "body": "once per iteration of a loop",
    "cond": "loop condition, checked before each iteration and at the end",
    "then": "in the true branch",
    "else": "in the false branch",
    "branch": "in one of several branches",
}


def describe_node(
    name: str, op_type: str, *, layer: str = "", role: Role | None = None, calls: str = ""
) -> str:
    """Describes a node as `layer · role · iteration`; empty if the name is clear.

    Args:
        layer: path of the Keras layer; else the scope is said.
        role: the role of its function in the caller; None in a graph with loops of single ops, which only
            names identify.
        calls: the function that it calls.
    """
    forward = forward_name(name)
    job = _job(name, op_type.removeprefix("Ref").removeprefix("Stateless").removeprefix("Stateful"), calls)
    if forward and not job:
        job = f"backward pass of {forward.rpartition('/')[0] or forward}"
    when = _ROLES.get(role, "") if role is not None else _when_by_name(name, op_type)
    if not (job or when):
        return ""
    return " · ".join(part for part in (layer or _scope(forward or name), job, when) if part)


def _job(name: str, op_type: str, calls: str) -> str:
    if op_type == "PartitionedCall" and calls:
        return f"calls the function {short_function_name(calls)}"
    if op_type in _CALLS:
        return _CALLS[op_type]
    if op_type in _KEPT:
        return _KEPT[op_type]
    table = _OF_LOOPS if _in_loop(name) else _OF_BRANCHES
    found = _NAME_NUMBER.search(name)
    return table.get(op_type, "").format(number=found.group(1) if found else "0")


def _when_by_name(name: str, op_type: str) -> str:
    return _ROLES["body"] if _in_loop(name) and op_type not in _OUTSIDE else ""


def _in_loop(name: str) -> bool:
    """Whether the innermost control flow around a node of single ops is a loop."""
    pieces = [part for part in name.split("/")[:-1] if _MACHINERY.match(part)]
    return bool(pieces) and "while" in pieces[-1]


def _scope(name: str) -> str:
    """The scope without the names that TensorFlow gives to loops and calls."""
    return "/".join(part for part in name.split("/")[:-1] if not _MACHINERY.match(part))
