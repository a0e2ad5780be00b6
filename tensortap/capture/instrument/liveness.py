"""Finds which nodes of a function TensorFlow runs anyway, which others a tap may make it run, and which may
raise, so that earlier tensors must be delivered before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction
from tensortap.tfproto.function_calls import CALLS, callees

# By their values, whatever the shapes: division of whole numbers by 0, indices out of range, contents that
# are invalid. A tap must not run them where nothing else does.
_MAY_FAIL = frozenset(
    {
        "Bincount",
        "Cholesky",
        "DenseBincount",
        "Div",
        "DynamicPartition",
        "DynamicStitch",
        "EnsureShape",
        "FloorDiv",
        "FloorMod",
        "GatherNd",
        "GatherV2",
        "InvertPermutation",
        "MatrixInverse",
        "Mod",
        "ParallelDynamicStitch",
        "ResourceGather",
        "ReverseSequence",
        "ScatterNd",
        "SegmentMean",
        "SegmentSum",
        "SparseReshape",
        "SparseSegmentMean",
        "SparseSegmentSum",
        "SparseSoftmaxCrossEntropyWithLogits",
        "SparseToDense",
        "StringToNumber",
        "TensorScatterAdd",
        "TensorScatterMax",
        "TensorScatterMin",
        "TensorScatterSub",
        "TensorScatterUpdate",
        "TruncateDiv",
        "TruncateMod",
        "UnsortedSegmentMax",
        "UnsortedSegmentMin",
        "UnsortedSegmentProd",
        "UnsortedSegmentSum",
    }
)
_MAY_FAIL_PREFIXES = ("Decode", "Parse", "TensorList")
_SAFE = frozenset({"TensorListLength", "TensorListReserve"})


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


def live_nodes(
    definition: internals.FunctionDef,
    returned: Iterable[str],
    functions: Mapping[str, TracedFunction] = MappingProxyType({}),
) -> dict[str, None]:
    """Names of the nodes that run: those with effects, those that output the `returned` tensors, and their
    ancestors.

    Args:
        functions: those that loops call. TensorFlow computes no variable of a stateless loop that nothing
            needs.
    """
    return _running(definition, returned, functions)[0]


def _running(
    definition: internals.FunctionDef, returned: Iterable[str], functions: Mapping[str, TracedFunction]
) -> tuple[dict[str, None], set[str]]:
    """The `live_nodes`, and all that they read or a caller uses."""
    nodes = {node.name: node for node in definition.node_def}
    waiting = [*returned, *definition.control_ret.values()]
    waiting += [node.name for node in definition.node_def if internals.is_stateful(node.op)]
    live: dict[str, None] = {}
    read: set[str] = set()
    read_of_loops: dict[str, set[int]] = {}
    loops: dict[str, None] = {}  # of which more is read; last, once for all their readers
    while waiting or loops:
        if not waiting:
            loop = nodes[loops.popitem()[0]]
            needed = _needed_variables(loop, read_of_loops[loop.name], functions)
            waiting += (loop.input[index] for index in needed)
            waiting += (each for each in loop.input if each.startswith("^"))
            continue
        source = waiting.pop()
        read.add(source)
        name, _, output = source.removeprefix("^").partition(":")
        if name not in nodes:
            continue
        node = nodes[name]
        is_new = name not in live
        live[name] = None
        if node.op != "StatelessWhile":
            waiting += node.input if is_new else ()
            continue
        outputs = {int(output.rpartition(":")[2])} if output else range(len(node.attr["T"].list.type))
        if not read_of_loops.setdefault(name, set()).issuperset(outputs):
            read_of_loops[name].update(outputs)
            loops[name] = None
    return live, read


def _needed_variables(
    loop: internals.NodeDef, outputs: Iterable[int], functions: Mapping[str, TracedFunction]
) -> set[int]:
    """Positions of the variables of a stateless loop that its condition or the given outputs depend on."""
    cond, body = (functions.get(loop.attr[role].func.name) for role in ("cond", "body"))
    if cond is None or body is None:
        return set(range(len(loop.attr["T"].list.type)))
    needed, known = {*outputs, *_arguments_read(cond, range(1), functions)}, set[int]()
    while needed != known:
        known = set(needed)
        needed |= _arguments_read(body, known, functions)
    return needed


def _arguments_read(
    function: TracedFunction, outputs: Collection[int], functions: Mapping[str, TracedFunction]
) -> set[int]:
    """Positions of the arguments that some outputs and the nodes with effects depend on."""
    definition = function.definition
    returned = [definition.ret[definition.signature.output_arg[index].name] for index in outputs]
    _, read = _running(definition, returned, functions)
    names = {source.removeprefix("^").split(":")[0] for source in read}
    return {index for index, argument in enumerate(definition.signature.input_arg) if argument.name in names}


class Liveness:
    """The nodes of a function that one call of it needs.

    Args:
        functions: it, and all that it calls.
        used: positions of the outputs that the caller uses; None: all.
        unused: positions of arguments that no tap may read, so that their values need not be computed.
    """

    def __init__(
        self,
        function: TracedFunction,
        functions: Mapping[str, TracedFunction],
        used: Collection[int] | None = None,
        unused: Collection[int] = (),
    ) -> None:
        self._definition = function.definition
        self._functions = functions
        self._used = used
        self.unused = frozenset(unused)
        self._unused = {function.definition.signature.input_arg[index].name for index in unused}

    @property
    def key(self) -> tuple[frozenset[int] | None, frozenset[int]]:
        """Equal for calls of the function that need the same nodes."""
        return None if self._used is None else frozenset(self._used), self.unused

    def may_run(self, name: str) -> bool:
        """Whether TensorFlow runs a node (or argument), or a tap may make it run."""
        return name not in self._risky

    @property
    def only_for_taps(self) -> set[str]:
        """Names of the nodes that run for a tap, if at all."""
        return {node.name for node in self._definition.node_def} - self.live.keys() - self._risky

    @cached_property
    def live(self) -> dict[str, None]:
        """Names of the nodes that run without taps."""
        return self._running[0]

    @property
    def _read(self) -> set[str]:
        return self._running[1]

    @cached_property
    def _running(self) -> tuple[dict[str, None], set[str]]:
        return _running(self._definition, self._returned, self._functions)

    def unused_variables(self, node: internals.NodeDef) -> set[int]:
        """Positions of the variables of a running loop that are not computed without taps."""
        if node.op != "StatelessWhile" or node.name not in self.live:
            return set()
        if not self._read.isdisjoint({node.name, f"^{node.name}"}):  # all of it
            return set()
        needed = _needed_variables(node, self._outputs_read(node), self._functions)
        return set(range(len(node.attr["T"].list.type))) - needed

    def used_outputs(self, node: internals.NodeDef) -> Collection[int] | None:
        """Positions of a calling node's outputs that running nodes, used results or the next iteration of a
        loop read; None: all."""
        if node.name not in self.live:
            return ()
        if node.op == "StatelessWhile":
            return set(range(len(node.attr["T"].list.type))) - self.unused_variables(node)
        return self._outputs_read(node) if node.op in CALLS else None

    @cached_property
    def uncomputed(self) -> set[str]:
        """Outputs (`node:output:index`) of running loops and calls that a tap must not read: loop variables
        that nothing needs, and results that depend on them or on nodes that may raise."""
        return {
            f"{node.name}:output:{index}"
            for node in self._definition.node_def
            if node.name in self.live
            for index in (*self.unused_variables(node), *self._uncomputed_results(node))
        }

    def _uncomputed_results(self, node: internals.NodeDef) -> Iterator[int]:
        used = self.used_outputs(node) if node.op in CALLS else None
        function = self._functions.get(node.attr["f"].func.name) if used is not None else None
        if function is None or used is None or len(used) == len(node.attr["Tout"].list.type):
            return
        inside = Liveness(function, self._functions, used)
        for index, output in enumerate(function.definition.signature.output_arg):
            source = function.definition.ret[output.name]
            if source in inside.uncomputed or not inside.may_run(source.split(":")[0]):
                yield index

    def _outputs_read(self, node: internals.NodeDef) -> set[int]:
        return {int(source.rpartition(":")[2]) for source in self._read if source.startswith(f"{node.name}:")}

    @property
    def _returned(self) -> list[str]:
        """The returned tensors that are used."""
        definition = self._definition
        return [
            definition.ret[output.name]
            for position, output in enumerate(definition.signature.output_arg)
            if self._used is None or position in self._used
        ]

    @cached_property
    def _risky(self) -> set[str]:
        """Nodes that do not run anyway, and may raise or depend on such a node that may, on an unused
        argument or on what is `uncomputed`; and these arguments."""
        readers: dict[str, list[str]] = {}
        risky = set(self._unused)
        for node in self._definition.node_def:
            if node.name not in self.live:
                for source in node.input:
                    readers.setdefault(source.removeprefix("^").split(":")[0], []).append(node.name)
                if self._may_fail(node) or not self.uncomputed.isdisjoint(node.input):
                    risky.add(node.name)
        waiting = list(risky)
        while waiting:
            fresh = set(readers.get(waiting.pop(), ())) - risky
            risky |= fresh
            waiting += fresh
        return risky

    def _may_fail(self, node: internals.NodeDef) -> bool:
        """Whether a node, or one of its callees, may raise."""
        seen: set[str] = set()
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if may_fail(current.op):
                return True
            waiting += self._nodes_called(current, seen)
        return False

    def _nodes_called(self, node: internals.NodeDef, seen: set[str]) -> Iterator[internals.NodeDef]:
        for callee in callees(node):
            if callee.function in self._functions and callee.function not in seen:
                seen.add(callee.function)
                yield from self._functions[callee.function].definition.node_def


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
        seen: set[str] = set()
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.op in op_types:
                return True
            for callee in callees(current):
                if callee.function in self._functions and callee.function not in seen:
                    seen.add(callee.function)
                    waiting += self._functions[callee.function].definition.node_def
        return False


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
