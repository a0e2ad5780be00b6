"""What is said when the log directory refuses: the advice fits the cause. No TensorFlow graph involved."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tensortap.capture.capture_warnings import OneTimeWarnings
from tensortap.capture.errors import TapWarning
from tensortap.capture.pipeline import batch_writer
from tensortap.capture.pipeline.batch_writer import BatchWriter, DiskReserve
from tensortap.capture.pipeline.messages import CapturedTensor, GraphHandle, TensorBatch
from tensortap.capture.pipeline.writer_thread import WriterThread
from tensortap.capture.tap_state import TapOptions, TapState
from tensortap.capture.tracing.candidate import Candidate
from tensortap.capture.watching.selection import Handling
from tensortap.dump.write.writer import DumpWriter
from tensortap.storage import files

CANDIDATE = Candidate("n", 0, "Add", "uint8")


def batch() -> TensorBatch:
    captured = [CapturedTensor(CANDIDATE, 0, np.zeros(40, np.uint8), Handling("summary"))]
    return TensorBatch(0, 0.0, GraphHandle(), [captured])


def last_words(
    open_writer: Callable[[], DumpWriter], capsys: pytest.CaptureFixture[str], disk_reserve: int = 0
) -> str:
    """What a tap says at its end, after one batch."""
    warnings = OneTimeWarnings("r")
    writer_thread = WriterThread(
        lambda: BatchWriter(open_writer, warnings, DiskReserve(disk_reserve, warnings)),
        queue_bytes=100,
        when_full="drop",
        wait_seconds=0,
    )
    assert writer_thread.put(batch())
    TapState(TapOptions("r", 30), (), warnings, writer_thread).close()
    assert (writer_thread.dropped, writer_thread.refused) == (1, 1)
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "Free space"),
        (errno.EACCES, "Make the log directory writable"),
        (errno.EROFS, "Make the log directory writable"),
        (errno.EIO, "Check the log directory"),
    ],
)
def test_the_advice_fits_the_refusal(number: int, advice: str, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse() -> DumpWriter:
        raise OSError(number, "refused")

    with pytest.warns(TapWarning, match=advice):
        said = last_words(refuse, capsys)

    assert "1 snapshot of run 'r' was dropped: the run cannot be opened" in said
    assert advice in said
    assert "queue_bytes" not in said


def test_a_file_in_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(TapWarning, match="A file blocks the directory"):
        said = last_words(lambda: DumpWriter(tmp_path / "file", "r"), capsys)
    assert "Free space" not in said


def test_a_nearly_full_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(TapWarning, match="disk_reserve"):
        said = last_words(lambda: DumpWriter(tmp_path, "r"), capsys, disk_reserve=1 << 60)
    assert "lower Tap(disk_reserve=…)" in said
    assert "queue_bytes" not in said


def test_a_disk_that_stays_full_to_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def fill_behind_the_writer() -> DumpWriter:
        writer = DumpWriter(tmp_path, "r")
        monkeypatch.setattr(files.os, "write", refuse)
        return writer

    with pytest.warns(TapWarning, match="closed properly"), pytest.warns(TapWarning, match="Free space"):
        said = last_words(fill_behind_the_writer, capsys)
    assert "1 snapshot of run 'r' was dropped: the dump cannot be written" in said


def test_a_full_queue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warnings = OneTimeWarnings("r")
    writer_thread = WriterThread(
        lambda: BatchWriter(lambda: DumpWriter(tmp_path, "r"), warnings, DiskReserve(0, warnings)),
        queue_bytes=100,
        when_full="drop",
        wait_seconds=0,
    )
    writer_thread.drop(3)
    TapState(TapOptions("r", 30), (), warnings, writer_thread).close()
    assert "raise Tap(queue_bytes=…" in capsys.readouterr().err


def test_preparing_never_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("no compiler")

    monkeypatch.setattr(batch_writer, "warm_up", fail)
    with pytest.warns(TapWarning, match="not prepared .RuntimeError: no compiler"):
        warnings = OneTimeWarnings("r")
        BatchWriter(lambda: DumpWriter("unused"), warnings, DiskReserve(0, warnings)).prepare()
