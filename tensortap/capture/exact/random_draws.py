"""Random numbers drawn by a recorded call, and functions that get them as arguments instead of drawing.

A stateful random op (`RandomStandardNormal`) cannot be rewound. What it drew becomes an argument of the root
(`DrawsAsArguments`), handed down through calls, loops and branches to
where it was drawn: a tensor where that happens once per call, an iterator where it happens in each iteration.
`RandomDrawValues` collects these of one call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tensortap.core.dtypes import Array
from tensortap.dump.recording.recording import Argument, Part
from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction, compiled_functions, reached
from tensortap.tf.random_ops import DRAWN_BY, RANDOM_OPS
from tensortap.tf.shapes import static_shape
from tensortap.tfproto.function_calls import LOOPS, Callee, Role, callees

from ..instrument.device_summary import DeviceSummary
from ..instrument.tap_queues import Route
from ..instrument.tapped_function import TapValues
from ..tracing.traced_function import Place, TracedRoot

_NAME = "tensortap_draws"
_RESOURCE = tf.resource.as_datatype_enum
SHUFFLE = "RandomShuffle"


class UnrecordableError(Exception):
    """A call cannot be run again from a file; the message is the reason, a clause: `it draws …`."""


class Output(NamedTuple):
    """One drawn output of a node: dtype and static shape (a TensorShape)."""

    dtype: Any
    shape: Any


class Declared(NamedTuple):
    """An argument that a function gains: name, number of the dtype, shape."""

    name: str
    type: int
    shape: Any


@dataclass(frozen=True)
class Draw:
    """The draws of a node at one place of the call, as seen from a function with `arguments` for it.

    Attributes:
        route: the calls that lead from that function to the node's.
        function, node: where it is drawn.
        op_type: by which op.
        outputs: of the node; of a shuffle the permutation.
        iterated: whether the argument is an iterator, which yields the outputs of one visit after the other;
            else there is one argument for each output.
    """

    route: Route
    function: str
    node: str
    op_type: str
    outputs: tuple[Output, ...]
    iterated: bool
    arguments: tuple[Declared, ...]


class DrawsAsArguments:
    """Copies of a root function and its callees, with the same names, that get their draws as arguments.

    Attributes:
        definitions: the FunctionDefs, the root's among them.
        draws: the draws in the root's additional arguments, in order.
        moved: by function, the definition's references to outputs of drawing nodes, by the original's.
        read: (function, node, slot) of what must be known of a call to make them, and the node that draws.

    Raises:
        UnrecordableError: XLA compiles a loop or branch in which numbers are drawn.
    """

    def __init__(self, root: str, functions: Mapping[str, TracedFunction]) -> None:
        self._functions = functions
        self._definitions = {
            name: internals.copied(function.definition, name) for name, function in functions.items()
        }
        self._found: dict[str, tuple[Role, list[Draw]]] = {}
        self._signed: dict[str, tuple[int, int]] = {}  # arguments of siblings before and after its own
        self._count = 0
        self._looped = _looped(functions)
        self._compiled = compiled_functions(functions)
        self.read: dict[tuple[str, str, int], str] = {}
        self.moved: dict[str, dict[str, str]] = {name: {} for name in functions}
        self.draws = self._draws_of(root, "root")
        self._sign(root, [self.draws], 0)

    @property
    def definitions(self) -> list[internals.FunctionDef]:
        return list(self._definitions.values())

    def compiled_draws(self) -> list[str]:
        """Names of the nodes that draw in functions which XLA compiles."""
        return [draw.node for draw in self.draws if draw.function in self._compiled]

    def _draws_of(self, name: str, role: Role) -> list[Draw]:
        """Makes a function read its draws, and those of its callees, from new arguments."""
        if name not in self._found:
            self._found[name] = role, []
            definition, found = self._definitions[name], self._found[name][1]
            for node in list(definition.node_def):
                if node.op in RANDOM_OPS:
                    found.append(self._own(self._functions[name], node, role))
                elif any(True for _ in callees(node)):
                    found += self._passed_on(name, node, role)
        known, found = self._found[name]
        if known != role and found:
            raise UnrecordableError(f"it draws random numbers in a function that is both {known} and {role}")
        return found

    def _own(self, function: TracedFunction, node: internals.NodeDef, role: Role) -> Draw:
        operation = function.operations[node.name]
        outputs = tuple(Output(tensor.dtype, tensor.shape) for tensor in operation.outputs)
        read = [(function.name, str(node.name), slot) for slot in range(len(outputs))]
        op_type = str(node.op)
        if op_type == SHUFFLE:
            source = operation.inputs[0]
            read.append((function.name, str(source.op.name), int(source.value_index)))
            outputs = (Output(tf.int64, _rows(outputs[0].shape)),)
        self.read |= dict.fromkeys(read, str(node.name))
        inner = Draw((), function.name, str(node.name), op_type, outputs, False, ())
        draw, references = self._entered(function.name, inner, role)
        definition = self._definitions[function.name]
        if op_type == SHUFFLE:
            _gather(definition, node, references[0], f"{draw.arguments[0].name}_axis")
        else:
            types = [output.dtype.as_datatype_enum for output in outputs]
            self.moved[function.name] |= _become_identity(definition, node, references, types)
        return draw

    def _passed_on(self, name: str, node: internals.NodeDef, role: Role) -> list[Draw]:
        """Passes the draws of its callees to a calling node; returns them as draws of the calling
        function."""
        called = list(callees(node))
        groups = [self._draws_of(callee.function, callee.role) for callee in called]
        if not any(groups):
            return []
        for position, callee in enumerate(called):
            self._sign(callee.function, groups, position)
        entered = [
            self._entered(name, _seen_from_caller(draw, node, callee), role)
            for callee, draws in zip(called, groups, strict=True)
            for draw in draws
        ]
        declared = [argument for draws in groups for draw in draws for argument in draw.arguments]
        _add_inputs(node, [each for _, references in entered for each in references], declared)
        return [draw for draw, _ in entered]

    def _entered(self, name: str, inner: Draw, role: Role) -> tuple[Draw, list[str]]:
        """Arguments that bring a draw into a function, and the references that read it.

        A loop's body is given an iterator, and so is a branch in it, which may not run in each iteration.
        """
        iterates = role in ("cond", "body") or (role in ("then", "else", "branch") and name in self._looped)
        if iterates or inner.iterated:
            if name in self._compiled:
                raise UnrecordableError(
                    f"XLA compiles a loop or branch that draws random numbers (node {inner.node!r}, "
                    f"{inner.op_type}); jit_compile=False makes it recordable"
                )
            declared: tuple[Declared, ...] = (self._declared(_RESOURCE, tf.TensorShape(())),)
        else:
            declared = tuple(
                self._declared(output.dtype.as_datatype_enum, output.shape) for output in inner.outputs
            )
        references = [argument.name for argument in declared]
        if iterates and not inner.iterated:
            references = _next(self._definitions[name], references[0], inner.outputs)
        changed = iterates or inner.iterated
        draw = Draw(inner.route, inner.function, inner.node, inner.op_type, inner.outputs, changed, declared)
        return draw, references

    def _declared(self, number: int, shape: Any) -> Declared:
        self._count += 1
        return Declared(f"{_NAME}_{self._count}", number, shape)

    def _sign(self, name: str, groups: Sequence[Sequence[Draw]], position: int) -> None:
        """Declares the arguments of a function: its own, and those of the other callees of the same node."""
        widths = [sum(len(draw.arguments) for draw in draws) for draws in groups]
        around = sum(widths[:position]), sum(widths[position + 1 :])
        if self._signed.setdefault(name, around) != around:
            raise UnrecordableError("a function that draws random numbers is called in several ways")
        definition = self._definitions[name]
        if any(argument.name.startswith(_NAME) for argument in definition.signature.input_arg):
            return  # called from another place before
        for at, draws in enumerate(groups):
            for declared in (argument for draw in draws for argument in draw.arguments):
                own = declared if at == position else self._declared(declared.type, declared.shape)
                _declare(definition, own)
                if self._found[name][0] == "body":
                    definition.signature.output_arg.add(name=f"{own.name}_out", type=own.type)
                    definition.ret[f"{own.name}_out"] = own.name


def _rows(shape: Any) -> Any:
    return tf.TensorShape([None] if shape.rank is None else shape.as_list()[:1])


def _seen_from_caller(draw: Draw, node: internals.NodeDef, callee: Callee) -> Draw:
    route = ((str(node.name), callee.function), *draw.route)
    return Draw(route, draw.function, draw.node, draw.op_type, draw.outputs, draw.iterated, ())


def _looped(functions: Mapping[str, TracedFunction]) -> set[str]:
    """Functions that a loop calls, directly or not."""
    return reached(
        functions,
        [
            callee.function
            for function in functions.values()
            for node in function.definition.node_def
            if node.op in LOOPS
            for callee in callees(node)
        ],
    )


def _declare(definition: internals.FunctionDef, argument: Declared) -> None:
    number = len(definition.signature.input_arg)
    definition.signature.input_arg.add(name=argument.name, type=argument.type)
    shapes = definition.arg_attr[number].attr["_output_shapes"].list
    shapes.shape.add().CopyFrom(argument.shape.as_proto())


def _next(definition: internals.FunctionDef, iterator: str, outputs: Sequence[Output]) -> list[str]:
    """Adds a node that draws from an iterator."""
    node = definition.node_def.add(name=f"{iterator}_next", op="IteratorGetNext", input=[iterator])
    for output in outputs:
        node.attr["output_types"].list.type.append(output.dtype.as_datatype_enum)
        node.attr["output_shapes"].list.shape.add().CopyFrom(output.shape.as_proto())
    return [f"{node.name}:components:{number}" for number in range(len(outputs))]


def _become_identity(
    definition: internals.FunctionDef,
    node: internals.NodeDef,
    references: Sequence[str],
    types: Sequence[int],
) -> dict[str, str]:
    """Turn a node into an identity of its new inputs, in its place and under its name.

    Returns:
        Old name of each output -> new name; empty if they are the same.
    """
    moved: dict[str, str] = {}
    if len(types) > 1:
        names = [argument.name for argument in internals.op_definition(node.op).output_arg]
        moved = {f"{node.name}:{name}:0": f"{node.name}:output:{at}" for at, name in enumerate(names)}
        for reader in definition.node_def:
            reader.input[:] = [moved.get(each, each) for each in reader.input]
        for result, read in definition.ret.items():
            definition.ret[result] = moved.get(read, read)
    _become(node, "Identity" if len(types) == 1 else "IdentityN", references)
    if len(types) == 1:
        node.attr["T"].type = types[0]
    else:
        node.attr["T"].list.type.extend(types)
    return moved


def _gather(
    definition: internals.FunctionDef, node: internals.NodeDef, permutation: str, axis_name: str
) -> None:
    """Makes a shuffle put rows into a given order."""
    number = node.attr["T"].type
    _become(node, "GatherV2", [node.input[0], permutation, f"{axis_name}:output:0"])
    node.attr["Tparams"].type = number
    node.attr["Tindices"].type, node.attr["Taxis"].type = (tf.int64.as_datatype_enum,) * 2
    node.attr["batch_dims"].i = 0
    axis = definition.node_def.add(name=axis_name, op="Const")
    axis.attr["dtype"].type = tf.int64.as_datatype_enum
    axis.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(0, tf.int64))


def _become(node: internals.NodeDef, op_type: str, inputs: Sequence[str]) -> None:
    waits_for = [each for each in node.input if each.startswith("^")]
    before, node.op = node.op, op_type
    node.input[:] = [*inputs, *waits_for]
    node.attr.clear()
    node.attr[DRAWN_BY].s = before.encode()


def _add_inputs(node: internals.NodeDef, references: Sequence[str], declared: Sequence[Declared]) -> None:
    """Appends inputs to a calling node."""
    data = [each for each in node.input if not each.startswith("^")]
    node.input[:] = [*data, *references, *(each for each in node.input if each.startswith("^"))]
    loop = node.op in LOOPS
    node.attr["T" if loop else "Tin"].list.type.extend(argument.type for argument in declared)
    if loop:
        # One iteration at a time, so that each gets its own draws.
        node.attr["parallel_iterations"].i = 1
        if node.attr["output_shapes"].list.shape:
            node.attr["output_shapes"].list.shape.extend(each.shape.as_proto() for each in declared)
        node.attr.pop("_output_shapes", None)


class RandomDrawValues:
    """Collects the values delivered by the taps of a call.

    Args:
        draws: the draws in the arguments, in order.
    """

    def __init__(self, traced: TracedRoot, draws: Sequence[Draw]) -> None:
        self._traced = traced
        self._draws = draws
        self._arrays: defaultdict[tuple[Route, Place], list[Array]] = defaultdict(list)

    def take(self, values: TapValues) -> None:
        """Adds tapped values, visit by visit."""
        for places, arrays, _, routes in values:
            for place, route, array in zip(places, routes, arrays or (), strict=False):
                if not isinstance(array, DeviceSummary):  # draws never are
                    self._arrays[route, place].append(array)

    def arguments(self) -> Iterator[Argument]:
        """Additional arguments, after the call's own.

        Raises:
            UnrecordableError: a node drew more often than it can have.
        """
        for draw in self._draws:
            candidate = self._traced.candidates.get((draw.function, draw.node, 0))
            name = candidate.node if candidate is not None else draw.node
            visits = self._visits(draw)
            if draw.iterated:
                parts = tuple(Part(each.dtype.name, static_shape(each.shape)) for each in draw.outputs)
                flat = tuple(array for visit in visits for array in visit)
                yield Argument("iterator", name, flat, parts=parts, drawn=True)
                continue
            if len(visits) > 1:
                raise UnrecordableError(f"its random draws cannot be distinguished (node {draw.node!r})")
            for array in visits[0] if visits else _never_read(draw):
                yield Argument("tensor", name, (array,), drawn=True)

    def _visits(self, draw: Draw) -> list[tuple[Array, ...]]:
        """The arrays of each visit."""
        count = 1 if draw.op_type == SHUFFLE else len(draw.outputs)
        places = [(draw.function, draw.node, slot) for slot in range(count)]
        visits = list(zip(*(self._arrays[draw.route, place] for place in places), strict=False))
        if draw.op_type != SHUFFLE:
            return visits
        source = self._traced.functions[draw.function].operations[draw.node].inputs[0]
        before = self._arrays[draw.route, (draw.function, source.op.name, source.value_index)]
        return [(_permutation(old, new),) for old, (new,) in zip(before, visits, strict=False)]


def _never_read(draw: Draw) -> list[Array]:
    """Placeholder for a missing draw: its branch was not taken, or the call failed earlier."""
    shapes = [static_shape(output.shape) or () for output in draw.outputs]
    return [
        np.zeros([extent or 0 for extent in shape], output.dtype.as_numpy_dtype)
        for shape, output in zip(shapes, draw.outputs, strict=True)
    ]


def _permutation(before: Array, after: Array) -> Array:
    """Row indices such that `before[indices]` is bit-identical to `after`."""
    waiting: defaultdict[Any, list[int]] = defaultdict(list)
    for number in reversed(range(len(before))):
        waiting[_key(before[number])].append(number)
    return np.array([waiting[_key(row)].pop() for row in after], np.int64)


def _key(row: Any) -> Any:
    array = np.asarray(row)
    return repr(array.tolist()) if array.dtype == object else array.tobytes()
