"""Overrides: a tensor of a recorded call is replaced by a function of itself; downstream nodes read that."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf

from tensortap.capture.tracing.traced_function import Place
from tensortap.core.errors import InvalidValueError, NotFoundError
from tensortap.dump.recording.recording import Recording
from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction
from tensortap.tfproto.function_calls import callees

from .loaded_call import LoadedCall

Change = Callable[[Any], Any]
"""A `tf.Tensor` -> one of the same dtype and a compatible shape, made of TensorFlow ops."""

MARK = "tensortap_override"


@dataclass(frozen=True, slots=True)
class MultiInputChange:
    """A change that reads further tensors of the same function, by name: `change(tensor, *further)`."""

    change: Callable[..., Any]
    names: tuple[str, ...]


def override(
    recording: Recording, changes: Mapping[str, Change | MultiInputChange], call: LoadedCall | None = None
) -> Recording:
    """A copy of the call with some tensors changed, at each visit.

    Args:
        changes: `node:slot` as in the graph of the dump -> what becomes of it.
        call: the same recording, if it is loaded already.

    Raises:
        NotFoundError: the call has no such tensor.
        InvalidValueError: a change cannot be traced, or gives another dtype or shape.
    """
    definitions = {each.signature.name: each for each in internals.definitions(recording.library)}
    added: list[Any] = []
    with contextlib.nullcontext(call) if call is not None else LoadedCall(recording) as loaded:
        places = {each.name: place for place, each in loaded.recorded.candidates.items()}
        for number, (name, change) in enumerate(changes.items()):
            reading = change if isinstance(change, MultiInputChange) else MultiInputChange(change, ())
            function, *_ = _place(places, name)
            traced = loaded.recorded.functions[function]
            read = [_tensor(traced, _place(places, each)) for each in (name, *reading.names)]
            body = _body(name, read, reading.change, f"{MARK}_{number}_{recording.step}")
            references = [_reference(traced, tensor) for tensor in read]
            _insert(definitions[loaded.original(function)], references, body, f"{MARK}_{number}")
            added.append(body)
    library = internals.library([*definitions.values(), *added])
    return replace(recording, library=library, output_hashes=(), variable_hashes={}, tensor_hashes={})


def changed_names(call: LoadedCall, changes: Collection[str]) -> dict[str, str]:
    """Candidates that `override` added to a call, by name -> the tensor that each replaces.

    The result of a change replaces the changed tensor. The original tensor, and the nodes that compute the
    change, are not replaced: an empty text.
    """
    names = dict.fromkeys(changes, "")
    for (function, node, _), candidate in call.recorded.candidates.items():
        if call.original(function).startswith(MARK):
            names[candidate.name] = ""
        elif re.fullmatch(rf"{MARK}_\d+", node):
            names[candidate.name] = list(changes)[int(node.rpartition("_")[2])]
    return names


def _place(places: Mapping[str, Place], name: str) -> Place:
    if name not in places:
        raise NotFoundError(
            f"The recorded step has no tensor {name!r}.", "List its nodes and tensors with 'tensortap step'."
        )
    return places[name]


def _tensor(function: TracedFunction, place: Place) -> Any:
    if place[0] != function.name:
        raise NotFoundError(f"{place[1]!r} is in another function.", "Use tensors of the same function.")
    return function.operations[place[1]].outputs[place[2]]


def _reference(function: TracedFunction, tensor: Any) -> str:
    reference = function.references.get(tensor.name)
    if reference is None:
        raise NotFoundError(f"The tensor {tensor.name!r} has no consumers.", "Change another tensor.")
    return reference


def _body(name: str, read: Sequence[Any], change: Callable[..., Any], function_name: str) -> Any:
    """The change as a FunctionDef of one output; the changed tensor is the first that it reads."""
    tensor = read[0]
    try:
        traced = tf.function(change, autograph=False).get_concrete_function(
            *(tf.TensorSpec(each.shape, each.dtype) for each in read)
        )
    except Exception as error:  # any error of the user's change during tracing
        raise InvalidValueError(f"{name} cannot be changed: {str(error).splitlines()[0][:200]}") from error
    result = traced.structured_outputs
    if not isinstance(result, tf.Tensor) or result.dtype != tensor.dtype:
        raise InvalidValueError(
            f"{name} is {tensor.dtype.name}, but its replacement is {getattr(result, 'dtype', result)!r}.",
            f"Cast the result to {tensor.dtype.name}.",
        )
    if not tensor.shape.is_compatible_with(result.shape):
        raise InvalidValueError(f"{name} has shape {tensor.shape}, but its replacement is {result.shape}.")
    definition = internals.copied(internals.function_def(traced.name.decode()), function_name)
    if any(True for node in definition.node_def for _ in callees(node)) or traced.captured_inputs:
        raise InvalidValueError(
            f"The change of {name} calls functions or reads variables.",
            "Use ops without variables or function calls.",
        )
    return definition


def _insert(definition: Any, references: Sequence[str], body: Any, node_name: str) -> None:
    """Inserts a call of `body` after the first tensor; all its consumers read the result."""
    output, reference = f"{node_name}:output:0", references[0]
    for node in definition.node_def:
        for number, read in enumerate(node.input):
            if read == reference:
                node.input[number] = output
    for result, read in definition.ret.items():
        if read == reference:
            definition.ret[result] = output
    node = definition.node_def.add(name=node_name, op="PartitionedCall", input=references)
    node.attr["Tin"].list.type.extend(argument.type for argument in body.signature.input_arg)
    node.attr["Tout"].list.type.append(body.signature.output_arg[0].type)
    node.attr["f"].func.name = body.signature.name
    for text in ("config", "config_proto", "executor_type"):
        node.attr[text].s = b""
