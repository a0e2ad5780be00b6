"""Which forward node a gradient node belongs to, from TensorFlow's naming."""

from __future__ import annotations

import re
from collections.abc import Container

# tf.GradientTape: gradient_tape/<forward node>/<op>; tf.gradients: gradients/<forward node>_grad/<op>.
_TAPE = re.compile(r"(?:(?P<above>.+)/)?gradient_tape(?:_\d+)?/(?P<rest>.+)\Z")
_SYMBOLIC = re.compile(r"(?:(?P<above>.+)/)?gradients(?:_\d+)?/(?P<rest>.+)_grad(?:_\d+)?/[^/]+\Z")


def forward_node(name: str, nodes: Container[str]) -> str | None:
    """The node whose gradient `name` computes a part of, if the graph holds it; None for other nodes.

    `gradient_tape/dense/MatMul/MatMul_1` -> `dense/MatMul`; `gradients/dense/Relu_grad/ReluGrad` ->
    `dense/Relu`.
    """
    match = _TAPE.match(name) or _SYMBOLIC.match(name)
    if match is None:
        return None
    parts = match["rest"].split("/")
    for length in range(len(parts), 0, -1):
        candidate = "/".join(parts[:length])
        within = f"{match['above']}/{candidate}" if match["above"] else candidate
        for found in (within, candidate):
            if found in nodes:
                return found
    return None
