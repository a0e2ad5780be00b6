"""Duplicates of nodes that TensorFlow's graph optimiser would merge with what follows, if nobody looked.

The optimiser turns `(x * 0.5) * 2` into `x * 1`, and chains of elementwise operations into one, as long as
nothing else uses what lies between; results then differ in the last bit. A tap is a use. So that it
changes nothing, it reads such a tensor off a duplicate of its node, and the original stays as it was. The
rules are those of `constant_folding.cc`, `arithmetic_optimizer.cc` and `remapper.cc` in
tensorflow/core/grappler/optimizers (2.21): they look at the number of uses, and twins are taken for the same
only if all their attributes are. `AddN` sums in the order of its inputs, but begins with the first one that
nothing else holds (core/kernels/aggregate_ops.cc).
"""

from __future__ import annotations

from functools import cached_property

import tensorflow as tf

from . import tf_private
from .closure import TracedFunction, callees
from .needed import live_nodes

_ATTRIBUTE = "_tensortap_duplicate"  # keeps the optimiser from taking the duplicate for the original
DUPLICATE = "/tensortap_duplicate"  # ends the name of each
_PASSES = ("arithmetic_optimization", "constant_folding", "remapping")

# The optimiser looks through these.
_ALIASES = frozenset({"Identity", "IdentityN", "Snapshot", "StopGradient", "PreventGradient"})
_VIEWS = _ALIASES | {"ExpandDims", "Reshape", "Squeeze"}  # they hand on the memory of their first input
_HELD_ANYWAY = frozenset({"Const", "ReadVariableOp"})

# Elementwise: merged with each other, and cheap to compute twice.
_NAMES = (
    "Abs Acos Acosh Add AddN AddV2 Asin Asinh Atan Atanh Cast Ceil Cos Cosh Div DivNoNan Elu Erf Erfc Exp"
    " Expm1 Floor Inv LeakyRelu Log Log1p Maximum Minimum Mul MulNoNan Neg Pow RealDiv Reciprocal Relu Relu6"
    " Rint Round Rsqrt Selu Sigmoid Sin Sinh Softplus Softsign Sqrt Square SquaredDifference Sub Tan"
    " Tanh"
)
_ELEMENTWISE = _ALIASES | frozenset(_NAMES.split())
_BINARY = "Add AddN AddV2 Div DivNoNan Maximum Minimum Mul MulNoNan Pow RealDiv SquaredDifference Sub"
_UNARY = _ELEMENTWISE - set(_BINARY.split())

# `activation(contraction + bias)` becomes one kernel, whose bits differ from those of its parts if the
# activation is one of these (Mul, Neg, AddV2: gelu; AddV2: a residual; Relu: only of NaN, of which the kernel
# makes 0, so that a tap would make NaN where training has none), or if the parts would be rounded to 16 bits
# each. A factor and a batch normalization with constant statistics are taken in as well.
_CONTRACTIONS = frozenset({"BatchMatMulV2", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "MatMul"})
_BIASES = frozenset({"Add", "AddV2", "BiasAdd"})
_OUTPUTS = {"Add": "z", "AddV2": "z", "BiasAdd": "output"}
_LOW_PRECISION = (tf.bfloat16.as_datatype_enum, tf.float16.as_datatype_enum)
_CLIPPING = frozenset({"Relu", "Relu6"})
_ACTIVATIONS = _CLIPPING | {"AddV2", "Elu", "Mul", "Neg", "Pow", "RealDiv", "Sigmoid", "Tanh"}

_LARGEST_CONSTANT = 64 << 10  # bytes; larger ones are no factors of a chain

# The optimiser computes these from static shapes; they are no uses then.
_OF_SHAPES = frozenset({"Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"})


