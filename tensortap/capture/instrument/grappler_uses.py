"""Who uses the tensors of a function, as TensorFlow's graph optimiser counts it."""

from __future__ import annotations

from functools import cached_property

from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction

from .liveness import live_nodes

# The optimiser looks through these.
ALIASES = frozenset({"Identity", "IdentityN", "Snapshot", "StopGradient", "PreventGradient"})
_REDUCTIONS = frozenset({"All", "Any", "Max", "Mean", "Min", "Prod", "Sum"})  # through those of a scalar, too
VIEWS = ALIASES | {"ExpandDims", "Reshape", "Squeeze"}  # they hand on the memory of their first input

# The optimiser computes these from static shapes; they are no uses then.
OF_SHAPES = frozenset({"Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"})

_ANY_ORDER = frozenset({"Add", "AddN", "AddV2", "Maximum", "Minimum", "Mul", "SquaredDifference"})


class Uses:
    """The nodes of one function that run, and what they use. Tensors are named `node:argument:index`."""

    def __init__(self, function: TracedFunction) -> None:
        self._function = function
        self._definition = function.definition
        self.is_root = function.role == "root"

    @cached_property
    def nodes(self) -> dict[str, internals.NodeDef]:
        """All nodes by name."""
        return {node.name: node for node in self._definition.node_def}

    @cached_property
    def live(self) -> dict[str, None]:
        """Names of the nodes that run: what is returned or has effects, and all that leads to it."""
        return live_nodes(self._definition, self._definition.ret.values())

    def node_of(self, reference: str) -> internals.NodeDef | None:
        """The node that computes a tensor; None if it is an argument, or no tensor."""
        return None if reference.startswith("^") else self.nodes.get(reference.split(":")[0])

    def source_of(self, reference: str, through: frozenset[str] = ALIASES) -> str:
        """The tensor that a tensor is, looking through such nodes."""
        while (node := self.node_of(reference)) is not None and node.input:
            if node.op not in through and not self.is_alias(node):
                break
            at = int(reference.split(":")[2]) if node.op == "IdentityN" else 0
            reference = node.input[at]
        return reference

    def is_alias(self, node: internals.NodeDef) -> bool:
        """Whether a node hands on what it is given."""
        return node.op in ALIASES or node.name in self._scalar_reductions

    @cached_property
    def _scalar_reductions(self) -> set[str]:
        names = [name for name, node in self.nodes.items() if node.op in _REDUCTIONS]
        return {name for name in names if self._function.operations[name].inputs[0].shape.rank == 0}

    def users(self, reference: str) -> list[internals.NodeDef | None]:
        """The nodes that take a tensor, once for each time; None where the function returns it."""
        return self._users.get(reference, [])

    def used_outputs(self, node: internals.NodeDef) -> list[str]:
        """The outputs of a node that something uses."""
        return self._used_outputs.get(node.name, [])

    def only_user(self, reference: str) -> internals.NodeDef | None:
        """The one node that takes a tensor, if there is just one."""
        users = self.users(reference)
        return users[0] if len(users) == 1 else None

    def uses_of(self, reference: str) -> list[internals.NodeDef | None]:
        """As `users`, looking through aliases."""
        found: list[internals.NodeDef | None] = []
        waiting, seen = [reference], {reference}
        while waiting:
            tensor = waiting.pop()
            for use in self.users(tensor):
                if use is None or not self.is_alias(use):
                    found.append(use)
                    continue
                given = use.input if use.op == "IdentityN" else use.input[:1]
                handed_on = {f"{use.name}:output:{slot}" for slot, at in enumerate(given) if at == tensor}
                waiting += handed_on - seen
                seen |= handed_on
        return found

    def number_of(self, reference: str) -> tuple[object, ...]:
        """The same for tensors that are computed alike, whatever their nodes' attributes are."""
        name, *output = reference.split(":")
        return (self._numbers.get(name, name), *output)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The same number for nodes that the optimiser may take for one."""
        numbers: dict[str, int] = {}
        known: dict[tuple[object, ...], int] = {}
        for node in self._definition.node_def:
            parts = (each.split(":") for each in map(self.source_of, node.input))
            inputs = [(numbers.get(name, name), *output) for name, *output in parts]  # inputs come first
            if node.op in _ANY_ORDER:
                inputs.sort(key=repr)
            key: tuple[object, ...] = (node.op, *inputs)
            if node.op == "Const":
                key = (node.attr["value"].SerializeToString(),)
            elif internals.is_stateful(node.op):
                key = (node.name,)
            numbers[node.name] = known.setdefault(key, len(known) + 1)
        return numbers

    @cached_property
    def _users(self) -> dict[str, list[internals.NodeDef | None]]:
        users: dict[str, list[internals.NodeDef | None]] = {}
        for name in self.live:
            node = self.nodes[name]
            if node.op not in OF_SHAPES:
                for source in node.input:
                    users.setdefault(source, []).append(node)
        for source in self._definition.ret.values():
            users.setdefault(source, []).append(None)
        return users

    @cached_property
    def _used_outputs(self) -> dict[str, list[str]]:
        outputs: dict[str, list[str]] = {}
        for reference in self._users:
            outputs.setdefault(reference.split(":")[0], []).append(reference)
        return outputs
