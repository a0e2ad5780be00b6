"""Everything about one node: attributes, inputs, outputs and their consumers, where it was created."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensortap.core.errors import NotFoundError
from tensortap.core.names import tensor_name
from tensortap.core.text import did_you_mean

from ..graph.edges import RETURNED, parse_input
from ..graph.graph_index import GraphIndex, forward_node, parse_attributes, shape_text
from ..run_index import RunIndex
from .source_lines import source_lines

_MAX_SLOTS = 10_000  # more outputs than any op has: a made-up slot number must not make a long list


@dataclass(frozen=True, slots=True)
class InputDetail:
    """One input: the tensor, and facts about the node that outputs it (empty without that node)."""

    tensor: str
    node: str
    slot: int
    op_type: str
    dtype: str
    shape: str


@dataclass(frozen=True, slots=True)
class OutputDetail:
    """One output slot: how many snapshots of it there are, how many with a value, and which nodes take it."""

    tensor: str
    slot: int
    dtype: str
    shape: str
    snapshots: int
    kept: int
    consumers: list[str]


@dataclass(frozen=True, slots=True)
class FrameDetail:
    """One stack frame; `text` is the source line if the dump embeds the file."""

    file: str
    line: int
    function: str
    text: str | None


@dataclass(frozen=True, slots=True)
class CallDetail:
    """A function that the node calls."""

    function: str
    role: str


@dataclass(frozen=True, slots=True)
class NodeDetail:
    """One node of a graph. `forward`: the forward node of a gradient's. `way`: see `GraphOverview`."""

    name: str
    path: str
    graph: str
    way: str
    op_type: str
    device: str
    function: str
    layer: str
    attributes: dict[str, str]
    inputs: list[InputDetail]
    control_inputs: list[str]
    outputs: list[OutputDetail]
    stack: list[FrameDetail]
    calls: list[CallDetail]
    forward: str | None


def node_detail(run: RunIndex, node: str, *, graph: str | None = None) -> NodeDetail:
    """Looks a node up.

    Args:
        graph: which graph's node; by default that of the first graph (most snapshots first) that holds it.

    Raises:
        NotFoundError: no graph holds such a node.
    """
    index = run.graph(graph) if graph is not None else find_graph(run, node)
    row = index.row(node)
    inputs = index.cell("inputs", row) or []
    return NodeDetail(
        name=node,
        path=index.paths[row],
        graph=index.id,
        way=index.way,
        op_type=index.op_type[row],
        device=index.device[row],
        function=index.function[row],
        layer=index.layer[row],
        attributes=parse_attributes(index.cell("attributes", row)),
        inputs=[_input(index, text) for text in inputs if not text.startswith("^")],
        control_inputs=[text[1:] for text in inputs if text.startswith("^")],
        outputs=_outputs(run, index, row),
        stack=_stack(index, row),
        calls=[CallDetail(name, f.role) for name, f in index.functions.items() if f.caller == node],
        forward=forward_node(node, index.rows),
    )


def source_line(run: RunIndex, node: str, graph: str) -> FrameDetail | None:
    """The innermost line of user code that made a node."""
    stack = node_detail(run, node, graph=graph).stack
    return stack[-1] if stack else None


def find_graph(run: RunIndex, node: str) -> GraphIndex:
    """The first graph with a node.

    Raises:
        NotFoundError: none does.
    """
    names: list[str] = []
    for overview in run.graphs:
        graph = run.graph(overview.id)  # one by one: not all graphs of a run are held in memory
        if node in graph.rows:
            return graph
        names += graph.names
    raise NotFoundError(
        f"No graph has a node {node[:200]!r}.",
        did_you_mean(node, names, "List the graphs with 'tensortap info RUN'."),
    )


def _input(graph: GraphIndex, text: str) -> InputDetail:
    row, slot, _ = parse_input(text, graph.rows)
    if row < 0:
        return InputDetail(text, text.rpartition(":")[0] or text, slot, "", "", "")
    dtype, shape = _slot(graph, row, slot)
    node = graph.names[row]
    return InputDetail(tensor_name(node, slot), node, slot, graph.op_type[row], dtype, shape)


def _slot(graph: GraphIndex, row: int, slot: int) -> tuple[str, str]:
    texts = graph.slot_texts(row)
    dtype, shape = texts[slot] if slot < len(texts) else ("", "")
    return dtype, shape_text(shape)


def _outputs(run: RunIndex, graph: GraphIndex, row: int) -> list[OutputDetail]:
    edges, node = graph.edges, graph.names[row]
    leaving = np.flatnonzero((edges.source == row) & (edges.control == 0) & (edges.input != RETURNED))
    consumers: dict[int, dict[str, None]] = {}
    for slot, target in zip(edges.slot[leaving].tolist(), edges.target[leaving].tolist(), strict=True):
        consumers.setdefault(slot, {})[graph.names[target]] = None
    captured = run.captured_slots(graph.id, node)
    count = max(int(graph.slots[row]), *(slot + 1 for slot in (*consumers, *captured)), 0)
    outputs, texts = [], graph.slot_texts(row)
    for slot in range(count) if count <= _MAX_SLOTS else sorted({*consumers, *captured}):
        dtype, shape = texts[slot] if slot < len(texts) else ("", "")
        snapshots, kept = captured.get(slot, (0, 0))
        outputs.append(
            OutputDetail(
                *(tensor_name(node, slot), slot, dtype, shape_text(shape)),
                *(snapshots, kept, list(consumers.get(slot, ()))),
            )
        )
    return outputs


def _stack(graph: GraphIndex, row: int) -> list[FrameDetail]:
    stacks = graph.about.get("stacks", [])
    number = graph.cell("stack", row)
    frames = stacks[number] if number is not None and 0 <= number < len(stacks) else []
    sources = graph.about.get("sources", {})
    lines = {file: source_lines(sources.get(file)) for file in {frame[0] for frame in frames}}
    return [
        FrameDetail(
            file, line, function, lines[file][line - 1].strip() if 0 < line <= len(lines[file]) else None
        )
        for file, line, function in frames
    ]
