"""Which nodes, and which of their visits, are a step's forward pass: no gradient leads to them, nor anything
that the step wrote into a variable."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from tensortap.tfproto.function_calls import argument_inputs, callees

from .loaded_call import LoadedCall
from .node_selection import NodeKey

ReadShare = Callable[[str, Any], Fraction]
"""Of a function's op that reads a variable: which part of its visits, the first ones, found it unwritten."""
READ = "ReadVariableOp"
# What tf.GradientTape and tf.gradients put around all that they make. A scope of the user's own, like
# gradient_reversal/, is neither, nor is a function compute_gradients.
_GRADIENT_SCOPE = re.compile(r"^gradient_tape/|(^|/)gradients(_\d+)?/(grad_ys_|.+_grad/)")


class Dependence(NamedTuple):
    """Inputs from which a tensor is computed. `backward`: gradients. `share`: the part of its visits, the
    first ones, that came before anything was written into a variable on which it depends."""

    backward: bool = False
    share: Fraction = Fraction(1)

    def join(self, others: Iterable[Dependence]) -> Dependence:
        """Computed of all of these."""
        backward, share = self
        for other in others:
            backward, share = backward or other.backward, min(share, other.share)
        return Dependence(backward, share)


class ForwardPass:
    """Follows gradients and written variables along nodes, into functions and out of them, around loops.

    A function is backward where all nodes that call it are; the names of functions do not matter.
    """

    def __init__(self, call: LoadedCall, share_of: ReadShare) -> None:
        self._functions, self._share_of = call.recorded.functions, share_of
        self._ops = {name: list(each.operations.values()) for name, each in self._functions.items()}
        self._calls = {
            (name, node.name): [
                (callee.role, callee.function) for callee in callees(node) if callee.function in self._ops
            ]
            for name, each in self._functions.items()
            for node in each.definition.node_def
        }
        self._backward = self._backward_functions()
        self._outputs: dict[NodeKey, list[Dependence]] = {}
        self._arguments: dict[NodeKey, Dependence] = {}
        while self._pass():
            pass

    def of(self, key: NodeKey) -> Dependence:
        """All outputs of a node."""
        return Dependence().join(self._outputs.get(key, ()))

    def _pass(self) -> bool:
        """Looks at all nodes once, callers first; whether anything new was found."""
        before = dict(self._arguments), dict(self._outputs)
        for function, operations in self._ops.items():
            for operation in operations:
                key = function, operation.name
                if operation.name in self._functions[function].arguments:
                    self._outputs[key] = [self._arguments.get(key, Dependence())]
                    continue
                own = Dependence(
                    function in self._backward or _GRADIENT_SCOPE.search(operation.name) is not None
                )
                if operation.type == READ:
                    own = Dependence(own.backward, self._share_of(function, operation))
                read = [self._of_tensor(function, tensor) for tensor in operation.inputs]
                if self._calls.get(key):
                    self._outputs[key] = self._called(key, operation, own, read)
                else:
                    self._outputs[key] = [own.join(read)] * max(len(operation.outputs), 1)
        return before != (self._arguments, self._outputs)

    def _backward_functions(self) -> set[str]:
        """Functions that only nodes of a tape call."""
        reached = {next(iter(self._ops))}  # the root
        waiting = list(reached)
        while waiting:
            caller = waiting.pop()
            for (function, node), called in self._calls.items():
                if function == caller and _GRADIENT_SCOPE.search(node) is None:
                    found = {name for _, name in called} - reached
                    reached |= found
                    waiting += found
        return set(self._ops) - reached

    def _called(
        self, key: NodeKey, operation: Any, own: Dependence, read: list[Dependence]
    ) -> list[Dependence]:
        passed = argument_inputs(operation.type, read)
        given = [own] * len(operation.outputs)
        for role, function in self._calls[key]:
            if role != "cond":
                given = [a.join([b]) for a, b in zip(given, self._returned(function), strict=False)]
        is_loop = any(role == "body" for role, _ in self._calls[key])
        for _, function in self._calls[key]:
            arguments = list(self._functions[function].arguments)
            for number, (name, origin) in enumerate(zip(arguments, passed, strict=False)):
                carried = [given[number]] if is_loop else []
                known = self._arguments.get((function, name), Dependence())
                self._arguments[function, name] = known.join([origin, *carried])
        return given

    def _returned(self, function: str) -> list[Dependence]:
        found = []
        for text in self._functions[function].outputs:
            node, _, slot = text.rpartition(":")
            outputs = self._outputs.get((function, node), [])
            found.append(outputs[int(slot)] if int(slot) < len(outputs) else Dependence())
        return found

    def _of_tensor(self, function: str, tensor: Any) -> Dependence:
        outputs = self._outputs.get((function, tensor.op.name), [])
        return outputs[tensor.value_index] if tensor.value_index < len(outputs) else Dependence()
