"""What the replaying process is asked, as JSON on its standard input, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """One replay.

    Attributes:
        source: folder of a recording, or a bundle.
        nodes: regular expression; the tensors whose names match are kept as values. None: no tensors.
        tensors: names of further tensors to keep.
        changes: tensor name -> expressions, `;` between them (`expression.parse_changes`).
        logdir, run: the run that the tensors are written into.
        verdicts: whether nodes are judged, each run alone: those that `nodes` names, or all.
        certify: whether the call is run with and without taps on these tensors, and compared.
        study: what else is found out, of `studies.STUDIES`, about the tensors that `nodes` names, or all;
            `options` say how.
    """

    source: str
    nodes: str | None = None
    tensors: Sequence[str] = ()
    changes: Mapping[str, str] = field(default_factory=dict)
    logdir: str = ""
    run: str = "replay"
    verdicts: bool = False
    certify: bool = False
    study: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a replay found.

    Attributes:
        identical: whether every output and variable is bit by bit as recorded; None if tensors were changed,
            so that there is nothing to compare with.
        outputs, variables: how many were compared.
        differing: names of variables, and `output N`, that are not as recorded.
        tensors: how many tensors were written.
        failed: what the call raised, or empty.
        recorded_failure: what it raised when it was recorded.
        versions: `name: recorded, here` where they differ.
        verdicts: `verdict.Verdict` as objects, worst first.
        not_judged: reason -> how many nodes.
        certificate: `certificate.Certificate` as an object, if it was asked for.
        study: what the study found, as its function says.
        proofs: of each tensor that was captured in the recorded call and is computed again, whether each of
            its visits has the hash that was recorded of it; empty if tensors were changed.
        untapped: whether every output and variable is as recorded if no tensor is tapped; None if that was
            not looked at, as none was tapped, or nothing differs.
        ulp: of those that differ only where tensors are tapped, how far they are from what was recorded, in
            units in the last place of the largest number (`ulp_of_largest`), where that can be said.
    """

    identical: bool | None
    outputs: int
    variables: int
    differing: Sequence[str]
    tensors: int
    failed: str
    recorded_failure: str
    versions: Sequence[str]
    verdicts: Sequence[Mapping[str, Any]] = ()
    not_judged: Mapping[str, int] = field(default_factory=dict)
    certificate: Mapping[str, Any] | None = None
    study: Mapping[str, Any] | None = None
    proofs: Mapping[str, bool] = field(default_factory=dict)
    untapped: bool | None = None
    ulp: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Answer:
        """From JSON."""
        return cls(**{name: record[name] for name in cls.__slots__})
