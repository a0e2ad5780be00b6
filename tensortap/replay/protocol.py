"""Requests to the replaying process and its answers: a replay of a call, or tensors of one what-if.

They travel as JSON. Imports no TensorFlow: the server and the command line read them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Progress = Callable[[str], None]
"""Takes one line of text: what a replay is doing now, or has found."""
TESTS = ("batch", "causal", "padding", "gradient", "determinism", "sensitivity")
"""Tests of a step's logic (docs/replay.md)."""
VALUE_BYTES = 1 << 30


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


@dataclass(frozen=True, slots=True)
class StepperRequest:
    """One computation of tensors.

    Attributes:
        source: folder of a recording, or a bundle.
        logdir, run: the run that the tensors are written into; it must not exist.
        changes: pairs of a tensor name and an expression, made in this order.
        tensors: names of the wanted tensors; None: all.
        value_bytes: values are kept up to this size in all; of what is beyond only summaries.
    """

    source: str
    logdir: str
    run: str
    changes: Sequence[tuple[str, str]] = ()
    tensors: Sequence[str] | None = None
    value_bytes: int = VALUE_BYTES

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> StepperRequest:
        """From JSON."""
        fields = {name: record[name] for name in cls.__slots__}
        return cls(**fields | {"changes": [(str(name), str(text)) for name, text in fields["changes"]]})


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """What is known of one tensor of a computation.

    `shape`, `dtype`: of its first visit; `nan`, `inf`: elements over all visits; `bad_visit`: the first visit
    with any, or -1; `digest`: SHA-256 over all visits, equal if and only if every bit is; `kept`: whether its
    values are in the run, or summaries alone; `proven`: whether each visit that was captured in the recorded
    call has come out again, bit by bit; None if none was, or tensors were changed.
    """

    dtype: str
    shape: tuple[int, ...]
    nan: int
    inf: int
    bad_visit: int
    visits: int
    digest: str
    kept: bool
    proven: bool | None = None


@dataclass(frozen=True, slots=True)
class StepperAnswer:
    """Tensors of a recorded call, as they are with some changes.

    Attributes:
        step: the recorded step.
        identical: whether every output and variable is bit by bit as recorded; None if tensors were changed.
        outputs, variables: how many were compared.
        differing: names of variables, and `output N`, that are not as recorded.
        failed: what the call raised, or empty. recorded_failure: what it raised when it was recorded.
        versions: `name: recorded, here` where they differ.
        tensors: tensor name -> its facts, of all that ran.
        untapped, ulp: as in `Answer`.
    """

    step: int
    identical: bool | None
    outputs: int
    variables: int
    differing: Sequence[str]
    failed: str
    recorded_failure: str
    versions: Sequence[str]
    tensors: Mapping[str, TensorFacts] = field(default_factory=dict)
    untapped: bool | None = None
    ulp: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> StepperAnswer:
        """From JSON."""
        fields = {name: record[name] for name in cls.__slots__}
        facts = {
            str(name): TensorFacts(**each | {"shape": tuple(each["shape"])})
            for name, each in record["tensors"].items()
        }
        return cls(**fields | {"tensors": facts})

    def changed_since(self, before: StepperAnswer) -> list[str]:
        """Tensors that are other ones than there, bit by bit, or that ran in one of both only."""
        names = dict.fromkeys((*before.tensors, *self.tensors))
        return [
            name
            for name in names
            if name not in self.tensors
            or name not in before.tensors
            or self.tensors[name].digest != before.tensors[name].digest
        ]


def ignore_progress(text: str) -> None:
    """Drops it."""
