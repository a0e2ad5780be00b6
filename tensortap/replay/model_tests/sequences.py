"""Whether what a step was given are sequences, of which a position can be in the future of another."""

from __future__ import annotations

from collections.abc import Iterable

from tensortap.core.errors import NotFoundError

from ..run.node_selection import ChosenNodes

_HANDED_ON = frozenset({"IteratorGetNext", "OptionalGetValue", "Identity", "Cast"})


def check_sequences(chosen: ChosenNodes, looked: Iterable[str], batch: int, length: int) -> None:
    """Looks at what the step computes of its inputs [batch, length, …].

    Args:
        looked: tensors with such a shape.

    Raises:
        NotFoundError: a convolution runs over the second axis as the height of an image, or nothing that is
            computed has such an axis.
    """
    for operation in chosen.operations.values():
        if operation.type == "Conv2D":
            image, kernel = (
                tensor.shape.as_list() if tensor.shape.rank else [] for tensor in operation.inputs
            )
            is_image = image[1:2] == [length] and image[0] in (batch, None)
            if is_image and kernel[:1] not in ([], [1], [None]):
                raise NotFoundError(
                    f"The step was given images, not sequences: {operation.name} convolves over the"
                    f" {length} rows.",
                    "This test needs inputs [batch, time, …].",
                )
    if all(chosen.candidates[name].op_type in _HANDED_ON for name in looked):
        raise NotFoundError(
            f"Nothing in the step is a sequence: nothing that it computes has an axis of {length} positions.",
            "This test needs inputs [batch, time, …] whose positions stay apart.",
        )
