"""Computations that wait for each other, or are cancelled: what they take of the limit and of the machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from polling import until

from tensortap.core.progress import Advance, ignore_advance
from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.replay.client import ReplayProcess
from tensortap.replay.protocol import StepperAnswer, StepperRequest, TensorFacts
from tensortap.server.jobs.job_queue import BusyError
from tensortap.server.jobs.replay_jobs import Changes, ReplayJobs
from tensortap.system.subprocess_worker import Cancellation

RECORDING = Path("recording")


class Deaf(ReplayProcess):
    """Computes once `go_on` is set, and hears of no cancellation."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.computes = threading.Event()

    def compute(
        self,
        request: StepperRequest,
        cancellation: Cancellation | None = None,
        advance: Advance = ignore_advance,
    ) -> StepperAnswer:
        self.computes.set()
        assert self.go_on.wait(30)
        with DumpWriter(request.logdir, request.run) as writer:
            graph = writer.graph(Graph("g", [Node("x", "Relu", output_dtypes=["float32"])]))
            writer.log("x:0", len(request.changes), step=0, graph=graph)
        x = TensorFacts("float32", (), 0, 0, -1, 1, str(len(request.changes)), True)
        return StepperAnswer(step=0, identical=None, outputs=0, variables=0, tensors={"x:0": x})


@pytest.fixture
def process() -> Deaf:
    return Deaf()


@pytest.fixture
def replays(process: Deaf, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReplayJobs]:
    monkeypatch.setattr("tensortap.server.jobs.job_queue.FIRST_RESULT_TIMEOUT", 0.01)
    found = ReplayJobs(process)
    yield found
    process.go_on.set()
    found.close()
    until(lambda: threads() == 0, "the end of the threads")


def threads() -> int:
    return sum(thread.name == "tensortap-computation" for thread in threading.enumerate())


def what_if(number: int) -> Changes:
    return (("x:0", f"x + {number}"),)


def test_eight_what_ifs_wait_beside_the_call_that_all_need(replays: ReplayJobs, process: Deaf) -> None:
    jobs = [replays.compute("run", RECORDING, what_if(number)) for number in range(8)]
    with pytest.raises(BusyError, match="8 computations"):
        replays.compute("run", RECORDING, what_if(8))
    process.go_on.set()
    for job in jobs:
        until(lambda job=job: not job.active, "a what-if")
        assert (job.error, job.result.changed) == ("", ["x:0"])


def test_who_asks_and_cancels_again_and_again_leaves_nothing(replays: ReplayJobs, process: Deaf) -> None:
    """GIVEN a computation that goes on though it was cancelled WHEN others are asked for and cancelled THEN
    they hold no thread, and its folder is left alone."""
    first = replays.compute("run", RECORDING)
    assert process.computes.wait(30)  # a job that still waits would end at once
    folder = replays._folder / f"computed-{first.number}"
    folder.mkdir()
    assert replays.cancel("run") == 1
    for number in range(50):
        job = replays.compute("run", RECORDING, what_if(number))
        assert replays.cancel("run") >= 1
        assert "cancelled" in job.error
    assert threads() == 1
    assert folder.is_dir() and first.active
    process.go_on.set()
    until(lambda: not first.active, "its end")
    assert "cancelled" in replays.compute("run", RECORDING).error
    until(lambda: not folder.exists(), "the end of what was not heard")
