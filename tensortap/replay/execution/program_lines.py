"""The lines of the user's program that made the nodes of a recorded graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensortap.core.records import Frame, Graph


class ProgramLines:
    """Finds source lines by node; without a graph, none."""

    def __init__(self, graph: Graph | None) -> None:
        self._stacks: Mapping[str, int] = {node.name: node.stack for node in graph.nodes} if graph else {}
        self._graph = graph
        self._texts = {
            name: text.splitlines() for name, text in (graph.sources.items() if graph is not None else ())
        }

    def of(self, node: str) -> dict[str, Any]:
        """`file`, `line` (from 1; 0 if unknown), `function` and `text` of the innermost line of the user's
        that led to a node."""
        frame = self._frame(node)
        if frame is None:
            return {"file": "", "line": 0, "function": "", "text": ""}
        file, line, function = frame
        texts = self._texts.get(file, ())
        text = texts[line - 1].strip() if 0 < line <= len(texts) else ""
        return {"file": file, "line": line, "function": function, "text": text[:200]}

    def text_of(self, node: str) -> str:
        """`file:line  text` of that line; empty if it is unknown."""
        found = self.of(node)
        return f"{found['file']}:{found['line']}  {found['text']}" if found["line"] else ""

    def _frame(self, node: str) -> Frame | None:
        number = self._stacks.get(node, -1)
        if self._graph is None or not 0 <= number < len(self._graph.stacks):
            return None
        stack = self._graph.stacks[number]
        own = [frame for frame in stack if frame[0] in self._texts]
        return own[-1] if own else (stack[-1] if stack else None)
