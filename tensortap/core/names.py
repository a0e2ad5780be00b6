"""Names: tensors (`node:slot`), runs (paths below the log directory), workers (`host-pid-random`), functions.

Functions get short names, and their nodes names that are unique in the graph (FORMAT.md, "Graphs").
"""

from __future__ import annotations

import os
import re
import socket
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from .errors import InvalidNameError

EAGER = "eager"  # the graph of the ops that ran outside functions, and its one function
GRAPHS = "graphs"  # the folder of a run's graphs
MAX_RUN_DEPTH = 4  # folders of a run's name: maximum depth at which runs are searched
MAX_NAME = 4096  # a node name longer than this is cut by no known tool, but no real one comes near
_RUN_PART = re.compile(r"[^/\\\x00-\x1f\x7f]{1,200}\Z")
_WORKER = re.compile(r"[A-Za-z0-9_.]{1,64}-\d{1,10}-[0-9a-f]{8}\Z")


def tensor_name(node: str, slot: int) -> str:
    """`("dense/Relu", 0)` -> `"dense/Relu:0"`."""
    return f"{node}:{slot}"


def split_tensor_name(name: str) -> tuple[str, int]:
    """Splits `"dense/Relu:0"` into `("dense/Relu", 0)`; without a slot, the slot is 0.

    Any text has an answer: a dump that another program wrote may hold names that `parse_tensor_name` refuses.
    """
    node, colon, slot = name.rpartition(":")
    if colon and node and slot.isascii() and slot.isdigit() and len(slot) <= 9:
        return node, int(slot)
    return name, 0


def parse_tensor_name(name: str) -> tuple[str, int]:
    """As `split_tensor_name`, for a name that is about to be written.

    Raises:
        InvalidNameError: the name is not a text, is empty, too long, or contains NUL.
    """
    if not isinstance(name, str):
        raise InvalidNameError(f"{name!r} is not a tensor name.", "Use 'node' or 'node:slot'.")
    if not name or len(name) > MAX_NAME or "\x00" in name:
        raise InvalidNameError(
            f"{name[:80]!r} is not a tensor name.",
            f"Use 'node' or 'node:slot', at most {MAX_NAME} characters, no NUL.",
        )
    return split_tensor_name(name)


def check_run_name(name: str) -> str:
    """Returns `name` if it can be a path below a log directory where a run is found.

    Raises:
        InvalidNameError: a part is empty, starts with a dot, ends in a dot or blank, holds a control
        character or backslash, or is what a folder inside a run is called; or there are more than four.
    """
    parts = name.split("/")
    if len(parts) > MAX_RUN_DEPTH:
        raise InvalidNameError(
            f"The run name {name[:120]!r} has {len(parts)} folders.",
            f"Use at most {MAX_RUN_DEPTH}: deeper folders are not searched for runs.",
        )
    for part in parts:
        if is_inside_run(part):
            raise InvalidNameError(
                f"{part!r} is reserved for folders inside a run: {name[:120]!r} would not be found.",
                f"Use another name, e.g. {part + '_'!r}.",
            )
    for part in parts:
        if not _RUN_PART.match(part) or part.startswith(".") or part != part.strip() or part.endswith("."):
            raise InvalidNameError(
                f"{name[:120]!r} is not a run name.",
                "Use letters, digits, '-', '_', '.' and '/' between folders; no part may start with a dot.",
            )
    return name


def new_worker_name() -> str:
    """A name no other process uses: `<host>-<pid>-<8 hex digits>`."""
    host = re.sub(r"[^A-Za-z0-9_.]", "_", socket.gethostname())[:64] or "host"
    return f"{host}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def is_worker_name(name: str) -> bool:
    """Whether a directory of that name can be a worker's."""
    return _WORKER.match(name) is not None


def is_inside_run(name: str) -> bool:
    """Whether a directory of that name belongs to a run (graphs, a worker), and is never a run itself."""
    return name == GRAPHS or is_worker_name(name)


# How the path of a dynamic loss scale ends: of Keras 3, Keras 2, TensorFlow 1.
LOSS_SCALES = ("dynamic_scale", "loss_scale", "current_loss_scale")

# "__inference_train_step_1234" -> "train_step"; the number differs from process to process.
_CALLABLE = re.compile(r"__(?:inference|forward)_(__backward_)?(.+)_\d+\Z", re.DOTALL)
# "while_body_14_rewritten_grad_269" -> "while_body_grad"
_CONTROL_FLOW_NUMBER = re.compile(r"_\d+(?=_rewritten|_grad|\Z)")


class NamedFunction(Protocol):
    """A function as `unique_node_names` sees it: a FunctionDef message, its arguments, its first caller."""

    @property
    def name(self) -> str: ...
    @property
    def parent(self) -> str: ...
    @property
    def caller(self) -> str: ...
    @property
    def arguments(self) -> Iterable[str]: ...
    @property
    def definition(self) -> Any: ...


def short_function_name(runtime_name: str) -> str:
    """A function's name without the parts that TensorFlow adds to make it unique in the process."""
    match = _CALLABLE.match(runtime_name)
    if match is None:
        return _CONTROL_FLOW_NUMBER.sub("", runtime_name).replace("_rewritten", "") or runtime_name
    backward, name = match.groups()
    return re.sub(r"_\d+\Z", "", name) + "_backward" if backward else name


def short_function_names(runtime_names: Iterable[str]) -> dict[str, str]:
    """Runtime name -> short name, numbered where two functions share one."""
    short: dict[str, str] = {}
    numbers = UnusedNames()
    for name in runtime_names:
        short[name] = numbers.take(short_function_name(name))
    return short


class UnusedNames:
    """Returns each name once: `name`, then `name_1`, `name_2`, …"""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def take(self, name: str) -> str:
        """`name`, or the first unused `name_N`."""
        candidate, number = name, self._numbers.get(name, 0)
        while candidate in self._taken:
            number += 1
            candidate = f"{name}_{number}"
        self._numbers[name] = number
        self._taken.add(candidate)
        return candidate


def unique_node_names(functions: Mapping[str, NamedFunction]) -> dict[tuple[str, str], str]:
    """(function, op name or argument name) -> the node's name in the recorded graph.

    A name that an earlier function uses is prefixed by the unique name of the calling node (FORMAT.md,
    Graphs).
    """
    unique: dict[tuple[str, str], str] = {}
    numbers = UnusedNames()
    for function in functions.values():
        caller = unique.get((function.parent, function.caller), function.caller)
        names = [*function.arguments, *(node.name for node in function.definition.node_def)]
        for name in names:
            fresh = numbers.take(f"{caller}/{name}" if name in numbers else name)
            unique[function.name, name] = fresh
    return unique
