"""A running job's watch, changed by watch.json and by `tensortap watch`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.tap import Tap
from tensortap.capture.watching import watch_file
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.cli.commands import watch
from tensortap.cli.main import dispatch
from tensortap.dump.format.events import EventsTail
from tensortap.dump.read.runs import RunReader


class Job:
    """A training loop that is stepped by hand."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.tap = Tap(run_dir, Watch("total", steps=every(5)))

        @self.tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            root = tf.sqrt(x, name="root")
            return tf.reduce_sum(root, name="total")

        self._step = step

    def steps(self, count: int) -> None:
        for _ in range(count):
            self._step(tf.constant([1.0, 4.0]))
        self.tap.flush()

    def write(self, text: str) -> None:
        path = self.run_dir / "watch.json"
        path.write_text(text)

    @property
    def kept(self) -> dict[str, list[int]]:
        dumped = Dumped(self.run_dir)
        return {name: sorted(row.step for row in dumped.at(name)) for name in dumped.names}

    @property
    def answers(self) -> list[dict[str, Any]]:
        (worker,) = RunReader(self.run_dir).workers()
        events = EventsTail(self.run_dir, worker.worker).poll()
        return [event for event in events if "source" in event or "error" in event]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setattr(watch_file, "POLL_SECONDS", 0.0)
    return Job(tmp_path / "r")


def test_an_edited_watch_json_is_obeyed_from_the_next_step_on(job: Job) -> None:
    job.steps(3)
    job.write(json.dumps({"rules": [{"nodes": "root", "steps": {"next": 2}, "keep": "value"}]}))
    job.steps(4)
    job.write('[{"program": true}, {"ops": ["Sqrt"], "steps": [10]}]')
    job.steps(5)
    (job.run_dir / "watch.json").unlink()
    job.steps(5)
    job.tap.close()

    assert job.kept == {"total:0": [0, 10, 15], "root:0": [3, 4, 10]}
    assert [(answer["step"], answer["source"]) for answer in job.answers] == [
        (0, "program"),
        (3, "watch.json"),
        (7, "watch.json"),
        (12, "program"),
    ]
    assert job.answers[1]["rules"] == [{"nodes": "root", "steps": [{"range": [3, 5, 1]}], "keep": "value"}]
    assert job.tap.watches == (Watch("total", steps=every(5)),)


def test_a_file_that_was_made_before_the_job_and_moved_there_is_obeyed(job: Job, tmp_path: Path) -> None:
    job.steps(1)
    (tmp_path / "made.json").write_text(json.dumps([{"nodes": "root", "steps": [2]}]))
    os.utime(tmp_path / "made.json", (0, 0))
    (tmp_path / "made.json").rename(job.run_dir / "watch.json")
    job.steps(3)
    job.tap.close()
    assert job.kept == {"total:0": [0], "root:0": [2]}


def test_a_rule_that_stays_does_not_begin_again(job: Job) -> None:
    job.steps(1)
    rule: dict[str, Any] = {"nodes": "root", "steps": {"next": 2}}
    job.write(json.dumps([rule]))
    job.steps(4)
    job.write(json.dumps([rule, {"nodes": "total", "steps": [6]}]))
    job.steps(4)
    job.tap.close()
    assert job.kept == {"total:0": [0, 6], "root:0": [1, 2]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "was ignored. It is not JSON"),
        ('{"rules": [{"nodes": "("}]}', "In rule 1: nodes='\\(' is not a regular expression"),
        ('[{"program": 3}]', "In rule 1: "),
        ("\udcff", "it cannot be read"),
    ],
)
def test_a_broken_watch_json_is_reported_and_the_old_watch_stays(
    job: Job, text: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    job.steps(1)
    (job.run_dir / "watch.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    job.steps(6)
    job.tap.close()

    assert job.kept == {"total:0": [0, 5]}
    reported = capfd.readouterr().err
    assert reported.count("watch.json was ignored") == 1
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(job.answers[-1]["error"])


@pytest.mark.parametrize("kind", ["fifo", "link"])
def test_a_file_that_is_swapped_once_it_was_looked_at_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(watch_file, "POLL_SECONDS", 0.0)
    file = watch_file.WatchFile(tmp_path, ())
    (tmp_path / "rules").write_text("[]")
    if kind == "fifo":
        os.mkfifo(tmp_path / "watch.json")
    else:
        (tmp_path / "watch.json").symlink_to("rules")
    looked = os.lstat(tmp_path / "rules")
    monkeypatch.setattr(watch_file.WatchFile, "_stamp", lambda _: (looked.st_mtime_ns, 2, 0))
    change = file.poll(3)
    assert change is not None
    assert change.watches is None
    assert "watch.json was ignored: it cannot be read" in change.error


def test_a_file_from_before_the_job_is_not_obeyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_file, "POLL_SECONDS", 0.0)
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "watch.json").write_text('{"nodes": "root", "steps": {"every": 1}}')
    os.utime(tmp_path / "r" / "watch.json", (1e9, 1e9))
    job = Job(tmp_path / "r")
    job.steps(2)
    job.tap.close()
    assert job.kept == {"total:0": [0]}


