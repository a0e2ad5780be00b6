"""A cursor on the nodes of a recorded call: forward, back, to a node, out of a scope, to the next NaN."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence

from tensortap.core.errors import NotFoundError, SelectionError

from ..protocol import TensorFacts
from .stepper_nodes import StepperNode, nonfinite_origins


class Stepper:
    """A position among the nodes. Moves return the node that they lead to.

    Args:
        nodes: in topological order, at least one; see `stepper_nodes`.
    """

    def __init__(self, nodes: Sequence[StepperNode]) -> None:
        if not nodes:
            raise SelectionError("The recorded step has no nodes.")
        self.nodes = nodes
        self.at = 0
        self._rows = {node.name: row for row, node in enumerate(nodes)}

    @property
    def node(self) -> StepperNode:
        """The node under the cursor."""
        return self.nodes[self.at]

    def move(self, count: int) -> StepperNode:
        """Forward, or back if `count` is negative; stops at the ends."""
        self.at = max(0, min(len(self.nodes) - 1, self.at + count))
        return self.node

    def to(self, name: str) -> StepperNode:
        """Moves to a node, or to the node that outputs a tensor. A suffix or part of the name is enough if it
        is unique.

        Raises:
            NotFoundError: the node does not exist; the hint has similar names.
            SelectionError: several fit; the hint names them.
        """
        self.at = self._row(name)
        return self.node

    def out(self) -> StepperNode:
        """Move to the next node outside the current scope, or to the last node."""
        scope = self.node.scope
        if scope:
            return self._next(lambda node: not node.name.startswith(f"{scope}/"), fallback=True)
        return self.move(len(self.nodes))

    def next_nonfinite(self, facts: Mapping[str, TensorFacts], *, back: bool = False) -> StepperNode:
        """Moves to the next node that outputs NaN or infinity.

        Raises:
            NotFoundError: there is none that way.
        """

        def bad(node: StepperNode) -> bool:
            known = (facts[name] for name in node.outputs if name in facts)
            return any(each.nan or each.inf for each in known)

        try:
            return self._next(bad, back=back)
        except NotFoundError:
            where = "before" if back else "after"
            raise NotFoundError(
                f"No node {where} this one outputs NaN or Inf.", "Search in the other direction."
            ) from None

    def next_origin(self, facts: Mapping[str, TensorFacts], *, back: bool = False) -> StepperNode:
        """To the next node that makes a NaN or an infinity, see `nonfinite_origins`.

        Raises:
            NotFoundError: there is none that way.
        """
        origins = set(nonfinite_origins(self.nodes, facts))
        try:
            return self._next(lambda node: node.name in origins, back=back)
        except NotFoundError:
            where = "before" if back else "after"
            raise NotFoundError(
                f"No node {where} this one creates NaN or Inf.",
                "Use 'nonfinite' to stop at nodes that propagate them, 'back' to search backwards.",
            ) from None

    def next_of(self, tensors: Collection[str], *, back: bool = False) -> StepperNode:
        """Moves to the next node that outputs one of these tensors.

        Raises:
            NotFoundError: there is none that way.
        """
        wanted = set(tensors)
        return self._next(lambda node: not wanted.isdisjoint(node.outputs), back=back)

    def find(self, text: str) -> list[StepperNode]:
        """The nodes with a text in their name or op type."""
        return [node for node in self.nodes if text in node.name or text == node.op_type]

    def _row(self, name: str) -> int:
        for known in (name, name.rpartition(":")[0]):
            if known in self._rows:
                return self._rows[known]
        node = name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() else name
        ends = [each for each in self._rows if each.endswith(f"/{node}")]
        found = ends or [each for each in self._rows if node in each]
        if len(found) == 1:
            return self._rows[found[0]]
        if found:
            shown = ", ".join(found[:8])
            raise SelectionError(f"{len(found)} nodes match {node!r}.", f"Be more specific: {shown}.")
        near = ", ".join(difflib.get_close_matches(node, list(self._rows), 3, 0.4))
        raise NotFoundError(f"No node {node!r}.", f"Similar names: {near}." if near else "")

    def _next(self, fits: object, *, back: bool = False, fallback: bool = False) -> StepperNode:
        assert callable(fits)
        rows = range(self.at - 1, -1, -1) if back else range(self.at + 1, len(self.nodes))
        row = next((row for row in rows if fits(self.nodes[row])), None)
        if row is None:
            if fallback:
                return self.move(len(self.nodes))
            raise NotFoundError("No such node in that direction.")
        self.at = row
        return self.node
