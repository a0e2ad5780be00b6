"""What each tensor of a traced function is to the model: its kind, variable and layer."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensortap.tf.function_library import TracedFunction

from .candidate import Kind
from .layer_map import LayerMap, forward_name
from .layer_tracker import LayerTracker

_INPUT_OPS = frozenset({"IteratorGetNext", "OptionalGetValue"})
# Their second input is what a variable changes by. Kernels that do a whole optimizer step (ResourceApplyAdam)
# have no such tensor.
_UPDATING_OPS = frozenset({"AssignSubVariableOp", "AssignAddVariableOp"})
_SUMS = frozenset({"Add", "AddV2"})


class TensorRole(NamedTuple):
    """`kind` as in `Candidate`; the variable's path and the layer's, or empty."""

    kind: Kind
    variable: str
    layer: str


class TensorRoles:
    """Answers for the tensors of one function, from what was noted while it was traced."""

    def __init__(self, function: TracedFunction, layers: LayerMap, tracker: LayerTracker) -> None:
        self._function = function
        self._layers = layers
        self._tracker = tracker
        trace = self._trace = layers.traces[function.name]
        given = set(trace.gradients.values())
        # What a tape computed is a gradient only where no optimizer was given another one.
        derived = {tensor: path for tensor, path in trace.derived.items() if path not in given}
        self._gradients = derived | trace.gradients
        self._updates = {
            change.name: path
            for operation in function.operations.values()
            if (change := _change(operation)) is not None
            and (path := function.variables.get(operation.inputs[0].op.name, "")) in tracker.trained
        }

    def of(self, operation: Any, op_type: str, tensor: Any) -> TensorRole:
        """One output of an op."""
        name = tensor.name
        layer = self._layers.layer_of(self._function.name, operation.name)
        if name in self._gradients:
            return self._of_variable("gradient", self._gradients[name], layer)
        if name in self._trace.losses:
            return TensorRole("loss", "", self._trace.outputs.get(name, layer))
        if name in self._trace.outputs:
            return TensorRole("output", "", self._trace.outputs[name])
        if name in self._updates:
            return self._of_variable("update", self._updates[name], layer)
        variable = self._function.variable_of(operation)
        if op_type == "ReadVariableOp" and self._is_weight(operation, variable, layer):
            return TensorRole("weight", variable, layer)
        if op_type in _INPUT_OPS or (op_type == "_Arg" and self._function.role == "root"):
            return TensorRole("input", variable, layer)
        return TensorRole("", variable, layer)

    def _of_variable(self, kind: Kind, variable: str, layer: str) -> TensorRole:
        return TensorRole(kind, variable, self._tracker.owner_of(variable) or layer)

    def _is_weight(self, operation: Any, variable: str, layer: str) -> bool:
        """A layer reads it, or it belongs to no layer and is trained; not where a gradient needs it again."""
        if forward_name(operation.name):
            return False
        trained = variable in self._tracker.trained or variable in self._layers.asked
        return bool(layer) or (trained and not self._tracker.owner_of(variable))


def _change(operation: Any) -> Any:
    """The tensor that an op changes a variable by, or None: `x` also in `v.assign(v - x)`, which is what
    `v.assign_sub(x)` of a Keras variable does."""
    if operation.type in _UPDATING_OPS:
        return operation.inputs[1]
    new = operation.inputs[1].op if operation.type == "AssignVariableOp" else None
    if new is None or (new.type != "Sub" and new.type not in _SUMS):
        return None
    old, change = new.inputs
    if _reads(old, operation.inputs[0]):
        return change
    return old if new.type in _SUMS and _reads(change, operation.inputs[0]) else None


def _reads(tensor: Any, handle: Any) -> bool:
    return bool(tensor.op.type == "ReadVariableOp" and tensor.op.inputs[0].name == handle.name)
