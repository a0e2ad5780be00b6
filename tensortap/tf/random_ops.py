"""Ops that draw random numbers from a stream that each keeps for itself."""

from __future__ import annotations

from typing import Any

RANDOM_OPS = frozenset(
    {
        "AllCandidateSampler",
        "FixedUnigramCandidateSampler",
        "LearnedUnigramCandidateSampler",
        "LogUniformCandidateSampler",
        "Multinomial",
        "ParameterizedTruncatedNormal",
        "RandomCrop",
        "RandomGamma",
        "RandomPoisson",
        "RandomPoissonV2",
        "RandomShuffle",
        "RandomStandardNormal",
        "RandomUniform",
        "RandomUniformInt",
        "SampleDistortedBoundingBox",
        "SampleDistortedBoundingBoxV2",
        "ThreadUnsafeUnigramCandidateSampler",
        "TruncatedNormal",
        "UniformCandidateSampler",
    }
)
"""A copy of such an op has a separate stream, so it draws other numbers than the original."""


def has_own_stream(node: Any) -> bool:
    """Whether a node (NodeDef) draws from a seeded stream with state in its kernel."""
    return node.op in RANDOM_OPS and bool(node.attr["seed"].i or node.attr["seed2"].i)


DRAWN_BY = "_tensortap_drawn_by"
"""The attribute with the original type of such an op, whose node in a copy gets a draw made before it."""

_DRAWING = (
    "StatelessRandom",
    "StatelessTruncatedNormal",
    "StatelessParameterizedTruncatedNormal",
    "StatelessMultinomial",
    "StatelessShuffle",
    "StatefulRandomBinomial",
    "StatefulStandardNormal",
    "StatefulTruncatedNormal",
    "StatefulUniform",
)


def draws(op_type: str) -> bool:
    """Whether an op draws random numbers: from its own stream, a generator, or a given seed."""
    return op_type in RANDOM_OPS or op_type.startswith(_DRAWING)
