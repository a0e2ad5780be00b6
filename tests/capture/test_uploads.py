"""Runs that are written to addresses: fsspec's memory, and a server that speaks S3."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import fsspec
import numpy as np
import pytest
import tensorflow as tf
from polling import until
from s3_server import s3_server

import tensortap
from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.dump.format.row_checks import Snapshot
from tensortap.dump.maintenance.run_check import check_run
from tensortap.dump.read.runs import RunReader, find_runs
from tensortap.dump.read.values_reader import read_value, value_ref
from tensortap.dump.write import destination
from tensortap.dump.write.writer import DumpWriter
from tensortap.storage.fsspec_folder import RemoteFolder
from tensortap.storage.uri import path_of

BIG = np.arange(50_000, dtype=np.float32)  # 200 kB


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An address; the spools are in `tmp_path`."""
    monkeypatch.setenv("TENSORTAP_SPOOL", str(tmp_path))
    return f"memory://{uuid.uuid4().hex}/logs"


class Refusing:
    """Makes uploads fail while `refuses` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refuses = False
        self._write = RemoteFolder.write
        monkeypatch.setattr(RemoteFolder, "write", lambda folder, *put: self._put(folder, *put))

    def _put(self, folder: RemoteFolder, name: str, data: bytes) -> None:
        if self.refuses:
            raise OSError(errno.EIO, "cannot be written (Refused)")
        self._write(folder, name, data)


def read_all(logdir: Path, *, all_kept: bool = True) -> int:
    """Reads every row and value of a log directory's runs; how many values there are."""
    rows = 0
    for _, place in find_runs(logdir):
        reader = RunReader(place)
        for worker in reader.workers():
            tail = reader.tail(worker.worker)
            while commits := tail.poll():
                for commit in commits:
                    for row in range(commit.batch.num_rows):
                        value = value_ref(place, worker.worker, commit.batch, row)
                        assert value is not None or not all_kept
                        rows += value is not None and read_value(value).size > 0
            assert not tail.damage and tail.pending is None
    return rows


