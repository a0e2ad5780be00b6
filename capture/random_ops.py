"""Ops that draw random numbers from a stream that each keeps for itself."""

from __future__ import annotations

RANDOM_OPS = frozenset(
    {
        "Multinomial",
        "ParameterizedTruncatedNormal",
        "RandomGamma",
        "RandomPoissonV2",
        "RandomShuffle",
        "RandomStandardNormal",
        "RandomUniform",
        "RandomUniformInt",
        "TruncatedNormal",
    }
)
"""A copy of such an op has a stream of its own, so that it draws other numbers than the original."""
