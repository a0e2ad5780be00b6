"""Finds which nodes of a function TensorFlow runs anyway, which others a tap may make it run, and which may
raise, so that earlier tensors must be delivered before."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction, called_nodes, must_compile
from tensortap.tf.random_ops import RANDOM_OPS
from tensortap.tfproto.function_calls import CALLS, LOOPS, argument_inputs, callees

# By their values, whatever the shapes: division of whole numbers by 0, indices out of range, contents that
# are invalid, Python code. A tap must not run them where nothing else does.
_MAY_FAIL = frozenset(
    {
        "BandedTriangularSolve",
        "Bincount",
        "CTCBeamSearchDecoder",
        "CTCGreedyDecoder",
        "Cholesky",
        "CombinedNonMaxSuppression",
        "CropAndResize",
        "DenseBincount",
        "DeserializeManySparse",
        "Div",
        "DynamicPartition",
        "DynamicStitch",
        "Eig",
        "EnsureShape",
        "FloorDiv",
        "FloorMod",
        "GatherNd",
        "GatherV2",
        "HistogramFixedWidth",
        "InvertPermutation",
        "Lu",
        "MatrixInverse",
        "MatrixSolve",
        "MaxPoolGradWithArgmax",
        "Mod",
        "ParallelDynamicStitch",
        "PyFuncStateless",
        "QuantizeV2",
        "RaggedGather",
        "RaggedRange",
        "RaggedTensorToTensor",
        "ReadFile",
        "RegexFullMatch",
        "RegexReplace",
        "ResourceGather",
        "ReverseSequence",
        "ScatterNd",
        "SegmentMax",
        "SegmentMean",
        "SegmentMin",
        "SegmentProd",
        "SegmentSum",
        "SelfAdjointEigV2",
        "SparseFillEmptyRows",
        "SparseReshape",
        "SparseSegmentMean",
        "SparseSegmentSum",
        "SparseSoftmaxCrossEntropyWithLogits",
        "SparseTensorDenseMatMul",
        "SparseToDense",
        "StaticRegexFullMatch",
        "StaticRegexReplace",
        "StringToNumber",
        "Substr",
        "TensorScatterAdd",
        "TensorScatterMax",
        "TensorScatterMin",
        "TensorScatterSub",
        "TensorScatterUpdate",
        "TruncateDiv",
        "TruncateMod",
        "UnicodeDecode",
        "UnicodeEncode",
        "UnicodeTranscode",
        "UnravelIndex",
        "UnsortedSegmentJoin",
        "UnsortedSegmentMax",
        "UnsortedSegmentMin",
        "UnsortedSegmentProd",
        "UnsortedSegmentSum",
    }
)
_MAY_FAIL_PREFIXES = ("Decode", "NonMaxSuppression", "Parse", "TensorList")
_SAFE = frozenset({"TensorListLength", "TensorListReserve"})

# TensorFlow takes them for stateful, yet runs none that nothing needs.
_READS = frozenset({"ResourceGather", "ResourceGatherNd"})

# Where steps end by an error, mostly: what a program has checked, Python code, labels and indices.
_CHECKS = frozenset({"Assert", "CheckNumerics", "CheckNumericsV2", "EagerPyFunc", "PyFunc"})
_RAISES = frozenset(
    {"Cholesky", "GatherNd", "GatherV2", "MatrixInverse", "ResourceGather"}
    | {"ScatterNd", "SparseSoftmaxCrossEntropyWithLogits"}
)
_MAX_STAGES = 8  # of a function: each costs two eager ops a call


def may_fail(op_type: str) -> bool:
    """Whether an op may raise an error for some input values."""
    return op_type in _MAY_FAIL or (op_type.startswith(_MAY_FAIL_PREFIXES) and op_type not in _SAFE)


def live_nodes(definition: internals.FunctionDef, returned: Iterable[str]) -> dict[str, None]:
    """Names of the nodes that run: those with effects, those that output the `returned` tensors, and their
    ancestors."""
    return _running(definition, returned, Livenesses({}))[0]


def _running(
    definition: internals.FunctionDef, returned: Iterable[str], livenesses: Livenesses
) -> tuple[dict[str, None], set[str]]:
    """The `live_nodes`, and all that they read or a caller uses."""
    nodes = {node.name: node for node in definition.node_def}
    numbers = {name: number for number, name in enumerate(nodes)}
    waiting = [*returned, *definition.control_ret.values()]
    waiting += [node.name for node in definition.node_def if _has_effects(node.op)]
    live: dict[str, None] = {}
    read: set[str] = set()
    used: dict[str, set[int]] = {}  # outputs of calling nodes
    calls: list[tuple[int, str]] = []  # of which more is used: the last one first, once for all its readers
    while waiting or calls:
        if not waiting:
            name = heapq.heappop(calls)[1]
            waiting += livenesses.inputs_read(nodes[name], used[name])
            continue
        source = waiting.pop()
        read.add(source)
        name, _, output = source.removeprefix("^").partition(":")
        if name not in nodes:
            continue
        node, is_new = nodes[name], name not in live
        live[name] = None
        if not livenesses.is_divided(node):
            waiting += node.input if is_new else ()
            continue
        outputs = {int(output.rpartition(":")[2])} if output else set[int]()
        if not output and node.op in LOOPS:  # what waits for a loop waits for all its variables
            outputs.update(range(len(node.attr["T"].list.type)))
        if is_new or not used[name].issuperset(outputs):
            used.setdefault(name, set()).update(outputs)
            if (-numbers[name], name) not in calls:
                heapq.heappush(calls, (-numbers[name], name))
    return live, read


def _has_effects(op_type: str) -> bool:
    """Whether nodes of a type run although nothing needs what they output."""
    return internals.is_stateful(op_type) and op_type not in RANDOM_OPS | _READS


class Livenesses:
    """The liveness of each call of a root function and of all that it calls.

    Args:
        functions: all of them by name.
        runs_unused: whether taps may run nodes that nothing needs.
    """

    def __init__(self, functions: Mapping[str, TracedFunction], *, runs_unused: bool = True) -> None:
        self.functions, self.runs_unused = functions, runs_unused
        self._known: dict[tuple[object, ...], Liveness] = {}

    def of(
        self, function: str, used: Collection[int] | None = None, unused: Collection[int] = ()
    ) -> Liveness:
        """The nodes that a call of a function needs.

        Args:
            used: positions of the outputs that the caller uses; None: all.
            unused: positions of arguments that no tap may read, so that their values need not be computed.
        """
        definition = self.functions[function].definition
        outputs = frozenset(range(len(definition.signature.output_arg)) if used is None else used)
        key = function, outputs, frozenset(unused)
        if key not in self._known:
            self._known[key] = Liveness(definition, self, *key[1:])
        return self._known[key]

    def is_divided(self, node: internals.NodeDef) -> bool:
        """Whether TensorFlow puts the nodes of its callees in place of a calling node, and then omits
        those that nothing needs. What waits for a loop with effects waits for all its variables."""
        called = [callee.function for callee in callees(node)]
        if not called or node.op == "While" or must_compile(node.attr):
            return False
        if node.op not in CALLS and not _has(node.attr, "_lower_using_switch_merge"):
            return False
        return all(
            name in self.functions and not _stays_a_call(self.functions[name].definition) for name in called
        )

    def inputs_read(self, node: internals.NodeDef, outputs: Collection[int]) -> list[str]:
        """What some outputs of a divided node and its effects depend on."""
        read = self.arguments_read(node, outputs)
        arguments = argument_inputs(node.op, list(node.input))
        chosen = node.input[: len(node.input) - len(arguments)]  # what chooses a branch
        return [
            *chosen,
            *(each for index, each in enumerate(arguments) if index in read or each.startswith("^")),
        ]

    def arguments_read(self, node: internals.NodeDef, outputs: Collection[int]) -> set[int]:
        """Positions of the arguments that some outputs of a divided node and its effects depend on."""
        if node.op in LOOPS:
            return self._needed_variables(node, outputs)
        return {
            index for callee in callees(node) for index in self.of(callee.function, outputs).arguments_read
        }

    def _needed_variables(self, loop: internals.NodeDef, outputs: Iterable[int]) -> set[int]:
        """The variables of a loop that its condition or some outputs depend on."""
        cond, body = (loop.attr[role].func.name for role in ("cond", "body"))
        needed, known = {*outputs, *self.of(cond).arguments_read}, set[int]()
        while needed != known:
            known = set(needed)
            needed |= self.of(body, known).arguments_read
        return needed


def _stays_a_call(definition: internals.FunctionDef) -> bool:
    return must_compile(definition.attr) or _has(definition.attr, "_noinline")


def _has(attributes: Any, name: str) -> bool:
    return name in attributes and bool(attributes[name].b)


class Liveness:
    """The nodes of a function that one call of it needs.

    See `Livenesses.of` for the arguments.
    """

    def __init__(
        self,
        definition: internals.FunctionDef,
        livenesses: Livenesses,
        used: frozenset[int],
        unused: frozenset[int],
    ) -> None:
        self._definition = definition
        self._all = livenesses
        self._used = used
        self.unused = unused

    @property
    def key(self) -> tuple[frozenset[int], frozenset[int]]:
        """Equal for calls of the function that need the same nodes."""
        return self._used, self.unused

    def may_run(self, source: str) -> bool:
        """Whether TensorFlow computes a node, an argument or an output (`node:output:index`), or a tap may
        make it do so."""
        return not _depends(source, self._risky)

    @property
    def only_for_taps(self) -> set[str]:
        """Names of the nodes that run for a tap, if at all."""
        return {node.name for node in self._definition.node_def} - self.live.keys() - self._risky

    @property
    def live(self) -> dict[str, None]:
        """Names of the nodes that run without taps."""
        return self._running[0]

    @property
    def _read(self) -> set[str]:
        return self._running[1]

    @cached_property
    def _running(self) -> tuple[dict[str, None], set[str]]:
        definition = self._definition
        returned = [
            definition.ret[output.name]
            for position, output in enumerate(definition.signature.output_arg)
            if position in self._used
        ]
        return _running(definition, returned, self._all)

    @cached_property
    def arguments_read(self) -> set[int]:
        """Positions of the arguments that the nodes that run depend on."""
        names = {source.removeprefix("^").split(":")[0] for source in self._read}
        arguments = self._definition.signature.input_arg
        return {index for index, argument in enumerate(arguments) if argument.name in names}

    def used_outputs(self, node: internals.NodeDef) -> Collection[int] | None:
        """Positions of a calling node's outputs that running nodes, used results or the next iteration of a
        loop read; None: all."""
        if node.name not in self.live:
            return ()
        whole = node.op in LOOPS and not self._read.isdisjoint({node.name, f"^{node.name}"})
        if whole or not self._all.is_divided(node):
            return None
        outputs = self._outputs_read.get(node.name, set())
        return self._all.arguments_read(node, outputs) if node.op in LOOPS else outputs

    def unused_arguments(self, node: internals.NodeDef) -> set[int]:
        """Positions of the arguments of a running calling node that no tap may read: the variables of a loop
        that are not computed without taps, and of other calls those that might raise."""
        return self._unused_arguments(node, self._risky)

    def _unused_arguments(self, node: internals.NodeDef, risky: set[str]) -> set[int]:
        used = self.used_outputs(node)
        if used is None or node.name not in self.live:
            return set()
        read = self._all.arguments_read(node, used)
        return {
            index
            for index, source in enumerate(argument_inputs(node.op, list(node.input)))
            if index not in read and not source.startswith("^")
            if node.op in LOOPS or _depends(source, risky)
        }

    @cached_property
    def _outputs_read(self) -> dict[str, set[int]]:
        """By node."""
        outputs: dict[str, set[int]] = {}
        for name, _, index in (source.split(":") for source in self._read if ":" in source):
            outputs.setdefault(name, set()).add(int(index))
        return outputs

    @cached_property
    def _risky(self) -> set[str]:
        """What does not run anyway, and may raise or depend on a node that may or on an unused argument:
        nodes, these arguments, and outputs of running calls."""
        definition = self._definition
        readers: dict[str, list[internals.NodeDef]] = {}
        for node in definition.node_def:
            for source in node.input:
                readers.setdefault(source.removeprefix("^").split(":")[0], []).append(node)
        risky = {definition.signature.input_arg[index].name for index in self.unused}
        waiting = deque(definition.node_def)
        while waiting:
            node = waiting.popleft()
            fresh = set(self._risky_parts(node, risky)) - risky
            risky |= fresh
            waiting += readers.get(node.name, ()) if fresh else ()
        return risky

    def _risky_parts(self, node: internals.NodeDef, risky: set[str]) -> Iterator[str]:
        """A node that is risky, or its outputs that are, as far as the risky nodes before it are known."""
        if node.name not in self.live:
            depends = any(_depends(source, risky) for source in node.input)
            if depends or not self._all.runs_unused or self._may_fail(node):
                yield node.name
            return
        used = self.used_outputs(node) if any(callees(node)) else None
        if used is None:
            return
        if node.op in LOOPS:
            yield from (f"{node.name}:output:{index}" for index in self._unused_arguments(node, risky))
            return
        unused = self._unused_arguments(node, risky)
        for callee in callees(node):
            definition = self._all.functions[callee.function].definition
            inside = self._all.of(callee.function, used, unused)
            for index, output in enumerate(definition.signature.output_arg):
                if index not in used and not inside.may_run(definition.ret[output.name]):
                    yield f"{node.name}:output:{index}"

    def _may_fail(self, node: internals.NodeDef) -> bool:
        """Whether a node, or one of its callees, may raise."""
        return any(may_fail(each.op) for each in called_nodes(node, self._all.functions))


def _depends(source: str, risky: Collection[str]) -> bool:
    """Whether an input is risky."""
    tensor = source.removeprefix("^")
    return tensor in risky or tensor.split(":")[0] in risky


class Stages:
    """Divides a function at nodes that may raise: taps deliver the tensors that do not depend on them before
    they run.

    Attributes:
        ends: names of these nodes; the tensors of stages 0 to n leave the function before `ends[n]` runs.
    """

    def __init__(
        self, function: TracedFunction, functions: Mapping[str, TracedFunction], live: Collection[str]
    ) -> None:
        nodes = function.definition.node_def
        self._functions = functions
        self._number = {node.name: number for number, node in enumerate(nodes)}
        # A call with control inputs would keep the optimizer from merging its inputs with its body.
        running = [node for node in nodes if node.name in live and node.op not in CALLS]
        checks = [node.name for node in running if self._calls(node, _CHECKS)]
        others = [node.name for node in running if self._calls(node, _RAISES)]
        chosen = {*_spread(checks, _MAX_STAGES)}
        chosen |= {*_spread([name for name in others if name not in chosen], _MAX_STAGES - len(chosen))}
        self.ends = sorted(chosen, key=self._number.__getitem__)
        readers: dict[str, list[str]] = {}
        for node in nodes if self.ends else ():
            for source in node.input:
                readers.setdefault(source.removeprefix("^").split(":")[0], []).append(node.name)
        self._downstream = [_reached(end, readers) for end in self.ends]

    def stage_of(self, node: str) -> int:
        """The first stage in which the outputs of a node, or an argument, may be known."""
        number = self._number.get(node, -1)
        places = range(len(self.ends))
        return max(
            (
                place + 1
                for place in places
                if node in self._downstream[place] or self._number[self.ends[place]] <= number
            ),
            default=0,
        )

    def _calls(self, node: internals.NodeDef, op_types: Collection[str]) -> bool:
        """Whether a node has one of these op types, or calls a function with such nodes."""
        return any(each.op in op_types for each in called_nodes(node, self._functions))


def _reached(first: str, readers: Mapping[str, Sequence[str]]) -> set[str]:
    """The nodes that need a node, and it itself."""
    reached, waiting = {first}, [first]
    while waiting:
        fresh = set(readers.get(waiting.pop(), ())) - reached
        reached |= fresh
        waiting += fresh
    return reached


def _spread(names: Sequence[str], count: int) -> list[str]:
    """At most `count` of the names, the first and the last among them."""
    if len(names) <= count:
        return list(names)
    return [names[at * (len(names) - 1) // max(count - 1, 1)] for at in range(count)]
