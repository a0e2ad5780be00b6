"""Analyses over HTTP: worked out in a thread, asked for again until they are there."""

from __future__ import annotations

import shutil
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from polling import until
from small_dump import Api, write_dump
from werkzeug.test import Client

from tensortap.core.errors import NotFoundError
from tensortap.server.app import create_app
from tensortap.server.jobs.analysis_jobs import _IN_PROCESS
from tensortap.server.jobs.job_queue import Job, JobQueue


def test_findings_name_the_tensor_and_the_evidence(api: Api, first: str) -> None:
    answer = api.finished(f"{first}/findings")
    found = next(finding for finding in answer["findings"] if finding["rule"] == "ExplodingTensor")
    assert (found["node"], found["first_step"], found["severity"]) == ("dense/MatMul", 1, "high")
    assert found["evidence"][0]["step"] == 1
    assert answer["snapshots"] == api.json(first)["steps"]["snapshots"][0] * 3
    assert answer["error"] is None


def test_nan_tells_the_origin_and_the_chain(api: Api, first: str) -> None:
    report = api.finished(f"{first}/nan")["report"]
    assert (report["step"], report["origins"][0]["node"]) == (1, "dense/MatMul")
    assert [link["tensor"] for link in report["chain"]] == ["dense/MatMul:0", "dense/Relu:0"]
    origin = report["origins"][0]
    element = origin["elements"][0]["trail"][0]
    assert element["place"] and element["text"].startswith(f"{element['place']} of dense/MatMul:0 = ")
    assert origin["title"].startswith(f"First {origin['kind']} at step 1: dense/MatMul; some of its inputs")
    assert origin["reason"]
    assert " of " in origin["output"]["text"]
    assert report["goal"] == "dense/Relu:0"
    assert report["summary"].endswith("The previous captured step of dense/MatMul:0 is 0.")
    assert api.finished(f"{first}/nan?step=0")["report"]["origins"] == []


def test_a_step_that_is_not_there(api: Api, first: str) -> None:
    assert "no snapshot at step 99" in api.json(f"{first}/nan?step=99", 404)["error"]


def test_the_ledger(api: Api, first: str) -> None:
    assert isinstance(api.finished(f"{first}/ledger")["entries"], list)


def test_a_request_does_not_wait_for_slow_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensortap.server.jobs.job_queue.FIRST_RESULT_TIMEOUT", 0.01)
    queue, release = JobQueue("analysis", 4), threading.Event()

    def slow(job: Job) -> str:
        job.advance(1, 2, "half")
        release.wait(30)
        return "result"

    def ask(version: int) -> Job:
        return queue.ask("key", version, slow)

    until(lambda: ask(1).doing == "half", "the work's progress")
    job = ask(2)  # another version meanwhile: what is under way is not begun twice
    assert (job.result, job.working, job.done, job.total) == (None, True, 1, 2)
    release.set()
    until(lambda: ask(1).result == "result" and not ask(1).working, "the result")
    assert ask(1).version == 1


def test_work_that_is_cancelled_ends_and_can_be_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensortap.server.jobs.job_queue.FIRST_RESULT_TIMEOUT", 0.01)
    queue, ended = JobQueue("analysis", 4), threading.Event()

    def slow(job: Job) -> str:
        with job.cancellation.calling(ended.set):
            ended.wait(30)
        job.advance(1, 2, "half")
        return "result"

    until(lambda: queue.ask("key", 1, slow).working, "the work")
    assert queue.cancel(lambda job: job.key == "key") == 1
    until(lambda: not queue.ask("key", 1, lambda job: "again").working, "its end")
    until(lambda: queue.ask("key", 1, lambda job: "again").result == "again", "the next result")


def test_work_that_nobody_asks_for_any_more_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensortap.server.jobs.job_queue.FIRST_RESULT_TIMEOUT", 0.01)
    begun, ended = threading.Event(), threading.Event()

    def slow(job: Job) -> None:
        begun.set()
        with job.cancellation.calling(ended.set):
            ended.wait(30)

    JobQueue("analysis", 4, forget=True).ask("key", 1, slow)
    assert begun.wait(30)  # forgotten before that, it would never begin
    monkeypatch.setattr("tensortap.server.jobs.job_queue.ABANDONED_AFTER", 0.0)
    assert ended.wait(30)