def test_the_file_is_looked_at_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    found = os.lstat
    file = watch_file.WatchFile(tmp_path, ())
    now = [100.0]
    monkeypatch.setattr(watch_file.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(watch_file.os, "lstat", lambda path: looked.append(path) or found(path))
    for tenths in range(25):
        now[0] = 100 + tenths / 10
        file.poll(tenths)
    assert len(looked) == 3


def test_the_command_asks_and_the_job_answers(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    job.steps(2)
    run = str(job.run_dir)
    ask: Callable[..., int] = lambda *words: dispatch(["watch", run, *words])  # noqa: E731

    assert ask() == 0
    assert "From step 0 on, by the program: Watch(nodes='total'" in capsys.readouterr().out
    assert ask("--nodes", "root", "--keep", "value", "--steps", "next 3", "--wait", "0") == 0
    assert "no job answered within 0 s" in capsys.readouterr().out
    job.steps(4)
    assert ask("--kinds", "loss", "--steps", "every 10, 3", "--visits", "all", "--wait", "0") == 0
    job.steps(1)
    assert ask("--json") == 0
    latest = json.loads(capsys.readouterr().out.split("\n", 1)[1])["watch"]
    assert latest["step"] == 6
    assert len(latest["rules"]) == 3
    assert latest["rules"][2]["visits"] is None
    assert ask("--reset", "--wait", "0") == 0
    job.steps(1)
    job.tap.close()
    assert job.kept == {"total:0": [0, 5], "root:0": [2, 3, 4]}

    for words, message in (
        (("--steps", "often"), "Invalid step selection 'often'.*Use 'next 3'"),
        (("--reset", "--nodes", "x"), "--reset cannot be combined with a rule"),
    ):
        assert ask(*words) == 1
        with pytest.raises(AssertionError, match=message):
            raise AssertionError(capsys.readouterr().err.replace("\n", " "))
    assert dispatch(["watch", run + "x"]) == 1
    assert ask("--nodes", "x") == 1
    assert "has finished" in capsys.readouterr().err


def test_a_file_that_is_being_read_is_not_restored_in_place(tmp_path: Path) -> None:
    path = tmp_path / watch.FILE
    path.write_text("refused")
    with path.open() as half_read:
        watch._restore(path, "{}\n")
        assert half_read.read() == "refused"
    assert path.read_text() == "{}\n"


def test_a_rule_that_the_job_refuses_does_not_stay(
    job: Job, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job.steps(1)
    run = str(job.run_dir)

    def a_step_meanwhile(_: float) -> None:
        job.steps(1)

    monkeypatch.setattr(watch.time, "sleep", a_step_meanwhile)
    assert dispatch(["watch", run, "--kinds", "foo"]) == 1
    assert "kinds='foo' is unknown" in capsys.readouterr().err
    assert not (job.run_dir / "watch.json").exists()
    assert dispatch(["watch", run, "--nodes", "root"]) == 0

    monkeypatch.undo()
    assert dispatch(["watch", run, "--kinds", "foo", "--wait", "0"]) == 0  # nobody is asked yet
    monkeypatch.setattr(watch_file, "POLL_SECONDS", 0.0)
    job.steps(1)
    capsys.readouterr()
    assert dispatch(["watch", run, "--nodes", "x", "--wait", "0"]) == 1
    refused = capsys.readouterr().err.replace("\n", " ")
    assert "kinds='foo' is unknown" in refused
    assert "--only" in refused
    assert dispatch(["watch", run, "--nodes", "x", "--only", "--wait", "0"]) == 0
    job.tap.close()
