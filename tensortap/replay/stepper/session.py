"""A stepper on one recording: its nodes, what-ifs, and the tensors that the replay process computed for
each."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Sequence
from pathlib import Path

from tensortap.dump.read.runs import RunReader

from ..client import ReplayProcess
from ..protocol import StepperAnswer, StepperRequest
from .cursor import Stepper
from .stepper_nodes import stepper_nodes
from .what_ifs import AS_RECORDED, TensorChange, WhatIfs, read_what_ifs

_MOST_RUNS = 15  # beside that of the call as it was recorded: the server has 16, too
_MOST_BYTES = 8 << 30


class StepperSession:
    """Computes the recorded call immediately, and each what-if on first use. The least recently used results
    are dropped first.

    Args:
        source: folder of a recording, or a bundle.
        folder: the log directory that computed tensors are written into, a run for each set of changes.

    Raises:
        TensortapError: the recording cannot be run.
    """

    def __init__(self, source: Path, process: ReplayProcess, folder: Path) -> None:
        self._source, self._process, self._folder = source, process, folder
        self._numbers = itertools.count()
        self._computed: dict[tuple[TensorChange, ...], tuple[StepperAnswer, Path]] = {}
        self.what_ifs: WhatIfs = read_what_ifs(source)
        run = self.run(AS_RECORDED)
        reader = RunReader(run)
        (graph_id,) = reader.graph_ids()
        self.stepper = Stepper(stepper_nodes(reader.graph(graph_id)))

    def answer(self, name: str | None = None) -> StepperAnswer:
        """The answer for a what-if, by default the current one."""
        return self._compute(self.what_ifs.changes(name))[0]

    def run(self, name: str | None = None) -> Path:
        """The run with its tensors."""
        return self._compute(self.what_ifs.changes(name))[1]

    def changed(self, name: str | None = None) -> Sequence[str]:
        """The tensors of a what-if that differ from the recorded ones, in the order of the call."""
        return self.answer(name).changed_since(self.answer(AS_RECORDED))

    def change(self, tensor: str, expression: str) -> Sequence[str]:
        """Changes a tensor of the current what-if, computes the tensors downstream, and returns `changed()`.

        Raises:
            TensortapError: the change cannot be made; then there is none.
        """
        before, undone = self.what_ifs.current, self.what_ifs.undone
        self.what_ifs.change(tensor, expression)
        try:
            return self.changed()
        except BaseException:
            self.what_ifs.discard_last_change(undone)
            if before != self.what_ifs.current:  # it was begun for this
                self.what_ifs.drop(self.what_ifs.current)
            raise

    def _compute(self, changes: tuple[TensorChange, ...]) -> tuple[StepperAnswer, Path]:
        found = self._computed.pop(changes, None)
        if found is None:
            self._make_room()
            name = f"{'changed' if changes else 'recorded'}-{next(self._numbers)}"
            request = StepperRequest(
                str(self._source),
                str(self._folder),
                name,
                [(change.tensor, change.expression) for change in changes],
            )
            found = self._process.compute(request), self._folder / name
        self._computed[changes] = found  # the most recently used is last
        return found

    def _make_room(self) -> None:
        """Drops the least recently used results, except those of the recorded call."""
        runs = {changes: run for changes, (_, run) in self._computed.items() if changes}
        sizes = {changes: _size(run) for changes, run in runs.items()}
        while len(sizes) >= _MOST_RUNS or sum(sizes.values()) > _MOST_BYTES:
            oldest = next(iter(sizes))
            del sizes[oldest], self._computed[oldest]
            shutil.rmtree(runs[oldest], ignore_errors=True)


def _size(run: Path) -> int:
    return sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
