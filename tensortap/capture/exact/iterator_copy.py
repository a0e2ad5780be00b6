"""Iterators that can be drawn from twice: by a shadow, and then by the step itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tensortap.core.dtypes import Array
from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction
from tensortap.tfproto.function_calls import argument_inputs

from ..instrument.added_nodes import HOST
from .side_effects import NEXT_OPS

Elements = tuple[tuple[Any, ...], tuple[Any, ...]]
"""dtypes and TensorShapes of the parts of an iterator's elements."""


class SharedIterator:
    """Two iterators over one: the second gets the elements that the first drew from the real one.

    The second may draw more than the first did, as that failed; it is then given what follows, unless the
    real iterator was let go of (`detach`).
    """

    def __init__(self, dtypes: tuple[Any, ...], shapes: tuple[Any, ...]) -> None:
        self._dtypes, self._shapes = dtypes, shapes
        self._source: Any = None  # the handle of the real iterator
        self._pending: deque[Any] = deque()
        self._iterators: list[Any] = []  # referenced, because their handles are in use
        signature = tuple(tf.TensorSpec(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True))
        with tf.device(HOST):
            self._datasets = [
                tf.data.Dataset.from_generator(elements, output_signature=signature).with_options(_exactly())
                for elements in (self._draw, self._draw_again)
            ]

    def handles(self, source: Any) -> tuple[Any, Any]:
        """(the first, the second): handles of fresh iterators over a real one."""
        self.release()
        self._source = source
        with tf.device(HOST):
            self._iterators = [iter(dataset) for dataset in self._datasets]
        first, second = map(internals.iterator_handle, self._iterators)
        return first, second

    @property
    def drawn(self) -> list[tuple[Any, ...]]:
        """Elements, as arrays, that the first drew and the second did not yet."""
        return list(self._pending)

    def detach(self) -> None:
        """Draws no more from the real iterator."""
        self._source = None

    def release(self) -> None:
        """Releases the real iterator and the elements drawn from it."""
        self._source, self._iterators = None, []
        self._pending.clear()

    def _draw(self) -> Iterator[tuple[Any, ...]]:
        for element in self._elements():
            self._pending.append(element)
            yield element

    def _draw_again(self) -> Iterator[tuple[Any, ...]]:
        while self._pending:
            yield self._pending.popleft()
        yield from self._elements()

    def _elements(self) -> Iterator[tuple[Any, ...]]:
        while self._source is not None:
            try:
                parts = tf.raw_ops.IteratorGetNext(
                    iterator=self._source, output_types=self._dtypes, output_shapes=self._shapes
                )
            except tf.errors.OutOfRangeError:
                return
            yield tuple(internals.as_array(part) for part in parts)


def array_iterator(elements: Sequence[Sequence[Array]], signature: tuple[Any, ...]) -> Any:
    """An eager iterator over elements of arrays.

    Args:
        signature: a TensorSpec for each part.
    """
    with tf.device(HOST):
        return iter(
            tf.data.Dataset.from_generator(lambda: iter(map(tuple, elements)), output_signature=signature)
        )


def _exactly() -> tf.data.Options:
    """Options that turn off all that would draw elements ahead of time."""
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    options.experimental_optimization.inject_prefetch = False
    return options


def iterator_elements(functions: Mapping[str, TracedFunction]) -> dict[int, Elements]:
    """Element specs of the iterators among the root's arguments, by number of the argument.

    Raises:
        UncopiedIteratorError: the iterator is unknown, or an element has parts that are not plain tensors.
    """
    found: dict[int, Elements] = {}
    for function in functions.values():
        for operation in function.operations.values():
            if operation.type in NEXT_OPS:
                dtypes = tuple(operation.get_attr("output_types"))
                argument = _root_argument(functions, function, operation.inputs[0].op)
                if argument is None or tf.variant in dtypes or tf.resource in dtypes:
                    raise UncopiedIteratorError(operation.name)
                shapes = tuple(tf.TensorShape(shape) for shape in operation.get_attr("output_shapes"))
                found[argument] = dtypes, shapes
    return found


class UncopiedIteratorError(Exception):
    """An iterator cannot be drawn from twice; the argument is the drawing node."""


def _root_argument(
    functions: Mapping[str, TracedFunction], function: TracedFunction, operation: Any
) -> int | None:
    """Number of the root's argument that a resource comes from, through calls and loops."""
    while operation.type == "Identity":
        operation = operation.inputs[0].op
    arguments = list(function.arguments)
    if operation.name not in arguments:
        return None
    number = arguments.index(operation.name)
    if function.role == "root":
        return number
    caller = functions[function.parent]
    node = caller.operations[function.caller]
    return _root_argument(functions, caller, argument_inputs(node.type, list(node.inputs))[number].op)
