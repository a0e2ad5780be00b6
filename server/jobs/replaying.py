"""What `tensortap serve --allow-replay` replays with: the server's `Computer`, made of the replay room."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tensortap.dump.read.runs import RunReader

if TYPE_CHECKING:
    from tensortap.replay.computing import Computed, LogicTest, Wanted


class ReplayComputer:
    """One replaying process, started when it is needed, with limits of time and memory."""

    def __init__(self, seconds: float, memory_bytes: int) -> None:
        from tensortap.replay.client import Limits, ReplayProcess
        from tensortap.system.subprocess_worker import Cancellation

        self._process = ReplayProcess(Limits(seconds, memory_bytes))
        self._cancellation = Cancellation()

    def compute(self, wanted: Wanted, logdir: Path, run: str) -> Computed:
        from tensortap.replay.computing import Computed, ComputedTensor
        from tensortap.replay.protocol import StepperRequest
        from tensortap.replay.stepper.stepper_nodes import nonfinite_origins, stepper_nodes

        request = StepperRequest(str(wanted.recording), str(logdir), run, wanted.changes, wanted.tensors)
        self._cancellation = type(self._cancellation)()
        answer = self._process.compute(request, self._cancellation)
        reader = RunReader(logdir / run)
        nodes = stepper_nodes(reader.graph(reader.graph_ids()[0])) if wanted.tensors is None else []
        return Computed(
            step=answer.step,
            identical=answer.identical,
            outputs=answer.outputs,
            variables=answer.variables,
            differing=answer.differing,
            failed=answer.failed,
            recorded_failure=answer.recorded_failure,
            versions=answer.versions,
            tensors={
                name: ComputedTensor(**{field: getattr(each, field) for field in ComputedTensor.__slots__})
                for name, each in answer.tensors.items()
            },
            order=[node.name for node in nodes],
            births=nonfinite_origins(nodes, answer.tensors),
            untapped=answer.untapped,
            ulp=answer.ulp,
        )

    def test(self, wanted: Wanted) -> LogicTest:
        from tensortap.replay.computing import LogicTest
        from tensortap.replay.protocol import Request

        request = Request(str(wanted.recording), study="test", options={"test": wanted.test})
        self._cancellation = type(self._cancellation)()
        found = self._process.replay(request, cancellation=self._cancellation).study or {}
        return LogicTest(found["passed"], found["summary"], found["columns"], found["rows"])

    def cancel(self) -> None:
        self._cancellation.cancel()

    def rest(self) -> None:
        self._process.close()

    def read_what_ifs(self, recording: Path) -> Mapping[str, object]:
        from tensortap.replay.stepper.what_if_file import read_what_ifs

        return read_what_ifs(recording).as_record()

    def write_what_ifs(self, recording: Path, what_ifs: Mapping[str, object]) -> None:
        from tensortap.replay.stepper.what_if_file import write_what_ifs
        from tensortap.replay.stepper.what_ifs import WhatIfs

        write_what_ifs(recording, WhatIfs.of(what_ifs))
