"""Terms of long sums that the program passes from function to function: a tap must not hold them.

`AddN` sums three or more terms in an order that begins with the first term that nothing else holds
(core/kernels/aggregate_ops.cc). What a loop, a branch or an inner function returns may be such a term in the
caller: the gradient of a weight that is used inside and outside a loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction

from .grappler_merges import VIEWS, Merges, Uses

_SUMS = frozenset({"Add", "AddN", "AddV2"})


class SummedTerms:
    """The terms of long sums that one function has: the tensors behind views of them.

    Args:
        summed: positions of its results (of a loop's condition: of its arguments) that its callers sum.

    Attributes:
        uses: of the tensors of the function.
    """

    def __init__(self, function: TracedFunction, summed: frozenset[int] = frozenset()) -> None:
        self.uses = Uses(function)
        self._function, self._summed = function, summed

    @cached_property
    def local(self) -> frozenset[str]:
        """Those that the function sums itself."""
        merges = Merges(self.uses)
        sums = [self.uses.nodes[name] for name in self.uses.live if self.uses.nodes[name].op in _SUMS]
        long = [node for node in sums if len(_data(node)) > 2 or merges.is_part_of_sum(node)]
        return self._behind_views(source for node in long for source in _data(node))

    @cached_property
    def returned(self) -> frozenset[str]:
        """Those that its callers sum."""
        definition = self._function.definition
        results = [definition.ret[result.name] for result in definition.signature.output_arg]
        if self._function.role == "cond":
            results = list(self._function.arguments)
        return self._behind_views(results[number] for number in self._summed if number < len(results))

    @cached_property
    def invariants(self) -> frozenset[str]:
        """Arguments of a loop's body that it does not change: the loop holds them anyway."""
        if self._function.role != "body":
            return frozenset()
        signature, ret = self._function.definition.signature, self._function.definition.ret
        pairs = zip(signature.input_arg, signature.output_arg, strict=False)
        return frozenset(str(given.name) for given, result in pairs if ret[result.name] == given.name)

    def results(self, node: internals.NodeDef) -> frozenset[int]:
        """Positions of the results of a call that are terms."""
        parts = [reference.split(":") for reference in self.local | self.returned]
        return frozenset(int(part[2]) for part in parts if part[0] == node.name and len(part) == 3)

    def _behind_views(self, references: Iterable[str]) -> frozenset[str]:
        return frozenset(self.uses.source_of(reference, VIEWS) for reference in references)


def _data(node: internals.NodeDef) -> list[str]:
    return [source for source in node.input if not source.startswith("^")]
