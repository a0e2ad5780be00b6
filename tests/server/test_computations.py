"""Computations that wait for each other, or are cancelled: what they take of the limit and of the machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from polling import until

from tensortap.core.errors import LimitError
from tensortap.dump.write.writer import DumpWriter
from tensortap.replay.computing import Computed, ComputedTensor, LogicTest, Wanted
from tensortap.server.jobs.computations import Computations

RECORDING = Path("recording")


class Deaf:
    """Computes once `go_on` is set, and hears of no cancellation."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def compute(self, wanted: Wanted, logdir: Path, run: str) -> Computed:
        assert self.go_on.wait(30)
        with DumpWriter(logdir, run) as writer:
            writer.log("x:0", len(wanted.changes), step=0)
        x = ComputedTensor("float32", (), 0, 0, -1, 1, str(len(wanted.changes)), True)
        return Computed(0, None, 0, 0, [], "", "", [], {"x:0": x}, ["x"], [])

    def test(self, wanted: Wanted) -> LogicTest:
        raise AssertionError(wanted)

    def cancel(self) -> None:
        """Goes on."""

    def rest(self) -> None:
        """Holds nothing."""

    def read_what_ifs(self, recording: Path) -> Mapping[str, object]:
        return {}

    def write_what_ifs(self, recording: Path, what_ifs: Mapping[str, object]) -> None:
        raise AssertionError(what_ifs)


@pytest.fixture
def computations(monkeypatch: pytest.MonkeyPatch) -> Iterator[Computations]:
    monkeypatch.setattr("tensortap.server.jobs.computations._PATIENCE", 0.01)
    found = Computations(Deaf())
    yield found
    found.close()
    until(lambda: threads() == 0, "the end of the threads")


def threads() -> int:
    return sum(thread.name == "tensortap-replay" for thread in threading.enumerate())


def what_if(number: int) -> Wanted:
    return Wanted(RECORDING, changes=(("x:0", f"x + {number}"),))


def test_eight_what_ifs_wait_beside_the_call_that_all_need(computations: Computations) -> None:
    jobs = [computations.ask("run", what_if(number)) for number in range(8)]
    with pytest.raises(LimitError, match="8 computations"):
        computations.ask("run", what_if(8))
    computations.computer.go_on.set()  # type: ignore[attr-defined]
    for job in jobs:
        assert job.ended.wait(30)
        assert (job.error, job.changed) == ("", ["x:0"])


def test_who_asks_and_cancels_again_and_again_leaves_nothing(
    computations: Computations, tmp_path: Path
) -> None:
    """GIVEN a computation that goes on though it was cancelled WHEN others are asked for and cancelled THEN
    they hold no thread, and its folder is left alone."""
    computer = computations.computer
    first = computations.ask("run", Wanted(RECORDING))
    folder = computations._folder / first.name
    folder.mkdir()
    assert computations.cancel("run") == 1
    assert "cancelled" in computations.ask("run", Wanted(RECORDING)).error
    for number in range(50):
        computations.ask("run", what_if(number))
        assert computations.cancel("run") >= 1
    until(lambda: threads() <= 1, "the end of the threads")
    assert folder.is_dir()
    computer.go_on.set()  # type: ignore[attr-defined]
    until(lambda: not folder.exists(), "the end of what was not heard")
