"""Where each node is drawn: scope paths, with function bodies below the node that calls them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

Functions = Mapping[str, Mapping[str, Any]]

MAX_DEPTH = 64  # functions within functions; deeper ones (which no program has) are drawn at the top
MAX_PREFIX = 4096  # characters

_NAMED_ROLES = ("body", "cond", "then", "else", "branch")


VARIABLES = "variables"


def display_paths(
    names: Sequence[str],
    function_of: Sequence[str],
    functions: Functions,
    rows: Mapping[str, int],
    variables: Collection[int] = (),
    known_names: Mapping[int, str] = MappingProxyType({}),
) -> list[str]:
    """The display path of each node, unique; it ends in the node's own label.

    - A function's nodes are drawn below its calling node: `while/body/add`, with the function's role between
      where the node calls several. Scopes that such a node's name shares with the calling node's are not
      repeated, unless two nodes would get the same path.
    - Wrappers are transparent: see `transparent_functions`.
    - The handles of variables that a function is passed are drawn in a separate scope: a train step has
      hundreds of them, which would hide the model.
    - A node with a known name has this one instead of its own label.

    Args:
        names, function_of: name and function of each node.
        functions: `caller` and `role` of each function.
        rows: row of each node name.
        variables: rows of the arguments that are variables' handles.
        known_names: row -> better name, of arguments that TensorFlow calls `unknown` or `…_resource`.
    """
    prefixes = _Prefixes(names, function_of, functions, rows)
    known = {
        function: (prefixes.of(function), prefixes.caller(function))
        for function in dict.fromkeys(function_of)
    }
    taken: set[str] = set()
    paths = []
    for row, (name, function) in enumerate(zip(names, function_of, strict=True)):
        prefix, caller = known[function]
        if row in variables:
            prefix = f"{prefix}{VARIABLES}/"
        label = known_names.get(row)
        path = prefix + (_local(name, caller) if label is None else label)
        if path in taken:
            scopes = name[: name.rfind("/") + 1]
            path = prefix + (name if label is None else scopes + label)
        taken.add(path)
        paths.append(path)
    return paths if len(taken) == len(paths) else _unique(paths)


def transparent_functions(
    function_of: Sequence[str], functions: Functions, rows: Mapping[str, int]
) -> set[str]:
    """Functions that are drawn as if they were their caller's.

    TensorFlow and Keras wrap a train step in functions that do little but call the next one. So: starting at
    the only root, while a function calls one other only, as a plain call, and has no more nodes than all that
    it leads to, look through it.
    """
    sizes = Counter(function_of)
    called: dict[str, list[str]] = defaultdict(list)
    roots = {name for name in sizes if _caller(functions, name, rows) is None}
    for name in functions:
        row = _caller(functions, name, rows)
        if row is not None:
            called[function_of[row]].append(name)
    found: set[str] = set()
    outer, rest = next(iter(roots), ""), sum(sizes.values())
    while len(roots) == 1 and len(called[outer]) == 1:
        inner = called[outer][0]
        rest -= sizes[outer]
        if functions[inner]["role"] != "call" or sizes[outer] > rest or inner in found:
            break
        found.add(inner)
        outer = inner
    return found


def _caller(functions: Functions, name: str, rows: Mapping[str, int]) -> int | None:
    """Row of the node that calls a function; None for a root."""
    function = functions.get(name)
    return None if function is None or function["caller"] is None else rows.get(function["caller"])


class _Prefixes:
    """The path below which each function is drawn, ending in a slash (empty for the top)."""

    def __init__(
        self, names: Sequence[str], function_of: Sequence[str], functions: Functions, rows: Mapping[str, int]
    ) -> None:
        transparent = transparent_functions(function_of, functions, rows)
        callers = {name: _caller(functions, name, rows) for name in functions if name not in transparent}
        self._callers = {name: row for name, row in callers.items() if row is not None}
        self._names, self._function_of = names, function_of
        self._segments = _role_segments(functions)
        self._known: dict[str, str] = {}

    def caller(self, function: str) -> str:
        """The name of the node below which a function is drawn; empty for the top."""
        row = self._callers.get(function)
        return "" if row is None else self._names[row]

    def of(self, function: str, depth: int = 0) -> str:
        """The path prefix of a function's nodes."""
        row = self._callers.get(function)
        if row is None or depth > MAX_DEPTH:
            return ""
        if function not in self._known:
            outer = self._function_of[row]
            label = _local(self._names[row], self.caller(outer))
            prefix = f"{self.of(outer, depth + 1)}{label}/{self._segments[function]}"
            self._known[function] = prefix if len(prefix) <= MAX_PREFIX else ""
        return self._known[function]


def _local(name: str, caller: str) -> str:
    """A node's name without the scopes that it shares with its calling node's; the last part always stays."""
    if not caller:
        return name
    *scopes, label = name.split("/")
    shared = 0
    for mine, outer in zip(scopes, caller.split("/"), strict=False):
        if mine != outer:
            break
        shared += 1
    return "/".join((*scopes[shared:], label)) or name


def _role_segments(functions: Functions) -> dict[str, str]:
    """`body/`, `then/`, `branch_2/` … where one node calls several functions, empty for a plain call."""
    callers = Counter(function["caller"] for function in functions.values())
    taken: Counter[tuple[str | None, str]] = Counter()
    segments = {}
    for name, function in functions.items():
        key = (function["caller"], function["role"])
        taken[key] += 1
        several = callers[function["caller"]] > 1
        label = function["role"] + (f"_{taken[key]}" if taken[key] > 1 else "")
        segments[name] = f"{label}/" if several or function["role"] in _NAMED_ROLES else ""
    return segments


def _unique(paths: list[str]) -> list[str]:
    """Numbers the second and later nodes of one path: `a/b (2)`."""
    taken = set(paths)
    if len(taken) == len(paths):
        return paths
    count: Counter[str] = Counter()
    unique = []
    for path in paths:
        count[path] += 1
        candidate = path
        while count[path] > 1 and candidate in taken:
            candidate = f"{path} ({count[path]})"
            count[path] += candidate in taken
        taken.add(candidate)
        unique.append(candidate)
    return unique
