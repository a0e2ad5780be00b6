"""A tensor that may be captured, as a watch sees it, and its role in words: "gradients of dense_2"."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tensortap.core.names import tensor_name

from ..errors import WatchError

Kind = Literal["", "input", "output", "weight", "gradient", "update", "loss"]
"""What a tensor is to the model: an input of the step, a layer's output, a weight as it was read, the
gradient that an optimizer is given, what the optimizer changes a weight by, or the loss that a gradient tape
derives from; empty for everything in between."""


KINDS = tuple(kind for kind in get_args(Kind) if kind)

_OTHER_WORDS = {"activation": "output", "losses": "loss"}
_OF_LAYER = re.compile(r"(?P<kind>\w+)\s+of\s+(?P<layer>\S.*)")


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


@dataclass(frozen=True)
class Role:
    """A kind of tensor, of all layers or of one. `layer` is a path, or the end or middle of one, in whole
    names: `dense_2` matches `model/dense_2` and everything in it, but not `dense_21`."""

    kind: str
    layer: str = ""

    def fits(self, candidate: Candidate) -> bool:
        """Whether a tensor has this role."""
        if candidate.kind != self.kind:
            return False
        return not self.layer or f"/{self.layer}/" in f"/{candidate.layer}/"


def parse_role(text: Any) -> Role:
    """`"gradient"`, `"gradients"`, `"gradients of dense_2"`.

    Raises:
        WatchError: it names no kind of tensor.
    """
    match = _OF_LAYER.fullmatch(text.strip()) if isinstance(text, str) else None
    word = match["kind"] if match else text
    kind = _kind(word) if isinstance(word, str) else ""
    if kind not in KINDS:
        raise WatchError(
            f"kinds={text!r} is unknown.",
            f"Use {', '.join(KINDS)}, or the kind of one layer: 'gradients of dense_2'.",
        )
    return Role(kind, match["layer"].strip().strip("/") if match else "")


def _kind(word: str) -> str:
    word = word.strip().lower()
    singular = word if word in KINDS or word in _OTHER_WORDS else word.removesuffix("s")
    return _OTHER_WORDS.get(singular, singular)
