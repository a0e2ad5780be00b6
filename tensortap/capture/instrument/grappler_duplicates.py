"""Duplicates of nodes that TensorFlow's graph optimizer would merge with their consumers without a tap.

The optimizer turns `(x * 0.5) * 2` into `x * 1`, and chains of elementwise operations into one, as long as
nothing else uses the tensors between them; results then differ in the last bit. A tap is a use. So that it
changes nothing, it reads such a tensor off a duplicate of its node, and the original stays as it was. The
rules are those of `constant_folding.cc`, `arithmetic_optimizer.cc` and `remapper.cc` in
tensorflow/core/grappler/optimizers (2.21): they look at the number of uses, and twins are taken for the same
only if all their attributes are. `AddN` sums in the order of its inputs' names (utils/canonicalizer.cc), but
begins with the first one that nothing else holds (core/kernels/aggregate_ops.cc).
"""

from __future__ import annotations

from functools import cached_property

import tensorflow as tf

from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction
from tensortap.tfproto.function_calls import LOOPS, callees

from .grappler_merges import ACTIVATIONS, CONTRACTIONS, ELEMENTWISE, OF_SHAPES, Merges
from .summed_terms import SummedTerms

_ATTRIBUTE = "_tensortap_duplicate"  # keeps the optimizer from taking the duplicate for the original
DUPLICATE = "/tensortap_duplicate"  # ends the name of each
MERGING_PASSES = ("arithmetic_optimization", "constant_folding", "remapping")

_HELD_ANYWAY = frozenset({"Const", "ReadVariableOp"})

# `activation(contraction + bias)` becomes one kernel, whose bits differ from those of its parts if the
# activation is one of these (Mul, Neg, AddV2: gelu; AddV2: a residual; Relu: only of NaN, of which the kernel
# makes 0, so that a tap would make NaN where training has none), or if the parts would be rounded to 16 bits
# each. A factor and a batch normalization with constant statistics are taken in as well.
_BIASES = frozenset({"Add", "AddV2", "BiasAdd"})
_OUTPUTS = {"Add": "z", "AddV2": "z", "BiasAdd": "output"}
_LOW_PRECISION = (tf.bfloat16.as_datatype_enum, tf.float16.as_datatype_enum)
_CLIPPING = frozenset({"Relu", "Relu6"})
_ACTIVATIONS = _CLIPPING | ACTIVATIONS
_BINARY = "Add AddN AddV2 Div DivNoNan Maximum Minimum Mul MulNoNan Pow RealDiv SquaredDifference Sub"
_UNARY = ELEMENTWISE - set(_BINARY.split())

# A constant that the optimizer cannot compute with. What it computes loses the attribute, and may replace
# equal constants of the program by its own name, by which `AddN` orders its terms.
_UNFOLDED_CONSTANT = "HostConst"

_LARGEST_CONSTANT = 64 << 10  # bytes; larger ones are not factors of a chain


