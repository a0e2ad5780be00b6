"""The Keras layer of every node of a closure: from the notes of its trace, else from names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from tensortap.tf.function_library import TracedFunction

from .layer_tracker import LayerTracker
from .trace_notes import Trace, VariableNotes

# `gradient_tape/<forward op>/<op>` inside one function, `gradients/<forward op>_grad/<op>` in one of its own.
_IN_TAPE = re.compile(r"(?:.*/)?gradient_tape/(.+)\Z", re.DOTALL)
_IN_GRADIENTS = re.compile(r"gradients/(.+?)_grad(?:/.*)?\Z", re.DOTALL)
_NAME_NUMBER = re.compile(r"_\d+\Z")


class LayerMap:
    """Finds the layer of a node. `asked`: paths of the variables with requested gradients; `watched`: paths
    of trainable variables recorded by tapes with requested gradients.

    Args:
        functions: the closure, breadth first.
        tracker: has noted layers while the functions were traced (or has not, if it was installed later).
        known: layer paths of the model, for functions that were traced before the tap was there.
    """

    def __init__(
        self, functions: Mapping[str, TracedFunction], tracker: LayerTracker, known: Collection[str] = ()
    ) -> None:
        self.traces: dict[str, Trace] = {}
        self._tracker = tracker
        self._known = {tuple(path.split("/")): path for path in known}
        self._known_starts = {path[:end] for path in self._known for end in range(1, len(path) + 1)}
        self._scopes: dict[str, str] = {}
        self._layers: dict[tuple[str, str], str] = {}
        for function in functions.values():
            names = [node.name for node in function.definition.node_def]
            trace = self.traces[function.name] = tracker.traces.of_function(function.name, names)
            for node, layer in trace.layers.items():
                for scope in scopes_of(node):
                    self._scopes.setdefault(scope, layer)
                    break
        traces = self.traces.values()
        self.asked: set[str] = set().union(*(trace.asked for trace in traces))
        self.watched: set[str] = set().union(*(trace.watched for trace in traces))
        for function in functions.values():
            self._map_function(function, self.traces[function.name])

    def kind_of_variable(self, path: str) -> str:
        """The kind of a variable, see `VariableNotes.kind_of`."""
        return self._tracker.variables.kind_of(path)

    def training_marks(self, path: str) -> dict[str, str]:
        """Attributes of a weight: whether its gradient is requested, and why not."""
        return training_marks(path, self.asked, self.watched, self._tracker.variables)

    def layer_of(self, function: str, node: str) -> str:
        """The path of the layer, or empty."""
        return self._layers.get((function, node), "")

    def _map_function(self, function: TracedFunction, trace: Trace) -> None:
        inherited = self.layer_of(function.parent, function.caller)
        for node in function.definition.node_def:
            layer = trace.layers.get(node.name) or self._by_name(trace, node.name) or inherited
            self._layers[function.name, node.name] = layer
            for source in node.input:
                if source in function.arguments and layer:
                    self._layers.setdefault((function.name, source), layer)

    def _by_name(self, trace: Trace, node: str) -> str:
        forward = forward_name(node)
        if forward:
            for prefix in (forward, *scopes_of(forward)):
                layer = (
                    trace.layers.get(prefix)
                    or self._scopes.get(prefix)
                    or self._tracker.traces.layer_of(prefix)
                )
                if layer:
                    return layer
        return self._by_known_path(forward or node)

    def _by_known_path(self, node: str) -> str:
        """`cnn_1/conv_2/MatMul` is in layer `cnn/conv`: TensorFlow numbers scopes that it meets again."""
        best = ""
        parts: tuple[str, ...] = ()
        for part in node.split("/")[:-1]:
            for choice in (part, _NAME_NUMBER.sub("", part)):
                if (*parts, choice) in self._known_starts:
                    parts = (*parts, choice)
                    best = self._known.get(parts, best)
                    break
            else:
                break
        return best


def training_marks(
    path: str, asked: Collection[str], watched: Collection[str], known: VariableNotes
) -> dict[str, str]:
    """Attributes of a weight (FORMAT.md), by the paths of variables with requested gradients, and of those
    that a tape records."""
    if known.is_constant(path) and path not in asked:
        return {"tensortap.trainable": "false", "tensortap.constant": "true"}
    if not asked:
        return {}
    texts = {"tensortap.trainable": "true" if path in asked else "false"}
    return texts | ({"tensortap.left_out": "true"} if path in watched and path not in asked else {})


def forward_name(node: str) -> str:
    """The forward op that a node of the backward pass belongs to (or one inside it), else empty."""
    match = _IN_TAPE.match(node) or _IN_GRADIENTS.match(node)
    return match.group(1) if match else ""


def scopes_of(name: str) -> Iterator[str]:
    """`a/b/c` -> `a/b`, `a`."""
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name
