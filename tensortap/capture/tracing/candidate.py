"""A tensor that may be captured, as a watch sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tensortap.core.names import tensor_name

Kind = Literal["", "input", "output", "weight", "gradient", "update", "loss"]
"""What a tensor is to the model: an input of the step, a layer's output, a weight as it was read, the
gradient that an optimizer is given, what the optimizer changes a weight by, or the loss that a gradient tape
derives from; empty for everything in between."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One output of one node of a traced function.

    `shape` is the static shape: None for an unknown dimension, and None as a whole for unknown rank.
    `variable` is the path of the variable that is read, or that a gradient belongs to, if there is one.
    """

    node: str
    slot: int
    op_type: str
    dtype: str
    shape: tuple[int | None, ...] | None = None
    layer: str = ""
    kind: Kind = ""
    variable: str = ""
    function: str = ""
    device: str = ""
    name: str = field(init=False, repr=False, compare=False)
    """The tensor name, `node:slot`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", tensor_name(self.node, self.slot))
