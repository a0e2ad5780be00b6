"""Signatures of nodes: hashes of a node and its neighbourhood, equal where two graphs look alike there.

Weisfeiler and Lehman's refinement (1968): a node's label is hashed with those of its neighbours, round by
round. Names do not count, so renaming changes nothing.
"""

from __future__ import annotations

import hashlib

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.index.graph.graph_index import GraphIndex

_PASS_ON = ("Cast", "Identity", "ReadVariableOp", "StopGradient")  # what a change of dtype adds or removes
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Neighbourhood:
    """A graph's nodes and data edges, as signatures need them.

    Attributes:
        base: uint64[nodes], of op type and shape (the dtype is left out: it may be what was changed).
    """

    def __init__(self, graph: GraphIndex) -> None:
        edges = graph.edges
        data = edges.control == 0
        passes = graph.op_type.where(lambda op_type: op_type in _PASS_ON)
        self.source = _behind(edges.source[data], edges.target[data], edges.input[data], passes)
        self.target = edges.target[data]
        self.place = (edges.slot[data].astype(np.int64) * 1009 + edges.input[data]).astype(np.uint64)
        shapes = _text_hashes(graph.shape.values)[graph.shape.codes]
        self.base = mixed(_text_hashes(graph.op_type.values)[graph.op_type.codes] + mixed(shapes))

    def refined(self, labels: Array, rounds: int) -> Array:
        """The labels, each hashed with those of the nodes up to `rounds` edges away."""
        for _ in range(rounds):
            above, below = np.zeros_like(labels), np.zeros_like(labels)
            # A sum of hashes: neighbours have no order, other than the place that is hashed with them.
            np.add.at(above, self.target, mixed(labels[self.source] + mixed(self.place)))
            np.add.at(below, self.source, mixed(labels[self.target] ^ mixed(self.place + _MIX)))
            labels = mixed(labels + mixed(above) + mixed(below ^ _MIX))
        return labels


def mixed(values: Array) -> Array:
    """A hash of each uint64 (splitmix64's)."""
    values = values.astype(np.uint64)
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashed: Array = (values ^ (values >> np.uint64(31))) + _MIX
    return hashed


def _text_hashes(texts: list[str]) -> Array:
    found = [int.from_bytes(_digest(text), "little") for text in texts]
    return np.array(found, np.uint64)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()


def _behind(source: Array, target: Array, place: Array, passes: Array) -> Array:
    """The sources, those that only pass a tensor on replaced by where they have it from."""
    before = np.arange(len(passes))
    first = (place == 0) & passes[target]
    before[target[first]] = source[first]
    for _ in range(8):  # chains of more are rare
        before = before[before]
    behind: Array = before[source]
    return behind
