"""In which floating-point dtypes a node's op can run, as its definition and the registered kernels say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import tensorflow as tf

from tensortap.tf import internals

FLOATS = (tf.float16, tf.bfloat16, tf.float32, tf.float64)
_FLOAT_TYPES = frozenset(dtype.as_datatype_enum for dtype in FLOATS)
_MOST_CHOICES = 4  # float attributes of one op for which every subset is tried

Types = Mapping[str, tuple[int, ...]]
"""Attribute of a node -> its dtypes, as numbers of `DataType`; one for `type`, any for `list(type)`."""


def is_float_type(number: int) -> bool:
    """Whether a number of `DataType` is one of `FLOATS`."""
    return number in _FLOAT_TYPES


def types_of(node: Any) -> dict[str, tuple[int, ...]]:
    """The dtype attributes of a NodeDef."""
    found: dict[str, tuple[int, ...]] = {}
    for name, value in node.attr.items():
        if value.HasField("type"):
            found[name] = (value.type,)
        elif value.HasField("list") and value.list.type:
            found[name] = tuple(value.list.type)
    return found


def changed_types(node: Any, target: int) -> dict[str, tuple[int, ...]] | None:
    """The dtype attributes of a node changed so that as many as possible of its floats have dtype `target`.

    Some kernels need some inputs in float32, independent of the others (batch normalization).

    Returns:
        None if it has a kernel for no choice but its own, or nothing of it is a float of another dtype.
    """
    types = {name: value for name, value in types_of(node).items() if not name.startswith("_")}
    names = [
        name for name, value in types.items() if any(map(is_float_type, value)) and set(value) != {target}
    ]
    for chosen in _choices(names):
        changed = types | {name: _replaced(types[name], target) for name in chosen}
        if has_kernel(node.op, changed):
            return changed
    return None


def _replaced(types: tuple[int, ...], target: int) -> tuple[int, ...]:
    return tuple(target if is_float_type(number) else number for number in types)


def _choices(names: list[str]) -> Iterator[tuple[str, ...]]:
    """Subsets, the largest first; of many names only all of them."""
    sizes = range(len(names), 0, -1) if len(names) <= _MOST_CHOICES else [len(names)]
    for size in sizes:
        yield from itertools.combinations(names, size)


def set_types(node: Any, types: Types) -> None:
    """Writes dtype attributes into a NodeDef."""
    for name, numbers in types.items():
        value = node.attr[name]
        if value.HasField("type"):
            value.type = numbers[0]
        else:
            value.list.type[:] = numbers


def has_kernel(op_type: str, types: Types) -> bool:
    """Whether the op's definition allows these dtypes, and a kernel of this machine takes them."""
    return _is_defined(op_type, types) and any(
        all(set(types.get(name, ())) <= allowed for name, allowed in kernel) for kernel in _kernels(op_type)
    )


def _is_defined(op_type: str, types: Types) -> bool:
    definition = internals.op_definition(op_type)
    return definition is not None and all(
        set(types.get(attribute.name, ())) <= set(attribute.allowed_values.list.type)
        for attribute in definition.attr
        if attribute.allowed_values.list.type
    )


@cache
def _kernels(op_type: str) -> list[list[tuple[str, frozenset[int]]]]:
    """The constraints of each kernel: attribute, dtypes that it takes."""
    devices = {device.device_type for device in tf.config.list_physical_devices()} | {"DEFAULT"}
    return [
        [
            (constraint.name, frozenset(constraint.allowed_values.list.type))
            for constraint in kernel.constraint
            if constraint.allowed_values.list.type
        ]
        for kernel in internals.kernels_of(op_type)
        if kernel.device_type in devices and not kernel.label
    ]


def input_types(node: Any) -> list[int]:
    """The dtype of each data input of a NodeDef, in order."""
    return _expanded(node, internals.op_definition(node.op).input_arg)


def output_types(node: Any) -> list[int]:
    """The dtype of each output of a NodeDef, by slot."""
    return _expanded(node, internals.op_definition(node.op).output_arg)


def _expanded(node: Any, arguments: Any) -> list[int]:
    found: list[int] = []
    for argument in arguments:
        if argument.type_list_attr:
            found += node.attr[argument.type_list_attr].list.type
            continue
        number = node.attr[argument.type_attr].type if argument.type_attr else argument.type
        found += [number] * (node.attr[argument.number_attr].i if argument.number_attr else 1)
    return found