class Duplicates:
    """Duplicates that the taps of one copy read instead of tensors that would be merged.

    Args:
        function: the original; the number of uses is counted in it.
        definition: its copy, to which duplicates are added.
        terms: of long sums, in the original; also an attribute.
    """

    def __init__(
        self, function: TracedFunction, definition: internals.FunctionDef, terms: SummedTerms
    ) -> None:
        self._function = function
        self.terms, self._uses = terms, terms.uses
        self._merges = Merges(self._uses)
        self._definition = definition
        self._made: dict[str, str] = {}
        self._merged: dict[str, bool] = {}  # results
        # With a pass switched off, what the others do has other rules; taps in place are exact then.
        options = tf.config.optimizer.get_experimental_options()
        self._merging = all(options.get(name, True) for name in MERGING_PASSES)

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

    def disturbs_sum(self, reference: str) -> bool:
        """Whether a tap on a tensor may change the order of a sum, since that tensor cannot be duplicated.

        `AddN` begins with the first term that nothing else holds. What a call returns or a function is given
        is such a term. Other nodes read it, too, but are done by then; duplicates of them may not be.
        """
        waiting, seen = [reference], {reference}
        while waiting:
            tensor = waiting.pop()
            if self._fixed_terms & self.terms.behind([tensor], looped=True):
                return True
            node = self._uses.node_of(tensor)
            if node is not None and not _is_repeatable(node) and self._is_term_of_long_sum(tensor):
                return True
            node = self._merged_node(tensor)
            fresh = set() if node is None else {*node.input} - seen
            seen |= fresh
            waiting += fresh
        return False

    @cached_property
    def _fixed_terms(self) -> set[str]:
        """Terms of long sums that no duplicate computes again: results of calls, draws, arguments."""
        return {term for term in self._released_terms if not self._is_computed(term)}

    def terms_given_to(self, node: internals.NodeDef) -> frozenset[int]:
        """Positions of the arguments of a call that are terms of long sums."""
        return self.terms.given_to(node, self._released_terms)

    @cached_property
    def _released_terms(self) -> frozenset[str]:
        """Terms of long sums that nothing else holds when they are summed."""
        terms = (self.terms.local - self._uses.invariants) | self.terms.returned | self.terms.given
        return frozenset(term for term in terms if not self._is_held_anyway(term))

    def _is_held_anyway(self, reference: str) -> bool:
        node = self._uses.node_of(reference)
        return self._uses.is_root if node is None else node.op in _HELD_ANYWAY

    def _is_computed(self, reference: str) -> bool:
        """Whether a duplicate of its node computes a tensor again."""
        node = self._uses.node_of(reference)
        return not (
            node is None or node.op in _HELD_ANYWAY or _is_call(node) or internals.is_stateful(node.op)
        )

    def _missing(self, node: internals.NodeDef) -> list[str]:
        """Inputs of a node that must be duplicated first."""
        merged = {source: self._merged_node(source) for source in node.input}
        return [source for source, at in merged.items() if at is not None and at.name not in self._made]

    def _readable_now(self, reference: str) -> str:
        node = self._merged_node(reference)
        return reference if node is None else self._made[node.name] + reference[len(node.name) :]

    def _duplicate(self, node: internals.NodeDef) -> None:
        duplicate = self._definition.node_def.add()
        duplicate.CopyFrom(node)
        duplicate.name = node.name + DUPLICATE
        duplicate.input[:] = [self._readable_now(source) for source in node.input]
        if node.op == "Const":
            duplicate.op = _UNFOLDED_CONSTANT
        if node.op == "BiasAddGrad":
            self._sum_instead(duplicate, self._function.operations[node.name].inputs[0].shape.rank)
        duplicate.attr[_ATTRIBUTE].b = True
        self._made[node.name] = str(duplicate.name)

    def _sum_instead(self, duplicate: internals.NodeDef, rank: int | None) -> None:
        """Turns a `BiasAddGrad` into the sum that it is.

        oneDNN computes `Conv2DBackpropFilter` and the first `BiasAddGrad` of the same gradient in one kernel,
        with other bits (core/common_runtime/mkl_layout_pass.cc). The duplicate must not be that one.
        """
        if rank is None:
            return
        channels = 1 if duplicate.attr["data_format"].s == b"NCHW" else rank - 1
        axes = self._definition.node_def.add(
            name=f"{duplicate.name[: -len(DUPLICATE)]}/axes{DUPLICATE}", op="Const"
        )
        axes.attr["dtype"].type = tf.int32.as_datatype_enum
        others = [axis for axis in range(rank) if axis != channels]
        axes.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(others, tf.int32))
        element_type = duplicate.attr["T"].type
        duplicate.op = "Sum"
        duplicate.input.append(f"{axes.name}:output:0")
        duplicate.attr.clear()
        duplicate.attr["T"].type = element_type
        duplicate.attr["Tidx"].type = tf.int32.as_datatype_enum
        duplicate.attr["keep_dims"].b = False

    def _merged_node(self, reference: str) -> internals.NodeDef | None:
        """The node of a tensor that must not be read, because it would be merged."""
        node = self._uses.node_of(reference)
        if node is not None and node.name in self._made:
            return node
        return node if node is not None and self._is_merged(node, reference) else None

    def _is_merged(self, node: internals.NodeDef, reference: str) -> bool:
        """Whether another use of a tensor may change how its node is merged."""
        if reference not in self._merged:
            self._merged[reference] = self._would_merge(node, reference)
        return self._merged[reference]

    def _would_merge(self, node: internals.NodeDef, reference: str) -> bool:
        """`_is_merged`, found out."""
        if node.op == "Const":  # pushed along chains, unless they are used elsewhere
            return bool(node.ByteSize() <= _LARGEST_CONSTANT)
        if node.name not in self._uses.live:  # it runs for taps only, and would use its inputs
            return not _is_call(node)
        if _is_frozen_normalization(node) or self._is_term_of_long_sum(reference):
            return _is_repeatable(node)
        if node.op in OF_SHAPES:  # the optimizer may find that nothing needs it; a tap does
            return any(self._merged_node(source) is not None for source in node.input)
        all_uses = self._uses.uses_of(reference)
        # x * x becomes square(x), and twins become one.
        uses = list({self._uses.number_of(use.name): use for use in all_uses if use is not None}.values())
        operations = {use.op for use in uses}
        # What an inner function returns may be used, or not: a forward function returns all for its gradient.
        returned = all_uses.count(None) if self._uses.is_root else 0
        if node.op == "Softmax":  # and its logarithm, if nothing else uses it, become LogSoftmax
            return operations == {"Log"} and len(uses) + returned == 1
        if node.op in ELEMENTWISE or self._uses.is_alias(node):
            if self._is_result_of_merge(node):
                return not returned and len(uses) == 1 and operations <= _UNARY
            return len(uses) + returned <= 1 and all(
                use.op in ELEMENTWISE and self._merges.are_merged(node, use) for use in uses
            )
        if returned or not uses:
            return False
        if node.op == "BiasAdd":
            return operations <= _ACTIVATIONS
        return node.op in CONTRACTIONS and len(uses) == 1 and self._is_merged_contraction(node, uses[0])

    def _is_merged_contraction(self, node: internals.NodeDef, use: internals.NodeDef) -> bool:
        if use.op in _BIASES:
            rounds_once = node.attr["T"].type in _LOW_PRECISION
            return rounds_once or self._is_merged(use, f"{use.name}:{_OUTPUTS[use.op]}:0")
        return _is_frozen_normalization(use) or bool(use.op == "Mul")

    def _is_result_of_merge(self, node: internals.NodeDef) -> bool:
        """Whether a node is merged with earlier ones. The merged nodes may be read without a change."""
        if node.op == "Log":
            softmax, reference = self._producer(node.input[0])
            return softmax is not None and softmax.op == "Softmax" and self._is_merged(softmax, reference)
        return node.op in _CLIPPING and self._is_fused(node)

    def _is_fused(self, activation: internals.NodeDef) -> bool:
        """Whether an activation is computed in one kernel with the contraction and the bias before it."""
        bias, added = self._producer(activation.input[0])
        if bias is None or bias.op not in _BIASES or len(self._uses.uses_of(added)) != 1:
            return False
        contraction, product = self._producer(bias.input[0])
        return (
            contraction is not None
            and contraction.op in CONTRACTIONS
            and len(self._uses.uses_of(product)) == 1
        )

    def _producer(self, reference: str) -> tuple[internals.NodeDef | None, str]:
        """The node that computes a tensor, through aliases, and the name of the tensor there."""
        node = self._uses.node_of(reference)
        while node is not None and self._uses.is_alias(node) and node.op != "IdentityN":
            reference = node.input[0]
            node = self._uses.node_of(reference)
        return node, reference

    def _is_term_of_long_sum(self, reference: str) -> bool:
        """Whether a sum of three or more terms may begin with this tensor, unless a tap holds it; or with one
        that is computed alike, of which the optimizer makes one."""
        sources = filter(self._is_computed, self.terms.behind([reference], looped=True))
        return any(self._uses.number_of(source) in self._term_numbers for source in sources)

    @cached_property
    def _term_numbers(self) -> set[tuple[object, ...]]:
        return {self._uses.number_of(term) for term in self.terms.local | self.terms.returned}


def _is_frozen_normalization(node: internals.NodeDef) -> bool:
    """Whether it is a batch normalization with constants, which is folded into the preceding convolution."""
    return bool(node.op.startswith("FusedBatchNorm") and not node.attr["is_training"].b)


def _is_repeatable(node: internals.NodeDef) -> bool:
    """Whether a node may run twice: the second time has no effects and takes no loop's time."""
    return not _is_call(node) or not (internals.is_stateful(node.op) or node.op in LOOPS)


def _is_call(node: internals.NodeDef) -> bool:
    return any(callees(node))