class Duplicates:
    """What taps of one copy of a function read instead of tensors that would be merged.

    Args:
        function: the original; the number of uses is counted in it.
        definition: its copy, to which duplicates are added.
    """

    def __init__(self, function: TracedFunction, definition: tf_private.FunctionDef) -> None:
        self._function = function
        self._definition = definition
        self._made: dict[str, str] = {}
        # With a pass switched off, what the others do has other rules; taps in place are exact then.
        options = tf.config.optimizer.get_experimental_options()
        self._merging = all(options.get(name, True) for name in _PASSES)

    def readable(self, reference: str) -> str:
        """The tensor that a tap may read: `reference` itself (`node:argument:index`), or its duplicate."""
        if not self._merging:
            return reference
        waiting = [reference]  # no recursion: chains may be long
        while waiting:
            node = self._merged_node(waiting[-1])
            missing = [] if node is None or node.name in self._made else self._missing(node)
            waiting += missing
            if not missing:
                waiting.pop()
                if node is not None and node.name not in self._made:
                    self._duplicate(node)
        return self._readable_now(reference)

    def _missing(self, node: tf_private.NodeDef) -> list[str]:
        """Inputs of a node of which duplicates are to be made first."""
        merged = {source: self._merged_node(source) for source in node.input}
        return [source for source, at in merged.items() if at is not None and at.name not in self._made]

    def _readable_now(self, reference: str) -> str:
        node = self._merged_node(reference)
        return reference if node is None else self._made[node.name] + reference[len(node.name) :]

    def _duplicate(self, node: tf_private.NodeDef) -> None:
        duplicate = self._definition.node_def.add()
        duplicate.CopyFrom(node)
        duplicate.name = node.name + DUPLICATE
        duplicate.input[:] = [self._readable_now(source) for source in node.input]
        duplicate.attr[_ATTRIBUTE].b = True
        self._made[node.name] = str(duplicate.name)

    def _merged_node(self, reference: str) -> tf_private.NodeDef | None:
        """The node of a tensor that must not be read, because it would be merged."""
        node = None if reference.startswith("^") else self._nodes.get(reference.split(":")[0])
        if node is not None and node.name in self._made:
            return node
        return node if node is not None and self._is_merged(node, reference) else None

    def _is_merged(self, node: tf_private.NodeDef, reference: str) -> bool:
        """Whether another use of a tensor may change what its node is merged with."""
        if node.op == "Const":  # pushed along chains, unless they are used elsewhere
            return bool(node.ByteSize() <= _LARGEST_CONSTANT)
        if node.name not in self._live:  # it runs for taps only, and would use its inputs
            return not any(callees(node))
        if _is_frozen_normalization(node) or self._begins_sum(node, reference):
            return True
        all_uses = self._uses_of(reference)
        uses = [use for use in all_uses if use is not None]
        operations = {use.op for use in uses}
        # What an inner function returns may be used, or not: a forward function returns all for its gradient.
        returned = len(all_uses) - len(uses) if self._function.role == "root" else 0
        if node.op == "Softmax":  # and its logarithm, if nothing else uses it, become LogSoftmax
            return operations == {"Log"} and len(uses) + returned == 1
        if node.op in _ELEMENTWISE:
            if self._is_result_of_merge(node):
                return not returned and len(uses) == 1 and operations <= _UNARY
            return len(uses) + returned <= 1 and operations <= _ELEMENTWISE
        if returned or not uses:
            return False
        if node.op == "BiasAdd":
            return operations <= _ACTIVATIONS
        if node.op in _CONTRACTIONS and len(uses) == 1:
            return self._is_merged_contraction(node, uses[0])
        return False

    def _is_merged_contraction(self, node: tf_private.NodeDef, use: tf_private.NodeDef) -> bool:
        if use.op in _BIASES:
            rounds_once = node.attr["T"].type in _LOW_PRECISION
            return rounds_once or self._is_merged(use, f"{use.name}:{_OUTPUTS[use.op]}:0")
        return _is_frozen_normalization(use) or bool(use.op == "Mul")

    def _is_result_of_merge(self, node: tf_private.NodeDef) -> bool:
        """Whether a node is merged with those before it. What is merged may be read, and stays as it is."""
        if node.op == "Log":
            softmax, reference = self._producer(node.input[0])
            return softmax is not None and softmax.op == "Softmax" and self._is_merged(softmax, reference)
        return node.op in _CLIPPING and self._is_fused(node)

    def _is_fused(self, activation: tf_private.NodeDef) -> bool:
        """Whether an activation is computed in one kernel with the contraction and the bias before it."""
        bias, added = self._producer(activation.input[0])
        if bias is None or bias.op not in _BIASES or len(self._uses_of(added)) != 1:
            return False
        contraction, product = self._producer(bias.input[0])
        return (
            contraction is not None and contraction.op in _CONTRACTIONS and len(self._uses_of(product)) == 1
        )

    def _producer(self, reference: str) -> tuple[tf_private.NodeDef | None, str]:
        """The node that computes a tensor, through aliases, and the name of the tensor there."""
        node = self._nodes.get(reference.split(":")[0])
        while node is not None and node.op in _ALIASES and node.op != "IdentityN":
            reference = node.input[0]
            node = self._nodes.get(reference.split(":")[0])
        return node, reference

    def _begins_sum(self, node: tf_private.NodeDef, reference: str) -> bool:
        """Whether an AddN begins with this tensor, because nothing else holds it."""
        if any(callees(node)) or tf_private.is_stateful(node.op):
            return False
        user = self._only_user(reference)
        while user is not None and user.op in _VIEWS:
            reference = f"{user.name}:output:{list(user.input).index(reference)}"
            user = self._only_user(reference)
        if user is None or user.op != "AddN" or len(user.input) < 3:  # a + b == b + a
            return False
        summands = [source for source in user.input if not source.startswith("^")]
        return reference == next(filter(self._is_free, summands), None)

    def _is_free(self, reference: str) -> bool:
        """Whether the memory of a tensor belongs to its only user."""
        while self._only_user(reference) is not None:
            node = self._nodes.get(reference.split(":")[0])
            if node is None or node.op in _HELD_ANYWAY:
                return False
            if node.op not in _VIEWS:
                return True
            reference = node.input[int(reference.split(":")[2]) if node.op == "IdentityN" else 0]
        return False

    def _only_user(self, reference: str) -> tf_private.NodeDef | None:
        users = self._uses.get(reference, [])
        return users[0] if len(users) == 1 else None

    def _uses_of(self, reference: str) -> list[tf_private.NodeDef | None]:
        """The nodes that use a tensor, also through aliases; None where the function returns it."""
        found: list[tf_private.NodeDef | None] = []
        waiting, seen = [reference], {reference}
        while waiting:
            tensor = waiting.pop()
            for use in self._uses.get(tensor, ()):
                if use is None or use.op not in _ALIASES:
                    found.append(use)
                    continue
                handed_on = {f"{use.name}:output:{slot}" for slot, at in enumerate(use.input) if at == tensor}
                waiting += handed_on - seen
                seen |= handed_on
        return found

    @cached_property
    def _nodes(self) -> dict[str, tf_private.NodeDef]:
        return {node.name: node for node in self._function.definition.node_def}

    @cached_property
    def _uses(self) -> dict[str, list[tf_private.NodeDef | None]]:
        uses: dict[str, list[tf_private.NodeDef | None]] = {}
        for name in self._live:
            node = self._nodes[name]
            if node.op not in _OF_SHAPES:
                for source in node.input:
                    uses.setdefault(source, []).append(node)
        for source in self._function.definition.ret.values():
            uses.setdefault(source, []).append(None)
        return uses

    @cached_property
    def _live(self) -> dict[str, None]:
        """Names of the nodes that run: what is returned or has effects, and all that leads to it."""
        definition = self._function.definition
        return live_nodes(definition, definition.ret.values())


def _is_frozen_normalization(node: tf_private.NodeDef) -> bool:
    """Whether it is a batch normalization by constants, which is taken into a convolution before it."""
    return bool(node.op.startswith("FusedBatchNorm") and not node.attr["is_training"].b)
