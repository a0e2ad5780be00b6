"""What the server asks for where it may replay; `create_app(computer=…)` hands in what answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Wanted:
    """Tensors of a recorded call.

    Attributes:
        recording: its folder in the run.
        changes: pairs of a tensor name and an expression.
        tensors: names; None: all.
        test: one of `protocol.TESTS` that is done instead.
    """

    recording: Path
    changes: tuple[tuple[str, str], ...] = ()
    tensors: tuple[str, ...] | None = None
    test: str = ""


@dataclass(frozen=True, slots=True)
class ComputedTensor:
    """What is known of one tensor; `digest` is equal if and only if every bit of all visits is. `bad_visit`:
    the first visit with a NaN or an infinity, or -1; `proven`: whether each visit that was captured in the
    recorded call has come out again, by its hash; None if none was, or tensors were changed."""

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
class Computed:
    """Tensors that were computed, and whether the call came out as it was recorded.

    Attributes:
        identical: every output and variable is bit by bit as recorded; None if tensors were changed.
        order: the nodes of the graph, each behind those that it takes its inputs from.
        births: of these, those that make a NaN or an infinity.
        untapped: whether all results are as recorded if no tensor is tapped; None if that was not looked at,
            as nothing differs.
        ulp: of `differing`, how far each is from what was recorded, in units in the last place of its largest
            number, where that is known.
    """

    step: int
    identical: bool | None
    outputs: int
    variables: int
    differing: Sequence[str]
    failed: str
    recorded_failure: str
    versions: Sequence[str]
    tensors: Mapping[str, ComputedTensor]
    order: Sequence[str] = field(default=())
    births: Sequence[str] = field(default=())
    untapped: bool | None = None
    ulp: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogicTest:
    """What a test of a recorded step found. `rows` hold what `columns` name, the most telling first."""

    passed: bool
    summary: str
    columns: Sequence[str]
    rows: Sequence[Mapping[str, object]]


class Computer(Protocol):
    """Replays, in a process of its own with limits. One thread at a time calls `compute` and `test`."""

    def compute(self, wanted: Wanted, logdir: Path, run: str) -> Computed:
        """Writes the tensors as a run. Raises TensortapError if that cannot be done, or was cancelled."""

    def test(self, wanted: Wanted) -> LogicTest:
        """Tests the step's logic. Raises TensortapError if that cannot be done, or was cancelled."""

    def cancel(self) -> None:
        """Ends what is under way; from any thread."""

    def rest(self) -> None:
        """Gives back what it holds, until it is needed again."""

    def read_what_ifs(self, recording: Path) -> Mapping[str, object]:
        """Saved changes by name. Raises TensortapError if they make no sense."""

    def write_what_ifs(self, recording: Path, what_ifs: Mapping[str, object]) -> None:
        """Saves them; nothing of the dump changes. Raises TensortapError for what is not possible."""
