"""Which elementwise operations TensorFlow's graph optimizer merges with the only one that follows.

`Uses` counts who uses a tensor as the optimizer does, `Merges` knows its rules (see `grappler_duplicates`):
they look at pairs of neighbours. Where it may first turn one of them into something else (an operation with a
constant vanishes or becomes another one, factors are taken out of a sum), all pairs count as merged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction

from .liveness import live_nodes

# The optimizer looks through these.
ALIASES = frozenset({"Identity", "IdentityN", "Snapshot", "StopGradient", "PreventGradient"})
REDUCTIONS = frozenset({"All", "Any", "Max", "Mean", "Min", "Prod", "Sum"})  # through those of a scalar, too
VIEWS = ALIASES | {"ExpandDims", "Reshape", "Squeeze"}  # they forward the memory of their first input

# The optimizer computes these from static shapes; then they do not count as uses.
OF_SHAPES = frozenset({"Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"})

_ANY_ORDER = frozenset({"Add", "AddN", "AddV2", "Maximum", "Minimum", "Mul", "SquaredDifference"})

CONTRACTIONS = frozenset({"BatchMatMulV2", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "MatMul"})
# What makes one kernel of a contraction and a bias before it, with other bits than the two.
ACTIVATIONS = frozenset({"AddV2", "Elu", "Mul", "Neg", "Pow", "RealDiv", "Sigmoid", "Tanh"})

_ADDS = frozenset({"Add", "AddN", "AddV2"})
_DIVISIONS = frozenset({"Div", "DivNoNan", "RealDiv"})
_PRODUCTS = _DIVISIONS | {"Mul", "MulNoNan"}
_NAMES = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Cast Ceil Cos Cosh Elu Erf Erfc Exp Expm1 Floor Inv LeakyRelu Log"
    " Log1p Neg Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sin Sinh Softplus Softsign Sqrt Square"
    " Tan Tanh"
)
_UNARY = frozenset(_NAMES.split())
_OTHERS = {"Maximum", "Minimum", "Pow", "SquaredDifference", "Sub"}
ELEMENTWISE = ALIASES | _ADDS | _PRODUCTS | _UNARY | _OTHERS

# Sums are joined, products ordered by shape and freed of constants, unary operations composed.
_FAMILIES = (_ADDS | {"Sub"}, _PRODUCTS, _UNARY)
_OF_PRODUCTS = ("Erf", "Erfc", "Rsqrt", "Sigmoid", "Softplus", "Tanh")  # in gelu, swish, normalizations
_PAIRS = (
    {("Sub", "Square")}
    | {("Sqrt", division) for division in _DIVISIONS}
    | {(part, "Mul") for part in _OF_PRODUCTS}
    | {("Mul", part) for part in ("Erf", "Erfc", "Tanh")}
)
INVERSES = frozenset({"Inv", "Neg", "Reciprocal"})  # two of them are none
_RECTIFIERS = frozenset({"LeakyRelu", "Relu"})
_LARGEST_LOOKED_AT = 64 << 10  # bytes of a constant


class Uses:
    """The running nodes of one function, and their inputs. Tensors are named `node:argument:index`."""

    def __init__(self, function: TracedFunction) -> None:
        self._function = function
        self._definition = function.definition
        self.is_root, self._is_body = function.role == "root", function.role == "body"

    @cached_property
    def nodes(self) -> dict[str, internals.NodeDef]:
        """All nodes by name."""
        return {node.name: node for node in self._definition.node_def}

    @cached_property
    def live(self) -> dict[str, None]:
        """Names of the running nodes: those that compute results or have effects, and their ancestors."""
        return live_nodes(self._definition, self._definition.ret.values())

    def node_of(self, reference: str) -> internals.NodeDef | None:
        """The node that computes a tensor; None for arguments."""
        return None if reference.startswith("^") else self.nodes.get(reference.split(":")[0])

    def source_of(self, reference: str, through: frozenset[str] = ALIASES) -> str:
        """The original tensor behind aliases."""
        while (node := self.node_of(reference)) is not None and node.input:
            if node.op not in through and not self.is_alias(node):
                break
            at = int(reference.split(":")[2]) if node.op == "IdentityN" else 0
            reference = node.input[at]
        return reference

    def is_alias(self, node: internals.NodeDef) -> bool:
        """Whether a node only forwards its input."""
        return node.op in ALIASES or node.name in self._scalar_reductions

    @cached_property
    def _scalar_reductions(self) -> set[str]:
        names = [name for name, node in self.nodes.items() if node.op in REDUCTIONS]
        return {name for name in names if self._function.operations[name].inputs[0].shape.rank == 0}

    @cached_property
    def invariants(self) -> frozenset[str]:
        """Arguments of a loop's body that it does not change: the loop holds them anyway."""
        if not self._is_body:
            return frozenset()
        results = [self._definition.ret[result.name] for result in self._definition.signature.output_arg]
        pairs = zip(self._function.arguments, results, strict=False)
        return frozenset(given for given, result in pairs if self.source_of(result) == given)

    def may_be_constant(self, argument: str) -> bool:
        """Whether the optimizer may know an argument: its caller may pass a constant."""
        return argument in self.invariants if self._is_body else not self.is_root

    def users(self, reference: str) -> list[internals.NodeDef | None]:
        """The consumers of a tensor, each as often as it uses it; a None for each result that it is."""
        return self._users.get(reference, [])

    def used_outputs(self, node: internals.NodeDef) -> list[str]:
        """The outputs of a node that something uses."""
        return self._used_outputs.get(node.name, [])

    def uses_of(self, reference: str) -> list[internals.NodeDef | None]:
        """The `users` of a node, looking through aliases."""
        found: list[internals.NodeDef | None] = []
        waiting, seen = [reference], {reference}
        while waiting:
            tensor = waiting.pop()
            for use in self.users(tensor):
                if use is None or not self.is_alias(use):
                    found.append(use)
                    continue
                given = use.input if use.op == "IdentityN" else use.input[:1]
                passed_on = {f"{use.name}:output:{slot}" for slot, at in enumerate(given) if at == tensor}
                waiting += passed_on - seen
                seen |= passed_on
        return found

    def number_of(self, reference: str) -> tuple[object, ...]:
        """Equal for tensors that are computed alike, whatever their nodes' attributes are."""
        name, *output = reference.split(":")
        return (self._numbers.get(name, name), *output)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The same number for nodes that the optimizer may take for one."""
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


class Merges:
    """Decides whether the optimizer merges pairs of nodes of one function."""

    def __init__(self, uses: Uses) -> None:
        self._uses = uses
        self._constant: dict[str, bool] = {}
        self._special: dict[str, bool] = {}

    def are_merged(self, node: internals.NodeDef, user: internals.NodeDef) -> bool:
        """Whether an elementwise node may be merged with its only user, an elementwise one."""
        if self._changes(node) or self._changes(user):
            return True
        if any(node.op in family and user.op in family for family in _FAMILIES) and (
            not {node.op, user.op} & _DIVISIONS or self._may_multiply(node) or self._may_multiply(user)
        ):
            return True
        if (node.op, user.op) in _PAIRS or self._follows_kernel(node) or self._follows_kernel(user):
            return True
        if any(each.op in _ADDS and self.is_part_of_sum(each) for each in (node, user)):
            return True
        if user.op in _PRODUCTS and self._is_used_by(user, self._shares_factor):
            return True
        return self._ends_normalization(node, user)

    def _changes(self, node: internals.NodeDef) -> bool:
        """Whether the optimizer may replace or remove a node."""
        if self._uses.is_alias(node) or node.op in ("Cast", "Pow"):
            return True
        operands = [self._uses.source_of(operand) for operand in _operands(node)]
        if len(operands) > 1 and (len(set(operands)) == 1 or any(map(self.is_special, operands))):
            return True
        if node.op in INVERSES:
            return self._is_used_by(node, lambda user: user.op in INVERSES or _adds_two(user))
        return self._shares_factor(node)

    def _may_multiply(self, node: internals.NodeDef) -> bool:
        """Whether a division may become a product, or pass its constant to one."""
        operands = [self._uses.source_of(operand) for operand in _operands(node)]
        divisor = self._uses.node_of(operands[-1])
        by_root = divisor is not None and divisor.op in ("Pow", "Sqrt")
        return by_root or any(map(self._is_constant, operands))

    def _shares_factor(self, node: internals.NodeDef) -> bool:
        """Whether a node sums products (or fractions) with a factor (or denominator) in common."""
        if node.op not in _ADDS:
            return False
        terms = [self._uses.node_of(self._uses.source_of(operand)) for operand in _operands(node)]
        if all(term is not None and term.op in _PRODUCTS for term in terms):
            factors = [set(map(self._uses.source_of, _operands(term))) for term in terms if term is not None]
            return bool(set.intersection(*factors))
        return False

    def adds_nothing(self, node: internals.NodeDef) -> bool:
        """Whether a sum is none, as with the mean of standard normal noise."""
        values = [self._value(self._uses.source_of(operand)) for operand in _operands(node)]
        return node.op in _ADDS and any(value is not None and not value.any() for value in values)

    def is_part_of_sum(self, node: internals.NodeDef) -> bool:
        """Whether a sum is joined with others to one of at least three terms: its order may change then.

        So it may if two of its terms are computed alike, and become one.
        """
        terms = [self._uses.source_of(operand) for operand in _operands(node)]
        if len({self._uses.number_of(term) for term in terms}) < len(terms):
            return True
        if any(term is not None and self._adds(term) for term in map(self._uses.node_of, terms)):
            return True
        return self._is_used_by(
            node, lambda user: self._adds(user) or (user.op in ELEMENTWISE and self._changes(user))
        )

    def _adds(self, node: internals.NodeDef) -> bool:
        return node.op in _ADDS and not self.adds_nothing(node)

    def _follows_kernel(self, node: internals.NodeDef) -> bool:
        """Whether a node becomes a part of the kernel of a contraction or normalization before it."""
        for operand in _operands(node):
            reference = self._uses.source_of(operand, VIEWS)
            kernel = self._uses.node_of(reference)
            if kernel is None:
                continue
            uses = self._uses.uses_of(reference)
            if kernel.op in CONTRACTIONS or kernel.op.startswith("FusedBatchNorm"):
                if len(uses) == 1:
                    return True
            elif kernel.op == "BiasAdd" and all(use is None or use.op in ACTIVATIONS for use in uses):
                return True
        return False

    def _ends_normalization(self, node: internals.NodeDef, user: internals.NodeDef) -> bool:
        """Whether it may be `x * scale + offset` of a normalization that becomes one kernel: then the scale
        has no other consumer, such as its gradient."""
        if node.op == "Mul" and _adds_two(user):
            return any(self._is_scale(operand) for operand in _operands(node))
        if node.op in _ADDS and user.op in _RECTIFIERS:
            terms = (self._uses.node_of(self._uses.source_of(operand)) for operand in _operands(node))
            return any(term is not None and self._ends_normalization(term, node) for term in terms)
        return False

    def _is_scale(self, operand: str) -> bool:
        reference = self._uses.source_of(operand)
        node = self._uses.node_of(reference)
        uses = self._uses.uses_of(reference)
        return (
            node is not None
            and node.op in ELEMENTWISE
            and len(uses) <= 2
            and all(use is None or use.op == "Mul" for use in uses)
        )

    def _is_used_by(self, node: internals.NodeDef, fits: Callable[[internals.NodeDef], bool]) -> bool:
        """Whether one of the nodes that use the first output of a node fits."""
        outputs = self._uses.used_outputs(node)
        return any(use is not None and fits(use) for each in outputs for use in self._uses.uses_of(each))

    def is_special(self, reference: str) -> bool:
        """Whether a tensor may be a known 0, 1 or -1, which replaces an operation."""
        if reference not in self._special:
            known = self._is_constant(reference)
            self._special[reference] = known and self._may_hold(reference, (-1, 0, 1))
        return self._special[reference]

    def _is_constant(self, reference: str) -> bool:
        """Whether the optimizer may know a tensor's value."""
        waiting = [reference]  # no recursion: chains may be long
        while waiting:
            tensor = waiting[-1]
            missing = [source for source in self._decisive(tensor) if source not in self._constant]
            waiting += missing
            if not missing:
                waiting.pop()
                self._constant[tensor] = self._is_constant_now(tensor)
        return self._constant[reference]

    def _decisive(self, reference: str) -> list[str]:
        """Inputs that decide whether a tensor is constant."""
        node = self._uses.node_of(reference)
        free = node is None or node.op in OF_SHAPES or internals.is_stateful(node.op)
        return [] if node is None or free else _operands(node)

    def _is_constant_now(self, reference: str) -> bool:
        """`_is_constant`, once the nodes that decide it are known."""
        node = self._uses.node_of(reference)
        if node is None:
            return self._uses.may_be_constant(reference)
        if node.op in OF_SHAPES or internals.is_stateful(node.op):
            return node.op in OF_SHAPES
        constant = [operand for operand in _operands(node) if self._constant[operand]]
        if node.op in _PRODUCTS | CONTRACTIONS and any(self._may_hold(each, (0,)) for each in constant):
            return True
        return len(constant) == len(_operands(node))

    def _may_hold(self, reference: str, numbers: tuple[int, ...]) -> bool:
        """Whether one of these may be among the elements of a constant."""
        value = self._value(reference)
        return value is None or bool(np.isin(value, numbers).any())

    def _value(self, reference: str) -> Any:
        """A small constant, or the difference of two (the width of a uniform distribution); else None."""
        node = self._uses.node_of(reference)
        if node is not None and node.op == "Sub":
            values = [self._value(self._uses.source_of(operand)) for operand in _operands(node)]
            if all(value is not None and value.ndim == 0 for value in values):
                return values[0] - values[1]
        if node is None or node.op != "Const" or node.ByteSize() > _LARGEST_LOOKED_AT:
            return None
        return tf.make_ndarray(node.attr["value"].tensor)


def _adds_two(node: internals.NodeDef) -> bool:
    """Whether a node adds or subtracts two tensors, and not by `AddN`."""
    return node.op in ("Add", "AddV2", "Sub")


def _operands(node: internals.NodeDef) -> list[str]:
    return [source for source in node.input if not source.startswith("^")]
