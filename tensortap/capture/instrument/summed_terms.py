"""Terms of long sums that the program passes from function to function: a tap must not hold them.

`AddN` sums three or more terms in an order that begins with the first term that nothing else holds
(core/kernels/aggregate_ops.cc). What a loop, a branch or an inner function returns may be such a term in the
caller: the gradient of a weight that is used in a loop and outside of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property

from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction
from tensortap.tfproto.function_calls import argument_inputs, callees

from .grappler_merges import VIEWS, Merges, Uses

SUMS = frozenset({"Add", "AddN", "AddV2"})


class SummedTerms:
    """Finds these terms in the functions of one root.

    Args:
        functions: all that the root calls, by name.
    """

    def __init__(self, functions: Mapping[str, TracedFunction]) -> None:
        self._functions = functions
        self._arguments: dict[str, frozenset[int]] = {}

    def of(self, function: TracedFunction, returned: Collection[int] = ()) -> FunctionTerms:
        """The terms that a function has.

        Args:
            returned: positions of its results (of a loop's condition: of its arguments) that its callers sum.
        """
        return FunctionTerms(self, function, frozenset(returned))

    def arguments(self, name: str) -> frozenset[int]:
        """Positions of the arguments of a function that it, or one that it calls, sums."""
        if name not in self._arguments:
            function = self._functions.get(name)
            self._arguments[name] = frozenset()
            if function is not None:
                terms = self.of(function)
                summed = terms.local | terms.passed
                found = [number for number, each in enumerate(function.arguments) if each in summed]
                self._arguments[name] = frozenset(found) - terms.invariants
        return self._arguments[name]


class FunctionTerms:
    """The terms of long sums that one function has: the tensors behind views of them.

    Attributes:
        uses: of the tensors of the function.
    """

    def __init__(self, terms: SummedTerms, function: TracedFunction, returned: frozenset[int]) -> None:
        self.uses = Uses(function)
        self._terms, self._function, self._summed_results = terms, function, returned

    @cached_property
    def local(self) -> frozenset[str]:
        """Those that the function sums itself."""
        merges = Merges(self.uses)
        sums = [node for node in self._running() if node.op in SUMS]
        long = [node for node in sums if len(_data(node)) > 2 or merges.is_part_of_sum(node)]
        return self._behind_views(source for node in long for source in _data(node))

    @cached_property
    def passed(self) -> frozenset[str]:
        """Those that it returns or passes on, for other functions to sum."""
        return self._behind_views([*self._returned(), *self._given()])

    @cached_property
    def invariants(self) -> frozenset[int]:
        """Positions of the variables of a loop that its body does not change: the loop holds them anyway."""
        if self._function.role != "body":
            return frozenset()
        signature, ret = self._function.definition.signature, self._function.definition.ret
        pairs = zip(signature.input_arg, signature.output_arg, strict=False)
        return frozenset(at for at, (given, result) in enumerate(pairs) if ret[result.name] == given.name)

    def outputs(self, node: internals.NodeDef) -> frozenset[int]:
        """Positions of the results of a call that are terms."""
        parts = [reference.split(":") for reference in self.local | self.passed]
        return frozenset(int(part[2]) for part in parts if part[0] == node.name and len(part) == 3)

    def _returned(self) -> Iterator[str]:
        definition = self._function.definition
        results = [definition.ret[result.name] for result in definition.signature.output_arg]
        if self._function.role == "cond":
            results = list(self._function.arguments)
        yield from (results[number] for number in self._summed_results if number < len(results))

    def _given(self) -> Iterator[str]:
        for node in self._running():
            inputs = argument_inputs(node.op, _data(node))
            for callee in callees(node):
                yield from (inputs[at] for at in self._terms.arguments(callee.function) if at < len(inputs))

    def _running(self) -> Iterator[internals.NodeDef]:
        return (self.uses.nodes[name] for name in self.uses.live)

    def _behind_views(self, references: Iterable[str]) -> frozenset[str]:
        return frozenset(self.uses.source_of(reference, VIEWS) for reference in references)


def _data(node: internals.NodeDef) -> list[str]:
    return [source for source in node.input if not source.startswith("^")]
