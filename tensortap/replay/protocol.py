"""Requests to the replay process and its answers: a replay of a call, or tensors of one what-if.

They travel as JSON. Imports no TensorFlow: the server and the command line read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

TESTS: Mapping[str, str] = {
    "batch": "Does one sample affect the numbers of another?",
    "causal": "Does the second half of a sequence affect the first?",
    "padding": "Do padded positions affect other positions?",
    "gradient": "Is each gradient the derivative of the loss, in float64?",
    "determinism": "Are all tensors bit-identical in five runs?",
    "sensitivity": "How much does the loss change when a variable or an input does?",
}
"""Tests of a step's logic (docs/replay.md), and what each asks."""
VALUE_BYTES = 1 << 30
MAX_NAMES = 100  # of results that differ, for clients of the server
MAX_ROWS = 200  # of a test's result, for clients of the server
_TENSOR_COLUMNS = ("dtype", "shape", "nan", "inf", "bad_visit", "visits", "kept", "proven")


@dataclass(frozen=True, slots=True)
class Request:
    """One replay.

    Attributes:
        source: folder of a recording, or a bundle.
        nodes: regular expression; the tensors whose names match are kept as values. None: no tensors.
        tensors: names of further tensors to keep.
        changes: tensor name -> expressions, `;` between them (`tensor_expression.parse_changes`).
        logdir, run: the run that the tensors are written into.
        accuracy: whether nodes are judged, each run alone: those that `nodes` names, or all.
        observer_effect: whether the call is run with and without taps on these tensors, and compared.
        analysis: the name of one in `analysis_registry.ANALYSES`, of the tensors that `nodes` names, or all;
            `options` say how.
    """

    source: str
    nodes: str | None = None
    tensors: Sequence[str] = ()
    changes: Mapping[str, str] = field(default_factory=dict)
    logdir: str = ""
    run: str = "replay"
    accuracy: bool = False
    observer_effect: bool = False
    analysis: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultComparison:
    """The results of a replayed call, compared bit by bit with the recorded ones.

    Attributes:
        identical: whether every output and variable is as recorded; None if tensors were changed, so that
            there is nothing to compare with.
        outputs, variables: how many were compared.
        differing: names of variables, and `output N`, that are not as recorded.
        failed: the error of the call, or empty. recorded_failure: its error when it was recorded.
        versions: `name: recorded, here` where they differ.
        untapped: whether every output and variable is as recorded if no tensor is tapped; None if that was
            not checked, as none was tapped, or nothing differs.
        ulp: of those that differ only where tensors are tapped, how far they are from what was recorded, in
            units in the last place of the largest number (`ulp_of_largest`), where that is known.
    """

    identical: bool | None
    outputs: int
    variables: int
    differing: Sequence[str] = ()
    failed: str = ""
    recorded_failure: str = ""
    versions: Sequence[str] = ()
    untapped: bool | None = None
    ulp: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def extend(cls, results: ResultComparison, **more: Any) -> Self:
        """An answer with these results and further fields."""
        return cls(**{each.name: getattr(results, each.name) for each in fields(ResultComparison)}, **more)

    @property
    def largest_ulp(self) -> int | None:
        """The ULP distance of the result that differs most; None if one is unknown."""
        known = [self.ulp[name] for name in self.differing if name in self.ulp]
        return max(known) if known and len(known) == len(self.differing) else None

    def to_json(self) -> dict[str, Any]:
        """As JSON for clients of the server (server/http_api.md), with the first names of different
        results."""
        return {
            "identical": self.identical,
            "outputs": self.outputs,
            "variables": self.variables,
            "differing": list(self.differing[:MAX_NAMES]),
            "differing_total": len(self.differing),
            "untapped": self.untapped,
            "ulp": self.largest_ulp,
            "failed": self.failed,
            "recorded_failure": self.recorded_failure,
            "versions": list(self.versions),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(ResultComparison):
    """Answer of a replay.

    Attributes:
        tensors: how many tensors were written.
        verdicts: of `accuracy`, `NodeAccuracy` as objects, worst first.
        not_judged: reason -> how many nodes.
        observer_effect: `ObserverEffect` as an object, if requested.
        analysis: the result of the analysis; its function defines the fields.
        proofs: of each tensor that was captured in the recorded call and is computed again, whether each of
            its visits has the hash that was recorded of it; empty if tensors were changed.
    """

    tensors: int
    verdicts: Sequence[Mapping[str, Any]] = ()
    not_judged: Mapping[str, int] = field(default_factory=dict)
    observer_effect: Mapping[str, Any] | None = None
    analysis: Mapping[str, Any] | None = None
    proofs: Mapping[str, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Answer:
        """Parses the output of the replay process: `asdict` as JSON."""
        return cls(**{each.name: record[each.name] for each in fields(cls)})


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of a test of a step's logic.

    Attributes:
        passed: of a test that has no right answer, True.
        summary: a sentence.
        columns: names of what `rows` hold.
        rows: the most significant first.
    """

    passed: bool
    summary: str
    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, analysis: Mapping[str, Any]) -> CheckResult:
        """From the `analysis` of an `Answer`."""
        return cls(**{each.name: analysis[each.name] for each in fields(cls)})

    def to_json(self) -> dict[str, Any]:
        """As clients of the server get it (server/http_api.md): the first rows, as lists."""
        return {
            "passed": self.passed,
            "summary": self.summary,
            "columns": list(self.columns),
            "rows": [[row.get(column) for column in self.columns] for row in self.rows[:MAX_ROWS]],
            "rows_total": len(self.rows),
        }


@dataclass(frozen=True, slots=True)
class StepperRequest:
    """One computation of tensors.

    Attributes:
        source: folder of a recording, or a bundle.
        logdir, run: the run that the tensors are written into; it must not exist.
        changes: pairs of a tensor name and an expression, made in this order.
        tensors: names of the wanted tensors; None: all.
        value_bytes: total size of stored values; beyond it only summaries are stored.
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
    """Facts of one tensor of a computation.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StepperAnswer(ResultComparison):
    """Tensors of a recorded call with some changes.

    Attributes:
        step: the recorded step.
        tensors: tensor name -> its facts, of all that ran.
    """

    step: int
    tensors: Mapping[str, TensorFacts] = field(default_factory=dict)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> StepperAnswer:
        """Parses the output of the replay process: `asdict` as JSON."""
        facts = {
            str(name): TensorFacts(**each | {"shape": tuple(each["shape"])})
            for name, each in record["tensors"].items()
        }
        return cls(**{each.name: record[each.name] for each in fields(cls)} | {"tensors": facts})

    def to_json(self) -> dict[str, Any]:
        """As clients of the server get it (server/http_api.md): the tensors in columns."""
        rows = self.tensors.values()
        columns = {name: [getattr(row, name) for row in rows] for name in _TENSOR_COLUMNS}
        shared = ResultComparison.to_json(self)
        return {"step": self.step, **shared, "tensors": {"name": list(self.tensors), **columns}}

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
