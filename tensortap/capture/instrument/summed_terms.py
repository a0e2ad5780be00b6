"""Terms of long sums: a tap must not hold them.

`AddN` sums three or more terms in an order that begins with the first term that nothing else holds
(core/kernels/aggregate_ops.cc). A term may come out of a chain of nodes that only pass memory on, or that the
optimizer removes since they change nothing (a gradient is reduced along the axes of a broadcast, of which
there may be none), and out of loops, branches and inner functions, or be summed in those.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction
from tensortap.tfproto.function_calls import LOOPS, argument_inputs, callees

from .grappler_merges import ELEMENTWISE, INVERSES, REDUCTIONS, VIEWS, Merges, Uses

_SUMS = frozenset({"Add", "AddN", "AddV2"})

_NAMES = (
    "Bitcast CheckNumerics CheckNumericsV2 DebugIdentityV2 EnsureShape Enter Exit NextIteration"
    " PlaceholderWithDefault Slice Split SplitV StridedSlice Switch Unpack"
)
# They forward the memory of an input, or a part of it: of the first one but for `Split`.
_PASSING = VIEWS | set(_NAMES.split())
# The optimizer removes these where they change nothing; then they do not change the number of elements.
_OF_FIRST = REDUCTIONS | {"BroadcastTo", "MirrorPad", "Pad", "PadV2", "ReverseV2", "Tile", "Transpose"}
_OF_ANY = frozenset({"Cast", "ConcatV2", "Merge", "Pack"})


class SummedTerms:
    """The terms of long sums that one function has, with all tensors that may turn out to be one.

    Args:
        calls: what the functions that it calls do with their arguments.
        summed: positions of its results (of a loop's condition: of its arguments) that its callers sum.
        given: positions of its arguments that are terms of its callers.

    Attributes:
        uses: of the tensors of the function.
    """

    def __init__(
        self,
        function: TracedFunction,
        calls: SummingCalls,
        summed: frozenset[int] = frozenset(),
        given: frozenset[int] = frozenset(),
    ) -> None:
        self.uses = Uses(function)
        self._merges = Merges(self.uses)
        self._function, self._calls, self._summed, self._given = function, calls, summed, given
        self._arguments: dict[int, frozenset[int]] = {}  # by result: each caller asks, at each level of loops

    def for_callers(self, summed: frozenset[int], given: frozenset[int]) -> SummedTerms:
        """The same function, called by others that sum these results, and arguments that they give."""
        terms = SummedTerms(self._function, self._calls, summed, given)
        vars(terms).update(uses=self.uses, _merges=self._merges, local=self.local, _arguments=self._arguments)
        return terms

    @property
    def is_body(self) -> bool:
        """Whether the function is a loop's body."""
        return self._function.role == "body"

    @cached_property
    def local(self) -> frozenset[str]:
        """Those that the function and its callees sum."""
        nodes = [self.uses.nodes[name] for name in self.uses.live]
        adding = (node for node in nodes if node.op in _SUMS and not self._merges.adds_nothing(node))
        sums = {node.name: node for node in adding}
        long = {
            name for name, node in sums.items() if len(_data(node)) > 2 or self._merges.is_part_of_sum(node)
        }
        for name, node in sums.items():  # the optimizer joins sums of sums
            joined = {reference.split(":")[0] for reference in self.behind(_data(node))} & sums.keys()
            long |= {*joined, name} if joined else set()
        terms = [source for name in long for source in _data(sums[name])]
        for node in nodes:
            terms += [_data(node)[at] for at in self._calls.summed_inputs(node)]
        return self.behind(terms)

    @cached_property
    def returned(self) -> frozenset[str]:
        """Those that its callers sum."""
        results = self._results
        if self._function.role == "cond":
            results = list(self._function.arguments)
        return self.behind(results[number] for number in self._summed if number < len(results))

    @cached_property
    def given(self) -> frozenset[str]:
        """Arguments that its callers sum, and release before that: it must not hold them longer."""
        return frozenset(name for at, name in enumerate(self._function.arguments) if at in self._given)

    @cached_property
    def summed_arguments(self) -> frozenset[int]:
        """Positions of the arguments that the function and its callees sum."""
        return self._positions(self.local - self.uses.invariants)

    @cached_property
    def sums_arguments(self) -> bool:
        """Whether the function or its callees sum arguments, also those that a loop does not change."""
        return bool(self._positions(self.local))

    def arguments_of(self, result: int) -> frozenset[int]:
        """Positions of the arguments that a result may be."""
        if result not in self._arguments:
            found = self.behind(self._results[result : result + 1])
            self._arguments[result] = self._positions(found)
        return self._arguments[result]

    def results(self, node: internals.NodeDef) -> frozenset[int]:
        """Positions of the results of a call that are terms, there or in the next iteration of a loop."""
        parts = [reference.split(":") for reference in self.local | self.returned]
        found = frozenset(int(part[2]) for part in parts if part[0] == node.name and len(part) == 3)
        return self._calls.summed_variables(node, found) if node.op in LOOPS else found

    def behind(self, references: Iterable[str], *, looped: bool = False) -> frozenset[str]:
        """Tensors, with those whose memory they may have; `looped`: if each loop has an iteration."""
        waiting, seen = list(references), set[str]()
        while waiting:
            reference = waiting.pop()
            if reference not in seen:
                seen.add(reference)
                waiting += self._sources(reference, looped)
        return frozenset(seen)

    def given_to(self, node: internals.NodeDef, terms: frozenset[str]) -> frozenset[int]:
        """Positions of the arguments that a call is given, and that may have the memory of `terms`."""
        sources = argument_inputs(node.op, _data(node))
        found = {at for at, source in enumerate(sources) if terms & self.behind([source], looped=True)}
        return self._calls.passed_on(node, found) if node.op in LOOPS else frozenset(found)

    @property
    def _results(self) -> list[str]:
        definition = self._function.definition
        return [definition.ret[result.name] for result in definition.signature.output_arg]

    def _positions(self, references: frozenset[str]) -> frozenset[int]:
        names = enumerate(self._function.arguments)
        return frozenset(position for position, name in names if name in references)

    def _sources(self, reference: str, looped: bool) -> list[str]:
        """The inputs of a tensor's node that it may be."""
        node = self.uses.node_of(reference)
        if node is None:
            return []
        inputs, slot = _data(node), int(reference.split(":")[-1])
        if any(callees(node)):
            return [inputs[at] for at in self._calls.passed_inputs(node, slot, looped)]
        if node.op == "IdentityN":
            return [inputs[slot]]
        if node.op in _PASSING or self.uses.is_alias(node):
            return [inputs[1 if node.op == "Split" else 0]]
        return [inputs[at] for at in self._remaining(node, inputs) if self._keeps_size(node, at)]

    def _remaining(self, node: internals.NodeDef, inputs: list[str]) -> list[int]:
        """Positions of the inputs of which one remains if the optimizer removes a node."""
        if node.op in _OF_FIRST or node.op in INVERSES:  # two inverses are none
            return [0]
        if node.op in _OF_ANY:
            return [*range(len(inputs))]
        if node.op in ("Select", "SelectV2"):
            return [1, 2] if self._merges.is_special(inputs[0]) else []
        if node.op in ELEMENTWISE and len(inputs) == 2:
            return [at for at in (0, 1) if self._merges.is_special(inputs[1 - at])]
        if node.op == "AddN":  # of zeros
            special = [*map(self._merges.is_special, inputs)]
            return [at for at in range(len(inputs)) if all(special[:at] + special[at + 1 :])]
        return []

    def _keeps_size(self, node: internals.NodeDef, at: int) -> bool:
        """Whether the first output may have as many elements as an input, and has its dtype."""
        operation = self._function.operations.get(node.name)
        if operation is None:
            return True
        given, result = operation.inputs[at], operation.outputs[0]
        sizes = {given.shape.num_elements(), result.shape.num_elements()} - {None}
        return given.dtype == result.dtype and len(sizes) < 2


class SummingCalls:
    """What the calls in a root's functions do with their inputs: which are terms of long sums, and which are
    results. Inputs are given by their positions among those of the calling node."""

    def __init__(self, functions: Mapping[str, TracedFunction]) -> None:
        self._functions = functions
        self._terms: dict[str, SummedTerms] = {}

    def terms(self, function: TracedFunction) -> SummedTerms:
        """Those of a function by itself."""
        if function.name not in self._terms:
            self._terms[function.name] = SummedTerms(function, self)
        return self._terms[function.name]

    def summed_inputs(self, node: internals.NodeDef) -> frozenset[int]:
        """The inputs that callees sum."""
        if node.op in LOOPS:
            return self.summed_variables(node, frozenset())
        found = frozenset[int]().union(*(terms.summed_arguments for terms in self._called(node)))
        return frozenset(at + self._first(node) for at in found)

    def summed_variables(self, node: internals.NodeDef, results: frozenset[int]) -> frozenset[int]:
        """The variables of a loop that it sums itself, or that may become one of these `results`."""
        summed = (terms.summed_arguments for terms in self._called(node))
        return self._circulating(node, results.union(*summed))

    def passed_inputs(self, node: internals.NodeDef, result: int, looped: bool) -> frozenset[int]:
        """The inputs that a result may be; `looped`: that of a loop with an iteration."""
        if node.op in LOOPS and not looped:
            return self._circulating(node, frozenset({result}))
        called = (terms for terms in self._called(node) if node.op not in LOOPS or terms.is_body)
        found = frozenset[int]().union(*(terms.arguments_of(result) for terms in called))
        if node.op in LOOPS:
            return self._circulating(node, found)
        return frozenset(at + self._first(node) for at in found)

    def passed_on(self, loop: internals.NodeDef, variables: Collection[int]) -> frozenset[int]:
        """Variables of a loop, with those that have their memory in a later iteration."""
        everything = range(len(_data(loop))) if variables else ()
        return frozenset(at for at in everything if self._circulating(loop, {at}).intersection(variables))

    def sums_arguments(self, loop: internals.NodeDef) -> bool:
        """Whether an iteration of a loop sums a variable or invariant. `AddN` orders terms by their names,
        and these have other names in a loop inside the loop."""
        return any(terms.sums_arguments for terms in self._called(loop))

    def _circulating(self, loop: internals.NodeDef, variables: Collection[int]) -> frozenset[int]:
        """Variables of a loop, with those that may become one of them in a later iteration."""
        body = [terms for terms in self._called(loop) if terms.is_body]
        waiting, seen = list(variables), set[int]()
        while waiting:
            variable = waiting.pop()
            if variable not in seen:
                seen.add(variable)
                waiting += [at for terms in body for at in terms.arguments_of(variable)]
        return frozenset(seen)

    def _called(self, node: internals.NodeDef) -> list[SummedTerms]:
        names = [callee.function for callee in callees(node)]
        return [self.terms(self._functions[name]) for name in names if name in self._functions]

    def _first(self, node: internals.NodeDef) -> int:
        """The position of the input that becomes the first argument."""
        inputs = _data(node)
        return len(inputs) - len(argument_inputs(node.op, inputs))


def _data(node: internals.NodeDef) -> list[str]:
    return [source for source in node.input if not source.startswith("^")]
