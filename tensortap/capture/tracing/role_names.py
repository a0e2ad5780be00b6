"""What a tensor is to the model, in words: "gradients of dense_2", "weights"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, get_args

from ..errors import WatchError
from .candidate import Candidate, Kind

KINDS = tuple(kind for kind in get_args(Kind) if kind)

_OTHER_WORDS = {"activation": "output", "losses": "loss"}
_OF_LAYER = re.compile(r"(?P<kind>\w+)\s+of\s+(?P<layer>\S.*)")


@dataclass(frozen=True)
class Role:
    """A kind of tensor, of all layers or of one. `layer` is a path or the end or middle of one, in whole
    names: `dense_2` stands for `model/dense_2` and for what lies in it, not for `dense_21`."""

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
            f"There are: {', '.join(KINDS)}; also of one layer: 'gradients of dense_2'.",
        )
    return Role(kind, match["layer"].strip().strip("/") if match else "")


def _kind(word: str) -> str:
    word = word.strip().lower()
    singular = word if word in KINDS or word in _OTHER_WORDS else word.removesuffix("s")
    return _OTHER_WORDS.get(singular, singular)