def test_what_only_the_server_can_read_is_ended_while_it_waits_for_others(
    opened: Callable[..., Api], logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN an archive, which no other process reads, and another analysis that takes for ever."""
    monkeypatch.setattr("tensortap.server.jobs.job_queue.FIRST_RESULT_TIMEOUT", 0.01)
    archive = tmp_path / "first.tap.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as out:
        for file in sorted(logdir.rglob("*")):
            out.write(file, file.relative_to(logdir))
    api = opened(archive)
    base = f"/api/runs/{api.json('/api/runs')['runs'][0]['id']}"
    with _IN_PROCESS:
        until(lambda: "waiting" in api.json(f"{base}/ledger")["progress"]["doing"], "it to wait")
        api.json(f"{base}/ledger?cancel=1")
        until(lambda: not api.json(f"{base}/ledger?cancel=1")["working"], "its end", 5)
    assert api.finished(f"{base}/ledger")["error"] is None


def test_an_analysis_is_cancelled_over_http(api: Api, first: str) -> None:
    assert api.json(f"{first}/findings?cancel=1")["working"] is False
    assert api.finished(f"{first}/findings")["findings"]


def test_work_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = JobQueue("analysis", 4)

    def fail(job: Job) -> None:
        raise ZeroDivisionError

    until(lambda: not queue.ask("key", 1, fail).working, "the failure")
    assert queue.ask("key", 1, fail).error == "The analysis failed: ZeroDivisionError."


def test_work_that_cannot_be_done_says_why_and_what_helps() -> None:
    queue = JobQueue("analysis", 4)

    def refuse(job: Job) -> None:
        raise NotFoundError("The runs share no step.", "Choose steps.")

    until(lambda: not queue.ask("key", 1, refuse).working, "the refusal")
    job = queue.ask("key", 1, refuse)
    assert (job.error, job.hint) == ("The runs share no step.", "Choose steps.")


def test_who_asks_for_everything_at_once_starts_no_crowd(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN slow work WHEN hundreds of others are asked for THEN few threads wait, and later each is done."""
    monkeypatch.setattr("tensortap.server.jobs.job_queue.FIRST_RESULT_TIMEOUT", 0.0)
    queue, release = JobQueue("analysis", 4), threading.Event()
    before = threading.active_count()
    jobs = [queue.ask(f"nan/{step}", 1, lambda job: release.wait(30)) for step in range(300)]
    assert threading.active_count() - before <= 5  # four that wait for their work, one that watches
    assert jobs[-1].queued and not jobs[-1].working
    release.set()

    until(lambda: queue.ask("nan/299", 1, lambda job: None).result is True, "the last one")


@pytest.mark.parametrize(("pattern", "at"), [("*/stats-*.arrows", 3500), ("graphs/*.arrows", 2000)])
def test_an_answer_from_a_damaged_run_says_what_is_missing(tmp_path: Path, pattern: str, at: int) -> None:
    write_dump(tmp_path)
    sound = tmp_path / "sound"
    shutil.copytree(tmp_path / "exp/first", sound)
    (file,) = (tmp_path / "exp/first").glob(pattern)
    data = bytearray(file.read_bytes())
    data[at] ^= 4
    file.write_bytes(data)
    api = Api(Client(create_app(tmp_path)))
    damaged, other = api.run_id("exp/first"), api.run_id("sound")
    addresses = [f"/api/runs/{damaged}/{what}" for what in ("nan", "findings", "ledger")]
    for address in (*addresses, f"/api/diff?a={damaged}&b={other}"):
        (sentence,) = api.finished(address)["damage"]
        assert "checksum" in sentence
        assert str(tmp_path) not in sentence
        assert sentence.startswith("exp/first: ") == ("diff" in address)
    if "graphs" in pattern:  # without its only commit there is nothing to compare
        assert "missing here: exp/first: " in api.get(f"/api/diff?a={damaged}&b={other}&format=html").text
    assert api.finished(f"/api/runs/{other}/nan")["damage"] == []
    assert "missing here" not in report_of(api, other)


def report_of(api: Api, run: str) -> str:
    """The HTML report that compares two steps of a run."""
    address = f"/api/diff?a={run}&b={run}&step=0&step_b=1"
    assert api.finished(address)["damage"] == []
    return api.get(f"{address}&format=html").text