def test_whoever_reads_sees_a_whole_run_at_every_moment(
    logs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each upload, all that is named is there; what was there stays."""
    monkeypatch.setattr("tensortap.dump.write.worker_files.SEGMENT", 100_000)
    seen = [0]
    write = RemoteFolder.write

    def write_and_look(folder: RemoteFolder, name: str, data: bytes) -> None:
        write(folder, name, data)
        monkeypatch.setattr("tensortap.storage.fsspec_folder.LISTING_TTL", -1.0)
        seen.append(read_all(path_of(logs)))
        assert seen[-1] >= seen[-2]

    monkeypatch.setattr(RemoteFolder, "write", write_and_look)
    with DumpWriter(logs, "exp/r", upload_seconds=10) as writer:
        for step in range(6):
            writer.log("big", BIG + step, step=step)
            writer.log("small", np.arange(300.0) + step, step=step)
            writer.event("batch", step=step, ids=["1"], files=None, count=1)
            writer.flush()
            until(lambda: seen[-1] == 2 * (step + 1), "the step's upload", 10)  # noqa: B023
        assert writer.uploads.failures == 0
        assert sum(path.stat().st_size for path in tmp_path.rglob("*.safetensors")) < 600_000
    assert list(tmp_path.iterdir()) == []
    run = tensortap.open(logs).runs["exp/r"]
    assert run.steps.tolist() == list(range(6))
    assert np.asarray(run.tensor("big", step=5))[-1] == 50_004
    assert all(worker.closed for worker in run.workers)
    files = fsspec.filesystem("memory").find(logs.removeprefix("memory:/"))
    assert sum(file.endswith(".safetensors") for file in files) == 6


def test_a_run_that_is_being_closed_lacks_nothing(logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`closed.json` counts what is there already: a last upload that breaks off is no damage."""
    names: list[str] = []
    write = RemoteFolder.write

    def write_and_check(folder: RemoteFolder, name: str, data: bytes) -> None:
        write(folder, name, data)
        names.append(Path(name).name)
        monkeypatch.setattr("tensortap.storage.fsspec_folder.LISTING_TTL", -1.0)
        assert check_run("r", path_of(f"{logs}/r")).damage == []

    with DumpWriter(logs, "r", upload_seconds=10) as writer:
        monkeypatch.setattr(RemoteFolder, "write", write_and_check)
        writer.log_many([Snapshot(f"n{at}", np.arange(4.0)) for at in range(3)], step=0)
        writer.event("batch", step=0, ids=["1"], files=None, count=1)
    assert (names.count("closed.json"), names[-1]) == (1, "closed.json")
    assert {"stats-000000.arrows", "events-000000.jsonl"} < set(names)


def test_an_address_that_refuses_for_a_while(logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = Refusing(monkeypatch)
    with DumpWriter(logs, "r", upload_seconds=30) as writer:
        address.refuses = True
        writer.log("big", BIG, step=0)
        with pytest.raises(OSError, match="Refused"):
            until(lambda: writer.flush() or writer.uploads.failures > 1, "a failure that is told")
        writer.log("big", BIG, step=1)
        assert writer.uploads.failures > 0
        assert writer.uploads.waiting_bytes > 400_000
        address.refuses = False
    assert (writer.uploads.error, writer.uploads.waiting_bytes) == ("", 0)
    assert read_all(path_of(logs)) == 2


def test_a_full_spool_is_a_full_disk(logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = Refusing(monkeypatch)
    with DumpWriter(logs, "r", spool_bytes=1_000_000) as writer:
        address.refuses = True
        with pytest.raises(OSError, match=r"1,000,000 \(spool_bytes\)") as caught:
            for step in range(10):
                writer.log("big", BIG, step=step)
        assert caught.value.errno == errno.ENOSPC
        address.refuses = False
    run = tensortap.open(logs).runs["r"]
    last = run.steps[-1]
    assert run.tensor("big", step=int(last)).summary.max == 49_999
    with pytest.raises(tensortap.TensortapError, match="the disk could not store it"):
        np.asarray(run.tensor("big", step=int(last)))
    assert np.asarray(run.tensor("big", step=0)).size == 50_000


def test_a_small_spool_does_not_stay_full(logs: str) -> None:
    """GIVEN a spool that is smaller than the files that are usually uploaded for good WHEN it was full THEN
    it is emptied by the next upload."""
    with DumpWriter(logs, "r", spool_bytes=1_000_000) as writer:
        for step in range(12):
            until(lambda: _is_done(lambda: writer.log("big", BIG + step, step=step)), "room in the spool", 20)  # noqa: B023
            until(lambda: _is_done(writer.flush), "room in the spool", 20)
        with pytest.raises(OSError, match=r"a value of 1,200,000 bytes exceeds the limit of 1,000,000"):
            writer.log("huge", np.zeros(1_200_000, np.uint8) + 7, step=12)
    assert read_all(path_of(logs), all_kept=False) == 12
    with pytest.raises(tensortap.TensortapError, match="spool_bytes=5"):
        DumpWriter(logs, "r", spool_bytes=5)


def _is_done(write: Callable[[], object]) -> bool:
    try:
        write()
    except OSError as error:
        assert error.errno == errno.ENOSPC
        return False
    return True


def test_what_was_not_uploaded_in_time_is_kept(
    logs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = Refusing(monkeypatch)
    writer = DumpWriter(logs, "r", upload_seconds=0.1)
    address.refuses = True
    writer.log("big", BIG, step=0)
    with pytest.raises(OSError, match=r"were not uploaded in 0\.1 s.*stored in") as caught:
        writer.close()
    (spool,) = tmp_path.iterdir()
    assert str(spool) in str(caught.value)
    fsspec.filesystem("memory").put(f"{spool}/", logs.removeprefix("memory:/"), recursive=True)
    assert read_all(path_of(logs)) == 1


def test_an_address_that_refuses_from_the_start(
    logs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Refusing(monkeypatch).refuses = True
    with pytest.raises(OSError, match="Refused"):
        DumpWriter(logs, "r")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", ["open", "write"])
def test_an_address_that_never_answers(
    logs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    end = threading.Event()

    def stall(*_: object) -> NoReturn:
        end.wait()
        raise OSError(errno.EIO, "at last")

    monkeypatch.setattr(destination, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(RemoteFolder, method, stall)
    try:
        with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s.*logs/r"):
            DumpWriter(logs, "r")
        assert list(tmp_path.iterdir()) == []
    finally:
        end.set()


def test_a_second_worker_leaves_what_the_first_wrote(logs: str) -> None:
    with DumpWriter(logs, "r", info={"number": 1}) as first, DumpWriter(logs, "r", info={"number": 2}):
        first.log("x", 1.0, step=0)
    run = tensortap.open(logs).runs["r"]
    assert run.info["number"] == 1
    assert len(run.workers) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_writes_a_spool_of_its_own(logs: str, tmp_path: Path) -> None:
    """Its memory file system is its own, too: it hands over what it uploaded as a file."""
    with DumpWriter(logs, "r") as writer:
        writer.log("x", 1.0, step=0)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                writer.log("x", 2.0, step=1)
                writer.close()
                status = 0 if tensortap.open(logs).runs["r"].steps.tolist() == [1] else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert writer.run_dir.is_dir()
    assert list(tmp_path.iterdir()) == []
    assert tensortap.open(logs).runs["r"].steps.tolist() == [0]


def test_a_tap_writes_to_an_address(logs: str) -> None:
    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x, name="relu") * 2.0

    with Tap(f"{logs}/r", Watch(keep="value", steps=every(1))) as tap:
        tapped = tap.function(step)
        for number in range(3):
            tapped(tf.constant([-1.0, float(number)]))
    assert logs in repr(tap)
    run = tensortap.open(tap.run_dir.parent).runs["r"]
    assert np.asarray(run.tensor("relu:0", step=2)).tolist() == [0, 2]
    assert run.graph().row("relu") >= 0


WRITES = """
import numpy as np, s3fs, tensortap
try:
    tensortap.DumpWriter("s3://nobucket/logs")
except OSError as error:
    print(error)
s3fs.S3FileSystem().mkdir("bucket")
writer = tensortap.DumpWriter("s3://bucket/logs", "r")
for step in range(5):
    writer.log("big", np.arange(50_000, dtype=np.float32) + step, step=step)
"""  # and never closes it: a process that ends looks up no name any more

READS = """
import sys
from tensortap.__main__ import main
main(["ls", "s3://bucket/logs"])
main(["check", "s3://bucket/logs/r"])
main(["show", "s3://bucket/logs/r", "big", "--selection", "0:3", "--step", "4"])
"""


def test_s3_is_written_and_read(tmp_path: Path) -> None:
    with s3_server() as server:
        environment = {**os.environ, **server, "TENSORTAP_SPOOL": str(tmp_path)}
        wrote, read = (
            subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
            for program in (WRITES, READS)
        )
    assert (wrote.returncode, wrote.stderr) == (0, "")
    assert "not there: 's3://nobucket/logs/run'" in wrote.stdout
    assert list(tmp_path.iterdir()) == []
    assert (read.returncode, read.stderr) == (0, "")
    assert "0…4 (5)" in read.stdout
    assert "5 snapshots, 5 values" in read.stdout
    assert "[4. 5. 6.]" in read.stdout
