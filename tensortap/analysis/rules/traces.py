"""Traces of a function: a function is traced again for inputs of other shapes; each step runs one trace."""

from __future__ import annotations

from ..model_graph.roles import Roles, TensorRole
from ..run_view.run_view import RunView

# Function, its weights, tensor name, op type, source lines: equal in all traces of a function. Two functions
# may share the name, as methods of two classes do, or also the lines, as those that one function makes.
FunctionTensor = tuple[str, frozenset[tuple[str, str]], str, str, str]


def function_tensor(view: RunView, tensor: TensorRole) -> FunctionTensor:
    """What a tensor has in common in all traces of its function."""
    function = tensor.graph.rpartition("-")[0] or tensor.graph  # a graph's id ends with a hash
    roles = view.roles(tensor.graph)
    weights, lines = view.cached(f"weights and lines of {tensor.graph}", lambda: _weights_and_lines(roles))
    return function, weights, tensor.name, tensor.op_type, lines.get(tensor.row, "")


def _weights_and_lines(roles: Roles) -> tuple[frozenset[tuple[str, str]], dict[int, str]]:
    """Path and shape of the weights that a graph reads, without the moving statistics, which only training
    updates; source lines by row."""
    graph = roles.graph
    paths = ((path, row) for path, rows in roles.reads.items() for row in rows)
    weights = {(path, graph.shape[row]) for path, row in paths if "moving_" not in path}
    texts = list(map(str, graph.about.get("stacks") or ()))
    stacks = [] if graph.table is None else graph.table.column("stack").to_pylist()
    return frozenset(weights), {row: texts[at] for row, at in enumerate(stacks) if 0 <= at < len(texts)}


def traces_of(view: RunView, tensor: TensorRole) -> list[TensorRole]:
    """A tensor in all traces of its function."""
    return [view.tensors[code] for code in codes_by_function(view)[function_tensor(view, tensor)]]


def codes_by_function(view: RunView) -> dict[FunctionTensor, list[int]]:
    """The codes of each tensor of a function, one a trace."""

    def find() -> dict[FunctionTensor, list[int]]:
        found: dict[FunctionTensor, list[int]] = {}
        for tensor in view.tensors:
            found.setdefault(function_tensor(view, tensor), []).append(tensor.code)
        return found

    return view.cached("codes by function", find)
