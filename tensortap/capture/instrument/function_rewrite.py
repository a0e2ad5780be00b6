"""Copies of a function and its callees that output selected tensors; the originals are unchanged.

Outside XLA the tensors go into queues. XLA knows no queues: there they become additional outputs of the
compiled function, which its first caller outside XLA puts into a queue. No callback into Python runs in a
graph.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import tensorflow as tf

from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction, must_compile
from tensortap.tfproto.function_calls import CALLS, LOOPS, Callee, Role, callees

from ..tracing.traced_function import Place, TracedRoot
from .added_nodes import (
    MARK,
    add_copy,
    begin_with_zero,
    hold,
    keep_alive,
    leave_unchanged,
    mute,
    tie_to_result,
)
from .device_summary import add_summary
from .grappler_duplicates import DUPLICATE, Duplicates
from .liveness import Liveness, Livenesses, Stages
from .loop_iterations import IterationCounter, LoopStride
from .loop_stride import can_divide, can_number, captured_outputs, divide
from .summed_terms import SummingCalls
from .tap_queues import Route, Tapped, TapQueue, TapSwitch, grouped

# A stateless call may be merged with its twin or removed, together with its enqueue ops.
_STATEFUL = {
    "PartitionedCall": "StatefulPartitionedCall",
    "StatelessWhile": "While",
    "StatelessIf": "If",
    "StatelessCase": "Case",
}

# Copies are made a call site at a time, so that two calls of one function fill two queues, whatever order
# they run in. Deeply nested repeated calls would make that exponential; from here on calls share a copy.
_MAX_COPIES = 400

_copies = itertools.count()


@dataclass
class Rewritten:
    """The copy of a root function, registered and ready to be called instead of it.

    `outputs` are the tensors that the copy returns behind the root's own outputs (only if XLA compiles the
    root). `switch` turns the queues on and off, if there is one. `out_of_reach` are chosen tensors inside
    loops and branches that XLA compiles, `disturbing` those on which a tap would change the order of a sum:
    neither are returned. `only_for_taps` are names of nodes that run for taps, if at all: no node of
    that name runs without, in any of the functions.
    """

    name: str = ""
    outputs: list[Tapped] = field(default_factory=list)
    queues: list[TapQueue] = field(default_factory=list)
    counters: list[IterationCounter] = field(default_factory=list)
    strides: list[LoopStride] = field(default_factory=list)
    switch: TapSwitch | None = None
    registered: list[str] = field(default_factory=list)
    out_of_reach: list[Place] = field(default_factory=list)
    disturbing: list[Place] = field(default_factory=list)
    only_for_taps: set[str] = field(default_factory=set)
    compiled: bool = False

    def discard(self) -> None:
        """Takes the copies and queues out of TensorFlow again."""
        for name in self.registered:
            if internals.has_function(name):
                internals.remove_function(name)
        for shared in self.shared:
            shared.destroy()

    @property
    def shared(self) -> list[TapQueue | IterationCounter | LoopStride | TapSwitch]:
        """Resources that the graph and eager code share."""
        return [*self.queues, *self.counters, *self.strides, *([self.switch] if self.switch else [])]


@dataclass(frozen=True)
class RewriteOptions:
    """How copies differ from their originals besides their taps.

    Attributes:
        muted: op types that do nothing in the copies; they have no outputs.
        held: for tensors that must survive a failed call, the node whose consumers wait until they are
            delivered.
        summarized: tensors of which only the summary leaves the function.
        switched: the queues are filled only while `Rewritten.switch` is on.
        shadow: the copy does not make the step, so that its last bits do not matter.
        strided: a call may capture some iterations of loops only (`Rewritten.strides`).
    """

    muted: Collection[str] = ()
    held: Mapping[Place, str] = field(default_factory=dict)
    summarized: Collection[Place] = ()
    switched: bool = False
    shadow: bool = False
    strided: bool = False


def rewrite(traced: TracedRoot, chosen: frozenset[Place], options: RewriteOptions) -> Rewritten:
    """Creates and registers copies that output the selected tensors. Registered functions that have none, nor
    muted ops, and call none that has, are not copied."""
    return _Rewriter(traced, chosen, options).run()


@dataclass(frozen=True)
class _Site:
    """A call site of a function.

    `looped`: in a loop; `clock`: that of the innermost loop's body; `branched`: in a branch of that body,
    which does not run in each iteration. `route`: the calls that lead to it. `stride`: that of the loop
    around it; `in_condition`: it belongs to the loop's condition. `summed`, `given`: positions of its results
    and arguments that are terms of long sums of its callers.
    """

    role: Role = "root"
    compiled: bool = False
    looped: bool = False
    counter: IterationCounter | None = None
    branched: bool = False
    route: Route = ()
    stride: LoopStride | None = None
    in_condition: bool = False
    summed: frozenset[int] = frozenset()
    given: frozenset[int] = frozenset()

    def of_callee(
        self,
        node: internals.NodeDef,
        callee: Callee,
        counter: IterationCounter,
        stride: LoopStride | None,
        summed: frozenset[int],
        given: frozenset[int],
    ) -> _Site:
        """The call site of a node that calls another function; `counter` is for the body if it is a loop,
        `stride` for both."""
        compiled, role = self.compiled or must_compile(node.attr), callee.role
        route = (*self.route, (str(node.name), callee.function))
        if node.op in LOOPS:
            counter_of = counter if role == "body" else None
            return _Site(
                role, compiled, True, counter_of, False, route, stride, role == "cond", summed, given
            )
        branched = self.counter is not None and (self.branched or role != "call")
        inside = replace(self, role=role, compiled=compiled, branched=branched, route=route)
        return replace(inside, summed=summed, given=given)


class _Rewriter:
    def __init__(self, traced: TracedRoot, chosen: frozenset[Place], options: RewriteOptions) -> None:
        self._options = options
        self._functions = traced.functions
        self._root = traced.root
        self._chosen = chosen
        self._by_function: dict[str, list[Place]] = {}
        for place in chosen:
            self._by_function.setdefault(place[0], []).append(place)
        self._tag = f"{MARK}{next(_copies)}"
        self._result = Rewritten(switch=TapSwitch(f"{self._tag}_switch") if options.switched else None)
        self._definitions: list[internals.FunctionDef] = []
        self._branches: list[internals.FunctionDef] = []
        self._shared: dict[tuple[object, ...], tuple[str, list[Tapped]]] = {}
        self._ranks: dict[str, int] = {}
        self._run_anyway: set[str] = set()  # names of nodes that some call runs without taps
        self._copied: set[str] = set()
        self._captured: dict[str, dict[str, str]] = {}  # by copy: `captured_outputs` of its loops
        self._calls = Counter(
            callee.function
            for function in self._functions.values()
            for node in function.definition.node_def
            for callee in callees(node)
        )
        # A failed call cannot be undone where nodes have drawn from their streams.
        self._livenesses = Livenesses(self._functions, runs_unused=not options.switched)
        self._summing = SummingCalls(self._functions)
        self._leads_to_chosen = cache(self._find_chosen)

    def run(self) -> Rewritten:
        result = self._result
        root = self._functions[self._root]
        needed = self._livenesses.of(self._root)
        result.name, result.outputs = self._copy(root, needed, _Site())
        result.only_for_taps -= self._run_anyway
        for uncopied in self._functions.keys() - self._copied:
            result.only_for_taps -= {node.name for node in self._functions[uncopied].definition.node_def}
        for shared in result.shared:
            shared.open()
        for definition in [*self._branches, *self._definitions]:
            internals.register_function(definition)
            result.registered.append(definition.signature.name)
        return result

    def _find_chosen(self, name: str) -> bool:
        nodes = self._functions[name].definition.node_def
        if name in self._by_function or self._functions[name].changed:
            return True
        if any(node.op in self._options.muted for node in nodes):
            return True
        called = (callee.function for node in nodes for callee in callees(node))
        return any(self._reaches(function) for function in called)

    def _reaches(self, function: str) -> bool:
        return function in self._functions and self._leads_to_chosen(function)

    def _copy(self, function: TracedFunction, needed: Liveness, site: _Site) -> tuple[str, list[Tapped]]:
        """Returns the copy's name and its additional outputs."""
        site = replace(site, compiled=site.compiled or function.compiled)
        compiled = site.compiled
        key = (function.name, compiled, needed.key)
        if len(self._definitions) >= _MAX_COPIES and key in self._shared:
            return self._shared[key]
        name = f"{function.name}__{self._tag}_{len(self._definitions)}"
        definition = internals.copied(function.definition, name)
        # Grappler's implementation selector would swap the copy for the original.
        definition.attr.pop("api_implements", None)
        mute(definition, self._options.muted)
        if site.role == "body":
            leave_unchanged(definition, needed.unused)
        self._definitions.append(definition)
        terms = self._summing.terms(function).for_callers(site.summed, site.given)
        duplicates = Duplicates(function, definition, terms)
        self._result.only_for_taps |= needed.only_for_taps
        self._run_anyway |= needed.live.keys()
        self._copied.add(function.name)
        tapped = self._own(function, needed, site.route) + self._of_callees(
            definition, needed, duplicates, site
        )
        if not compiled:
            tapped = self._undisturbing(definition, tapped, duplicates)
        captured = self._captured.get(name, {})
        for node in definition.node_def if captured else ():
            if node.name not in needed.live and not node.name.startswith(f"{MARK}/"):
                node.input[:] = [captured.get(source, source) for source in node.input]
        nodes = [reference.split(":")[0] for _, reference in tapped]
        tapped = [(item, captured.get(reference, reference)) for item, reference in tapped]
        tapped = self._summarize(function, definition, tapped)
        nodes_of = {reference: node for (_, reference), node in zip(tapped, nodes, strict=True)}
        self._result.compiled |= compiled
        outputs: list[Tapped] = []
        if compiled:
            outputs = _add_outputs(definition, tapped)
        else:
            stages = Stages(function, self._functions, needed.live)
            self._add_queues(function, definition, tapped, nodes_of, site, stages)
            if site.role == "cond":
                tie_to_result(definition)
            elif site.role == "body" and site.counter in self._result.counters:
                site.counter.add_tick(
                    definition, [node for node in definition.node_def if self._is_redirected(node)]
                )
        self._shared[key] = name, outputs
        return name, outputs

    def _undisturbing(
        self, definition: internals.FunctionDef, tapped: list[tuple[Tapped, str]], duplicates: Duplicates
    ) -> list[tuple[Tapped, str]]:
        """The tensors that taps may read, by what they read. Others are skipped, or copied if they must be
        delivered: their consumers wait for that, so that nothing holds them any more."""
        found = []
        for item, reference in tapped:
            if self._options.shadow or not duplicates.disturbs_sum(reference):
                found.append((item, duplicates.readable(reference)))
            elif item.place in self._options.held:
                found.append((item, add_copy(definition, reference, item.dtype)))
            else:
                self._result.disturbing.append(item.place)
        return found

    def _own(self, function: TracedFunction, needed: Liveness, route: Route) -> list[tuple[Tapped, str]]:
        """The chosen tensors of the function itself, with how its definition refers to them."""
        found = []
        for operation in function.operations.values():
            for slot, tensor in enumerate(operation.outputs):
                place = (function.name, operation.name, slot)
                reference = function.references.get(tensor.name)
                if place in self._chosen and reference is not None and needed.may_run(reference):
                    nbytes = (tensor.shape.num_elements() or 0) * (tensor.dtype.size or 0)
                    found.append((Tapped(place, tensor.dtype, nbytes, route), reference))
        return found

    def _summarize(
        self,
        function: TracedFunction,
        definition: internals.FunctionDef,
        tapped: list[tuple[Tapped, str]],
    ) -> list[tuple[Tapped, str]]:
        """Replaces the function's tensors by summaries where only the summary is needed."""
        devices = {node.name: node.device for node in definition.node_def}
        found = []
        for number, (item, reference) in enumerate(tapped):
            summarized = item.place in self._options.summarized and item.place not in self._options.held
            if summarized and item.place[0] == function.name and not item.summarizes:
                device = devices.get(reference.split(":")[0], "")
                name = f"{MARK}/summary_{number}"
                reference = add_summary(definition, reference, item.dtype, name, device)
                item = replace(item, dtype=tf.float64, nbytes=8 << 10, summarizes=item.dtype.name)
            found.append((item, reference))
        return found

    def _of_callees(
        self,
        definition: internals.FunctionDef,
        needed: Liveness,
        duplicates: Duplicates,
        site: _Site,
    ) -> list[tuple[Tapped, str]]:
        """Points the calls of a copy at copies; returns the outputs that they gained."""
        gained: list[tuple[Tapped, str]] = []
        for node in list(definition.node_def):
            chosen = [callee for callee in callees(node) if self._reaches(callee.function)]
            if not chosen or not needed.may_run(node.name):
                continue
            if site.compiled and node.op not in CALLS:
                self._result.out_of_reach += [
                    place for callee in chosen for place in self._by_function.get(callee.function, ())
                ]
                continue
            used, unused = needed.used_outputs(node), needed.unused_arguments(node)
            for index in unused if node.op in LOOPS else ():
                if not needed.may_run(node.input[index]):
                    begin_with_zero(definition, node, index)
            counter = IterationCounter(f"{definition.signature.name}_{node.name}_clock")
            loop, stride = internals.copied_node(node), self._stride_of(definition, node, needed, site)
            summed, given = duplicates.terms.results(node), duplicates.terms_given_to(node)
            for callee in callees(node) if stride and stride.divided else chosen:
                inside = site.of_callee(node, callee, counter, stride, summed, given)
                gained += self._redirect(node, callee, used, unused, inside)
            if node.name not in needed.live and not site.compiled:
                node.input[:] = [duplicates.readable(source) for source in node.input]
            if not site.compiled:
                node.op = _STATEFUL.get(node.op, node.op)
                if stride is None or not stride.divided:
                    keep_alive(definition, node.name)
                else:
                    self._add_stride(definition, node, loop, stride, unused)
        return gained

    def _stride_of(
        self, definition: internals.FunctionDef, node: internals.NodeDef, needed: Liveness, site: _Site
    ) -> LoopStride | None:
        """The stride of a loop; None for other nodes, and where each iteration must be captured."""
        if not self._options.strided or node.op not in LOOPS or site.looped or site.compiled:
            return None
        once = node.name in needed.live and all(self._calls[function] == 1 for _, function in site.route)
        if not once or not can_number(node, self._functions, self._calls):
            return None
        divided = can_divide(node, self._functions) and not self._summing.sums_arguments(node)
        if not divided and self._result.switch is None:  # each tap chooses its iterations there
            self._result.switch = TapSwitch(f"{self._tag}_switch")
        stride = LoopStride(f"{definition.signature.name}_{node.name}_stride", divided=divided)
        self._result.strides.append(stride)
        return stride

    def _add_stride(
        self,
        definition: internals.FunctionDef,
        node: internals.NodeDef,
        loop: internals.NodeDef,
        stride: LoopStride,
        unused: Collection[int],
    ) -> None:
        made = {definition.signature.name: definition for definition in self._definitions}
        tapped = {callee.role: made[callee.function] for callee in callees(node)}
        plain = {}
        for callee in callees(loop):
            function = self._functions[callee.function]
            plain[callee.role] = internals.copied(
                function.definition, f"{tapped[callee.role].signature.name}_off"
            )
        leave_unchanged(plain["body"], unused)
        copies = {each.signature.name for each in tapped.values()}
        self._shared = {key: made for key, made in self._shared.items() if made[0] not in copies}
        switched = self._options.switched
        self._definitions += divide(stride, definition, node, loop, tapped, plain, switched=switched)
        if switched:
            self._definitions += plain.values()
            self._captured.setdefault(definition.signature.name, {}).update(captured_outputs(node))

    def _redirect(
        self,
        node: internals.NodeDef,
        callee: Callee,
        used: Collection[int] | None,
        unused: Collection[int],
        inside: _Site,
    ) -> list[tuple[Tapped, str]]:
        function = self._functions[callee.function]
        used = None if callee.role == "cond" else used  # it returns whether the loop continues
        needed = self._livenesses.of(callee.function, used, unused)
        name, outputs = self._copy(function, needed, inside)
        callee.reference.name = name
        if node.op in LOOPS:
            # One iteration at a time, so that entries arrive in order.
            node.attr["parallel_iterations"].i = 1
        if not outputs:
            return []
        types = node.attr["Tout"].list.type
        first = len(types)
        types.extend(tapped.dtype.as_datatype_enum for tapped in outputs)
        node.attr.pop("_output_shapes", None)
        return [(tapped, f"{node.name}:output:{first + index}") for index, tapped in enumerate(outputs)]

    def _add_queues(
        self,
        function: TracedFunction,
        definition: internals.FunctionDef,
        tapped: list[tuple[Tapped, str]],
        nodes_of: Mapping[str, str],
        site: _Site,
        stages: Stages,
    ) -> None:
        counter = site.counter if site.branched else None
        if counter is not None and tapped and counter not in self._result.counters:
            self._result.counters.append(counter)
        rank = self._ranks.setdefault(function.name, 0)
        self._ranks[function.name] += 1
        held = self._grouped_held(function, tapped)
        plain = [pair for pair in tapped if pair[0].place not in self._options.held]
        by_stage: dict[int, list[tuple[Tapped, str]]] = {}
        for pair in plain:
            node = nodes_of[pair[1]].removesuffix(DUPLICATE)
            by_stage.setdefault(stages.stage_of(node), []).append(pair)
        groups = [
            *((None, holder, group) for holder, group in held.items()),
            *((stage, "", group) for stage in sorted(by_stage) for group in grouped(by_stage[stage])),
        ]
        nodes = {node.name: node for node in definition.node_def}
        for number, (stage, holder, group) in enumerate(groups):
            queue = TapQueue(
                f"{MARK}{definition.signature.name}_{number}",
                [item for item, _ in group],
                rank,
                site.looped,
                counter,
                site.stride,
                site.in_condition,
            )
            references = [reference for _, reference in group]
            self._branches += queue.add_nodes(definition, f"{MARK}/{number}", references, self._result.switch)
            self._result.queues.append(queue)
            for end in () if stage is None else stages.ends[stage:]:
                nodes[end].input.append(f"^{MARK}/{number}/enqueue")
            if holder:
                hold(function, definition, holder, f"{MARK}/{number}")

    def _grouped_held(
        self, function: TracedFunction, tapped: list[tuple[Tapped, str]]
    ) -> dict[str, list[tuple[Tapped, str]]]:
        """Tensors that must be delivered, by the node whose consumers wait; the calling node, if they are in
        a callee."""
        groups: dict[str, list[tuple[Tapped, str]]] = {}
        for item, reference in tapped:
            if item.place in self._options.held:
                own = item.place[0] == function.name
                holder = self._options.held[item.place] if own else reference.split(":")[0]
                groups.setdefault(holder, []).append((item, reference))
        return groups

    def _is_redirected(self, node: internals.NodeDef) -> bool:
        return any(self._tag in callee.function for callee in callees(node))


def _add_outputs(definition: internals.FunctionDef, tapped: list[tuple[Tapped, str]]) -> list[Tapped]:
    for index, (item, reference) in enumerate(tapped):
        argument = definition.signature.output_arg.add(
            name=f"{MARK}_{index}", type=item.dtype.as_datatype_enum
        )
        definition.ret[argument.name] = reference
    return [item for item, _ in tapped]
