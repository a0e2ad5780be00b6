"""A recorded call in another floating-point dtype: as a whole, or some of its nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.capture.exact.side_effects import acts_on_variables
from tensortap.core.errors import InvalidValueError
from tensortap.dump.recording.recording import Argument, Part, Recording
from tensortap.tf import internals
from tensortap.tf.random_ops import draws
from tensortap.tfproto.function_calls import callees

from .kernel_types import changed_types, input_types, is_float_type, output_types, set_types, types_of
from .loaded_call import LoadedCall

CAST_MARK = "tensortap_cast"
"""Begins the names of the nodes that cast between those of another dtype."""

# Their dtypes say how bits are read, not how precise numbers are.
_BIT_OPS = frozenset({"Bitcast"})


def change_dtype(recording: Recording, dtype: str, call: LoadedCall) -> Recording:
    """A copy of the call with all its floats in one dtype: variables, inputs, constants, nodes.

    Nodes that draw random numbers draw the recorded ones, in their own dtype, and are cast. So do nodes that
    have no kernel for the dtype. XLA is skipped, which would merge nodes and round less often.

    Args:
        dtype: `float16`, `bfloat16`, `float32` or `float64`.
        call: the same recording, loaded.

    Raises:
        InvalidValueError: a node that changes a variable has no kernel for the dtype.
    """
    target = tf.as_dtype(dtype).as_datatype_enum
    definitions = internals.definitions(recording.library)
    flat = _flat_names(call)
    for definition in definitions:
        if definition.signature.name in flat:  # functions without callers are missing
            _Rewriting(definition, flat[definition.signature.name], target, None).run()
    return replace(
        recording,
        library=internals.library(definitions),
        arguments=tuple(_argument(argument, dtype) for argument in recording.arguments),
        output_hashes=(),
        variable_hashes={},
        tensor_hashes={},
    )


def change_nodes_dtype(
    recording: Recording, nodes: Mapping[str, Collection[str]], call: LoadedCall, dtype: str = "float32"
) -> Recording:
    """The same call with some nodes in another dtype; tensors between two of these are not cast.

    Args:
        nodes: name of a function in the recording -> names of its nodes.
        call: the same recording, loaded.
    """
    target = tf.as_dtype(dtype).as_datatype_enum
    definitions = internals.definitions(recording.library)
    flat = _flat_names(call)
    for definition in definitions:
        name = definition.signature.name
        if nodes.get(name):
            _Rewriting(definition, flat[name], target, frozenset(nodes[name])).run()
        if name in flat:
            _forget_lists(definition)
    return replace(
        recording,
        library=internals.library(definitions),
        output_hashes=(),
        variable_hashes={},
        tensor_hashes={},
    )


def _flat_names(call: LoadedCall) -> dict[str, Mapping[str, str]]:
    """Flat names of each function, by its name in the recording; see `TracedFunction.flat_names`."""
    functions = call.recorded.functions
    return {call.original(name): function.flat_names for name, function in functions.items()}


class _Rewriting:
    """Changes one FunctionDef.

    Args:
        flat: its reference to a tensor -> `node:slot`.
        target: number of the dtype.
        chosen: nodes that run in it; None: all, including the function's arguments and results.
    """

    def __init__(
        self, definition: Any, flat: Mapping[str, str], target: int, chosen: Collection[str] | None
    ) -> None:
        self._definition, self._flat, self._target, self._chosen = definition, flat, target, chosen
        self._types: dict[str, int] = {}  # `node:slot` -> dtype, after the change
        self._casts: dict[tuple[str, int], str] = {}

    def run(self) -> None:
        nodes = list(self._definition.node_def)
        before = {node.name: input_types(node) for node in nodes}
        if self._chosen is None:
            self._change_signature()
        for argument in self._definition.signature.input_arg:
            self._types[f"{argument.name}:0"] = argument.type
        for node in nodes:
            self._change(node)
            for slot, number in enumerate(output_types(node)):
                self._types[f"{node.name}:{slot}"] = number
        for node in nodes:
            self._connect(node, before[node.name])
        for output in self._definition.signature.output_arg:
            read = self._definition.ret[output.name]
            self._definition.ret[output.name] = self._read(read, output.type)

    def _change_signature(self) -> None:
        signature = self._definition.signature
        for argument in (*signature.input_arg, *signature.output_arg):
            if is_float_type(argument.type):
                argument.type = self._target
        for attributes in self._definition.arg_attr.values():
            _forget_handle(attributes)
        _leave_xla(self._definition.attr)
        self._definition.attr.pop("api_implements", None)  # the optimizer would put another function there

    def _change(self, node: Any) -> None:
        if self._chosen is None:
            _leave_xla(node.attr)
        elif node.name not in self._chosen:
            return
        if node.op in _BIT_OPS or draws(node.op):
            return
        if any(True for _ in callees(node)):
            if self._chosen is None:
                self._change_call(node)
            return
        types = changed_types(node, self._target)
        if types is None:
            self._check_unchanged(node)
            return
        if node.op == "Const":
            _cast_constant(node, self._target)
        set_types(node, types)

    def _check_unchanged(self, node: Any) -> None:
        floats = {number for types in types_of(node).values() for number in types if is_float_type(number)}
        if self._chosen is None and acts_on_variables(node.op) and floats - {self._target}:
            raise InvalidValueError(
                f"The step cannot run in {tf.as_dtype(self._target).name}: {node.op} (node"
                f" {node.name[:120]!r}) has no kernel for it.",
                "Choose another dtype.",
            )

    def _change_call(self, node: Any) -> None:
        for value in node.attr.values():
            if value.HasField("type") and is_float_type(value.type):
                value.type = self._target
            if value.HasField("list"):
                value.list.type[:] = [
                    self._target if is_float_type(each) else each for each in value.list.type
                ]

    def _connect(self, node: Any, before: list[int]) -> None:
        """Connects each input of a node in the dtype that it requires."""
        after = input_types(node)
        if len(after) != len(before):  # cannot be: the number of inputs does not depend on dtypes
            raise InvalidValueError(f"The node {node.name[:120]!r} cannot run in another dtype.")
        for number, wanted in enumerate(after):
            if is_float_type(wanted):
                node.input[number] = self._read(node.input[number], wanted)

    def _read(self, reference: str, wanted: int) -> str:
        held = self._types[self._flat[reference]]
        if held == wanted or not (is_float_type(held) and is_float_type(wanted)):
            return reference
        key = reference, wanted
        if key not in self._casts:
            name = f"{CAST_MARK}_{len(self._casts)}"
            cast = self._definition.node_def.add(name=name, op="Cast", input=[reference])
            cast.attr["SrcT"].type, cast.attr["DstT"].type = held, wanted
            self._casts[key] = f"{name}:y:0"
        return self._casts[key]


def _forget_lists(definition: Any) -> None:
    """Forgets the dtypes of tensor lists, e.g. of loops' gradients: the lists may have another dtype than
    their argument says."""
    for number, argument in enumerate(definition.signature.input_arg):
        if argument.type == tf.variant.as_datatype_enum and number in definition.arg_attr:
            _forget_handle(definition.arg_attr[number])


def _forget_handle(attributes: Any) -> None:
    attributes.attr.pop("_handle_dtypes", None)
    attributes.attr.pop("_handle_shapes", None)


def _leave_xla(attributes: Any) -> None:
    for name in [name for name in attributes if name.startswith("_Xla")]:
        attributes.pop(name)


def _cast_constant(node: Any, target: int) -> None:
    """Casts a constant and keeps finite numbers finite: -1e9 in a mask would become -inf, and NaN when
    multiplied by 0. Half of the dtype's maximum leaves room for additions."""
    tensor, dtype = node.attr["value"].tensor, tf.as_dtype(target)
    held = tf.make_ndarray(tensor)
    with np.errstate(all="ignore"):
        array = held.astype(dtype.as_numpy_dtype)
        lost = np.isinf(array) & np.isfinite(held)
        array[lost] = (np.sign(held[lost]) * (float(dtype.max) / 2)).astype(array.dtype)
    tensor.CopyFrom(tf.make_tensor_proto(array, shape=array.shape))


def _argument(argument: Argument, dtype: str) -> Argument:
    own = dtype if _is_float_name(argument.dtype) else argument.dtype
    parts = tuple(Part(dtype, part.shape) if _is_float_name(part.dtype) else part for part in argument.parts)
    arrays = tuple(_cast(array, dtype) for array in argument.arrays)
    return replace(argument, dtype=own, parts=parts, arrays=arrays)


def _is_float_name(name: str) -> bool:
    return name in ("float16", "bfloat16", "float32", "float64")


def _cast(array: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        floats = _is_float_name(array.dtype.name)
        return array.astype(tf.as_dtype(dtype).as_numpy_dtype) if floats else array
