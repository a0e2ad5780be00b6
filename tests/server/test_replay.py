"""Replaying through the API: who may ask, what is computed once, cancelled, forgotten, saved."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from polling import until
from small_dump import Api, write_dump
from werkzeug.test import Client, TestResponse

import tensortap
from tensortap.__main__ import main
from tensortap.analysis.notes import coverage_note
from tensortap.core.errors import TensortapError
from tensortap.core.progress import Advance, Notice, ignore_advance, ignore_notice
from tensortap.core.records import Graph, Node
from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import write_recording
from tensortap.dump.write.writer import DumpWriter
from tensortap.replay.client import ReplayProcess
from tensortap.replay.protocol import Answer, Request, StepperAnswer, StepperRequest, TensorFacts
from tensortap.server.app import create_app
from tensortap.server.jobs.replay_jobs import ComputedStep, ReplayJobs
from tensortap.server.routes.replay import _result
from tensortap.server.serve import Server, ServingError
from tensortap.system.subprocess_worker import Cancellation

TOKEN = "0123456789abcdef" * 3
OWN = {"Host": "localhost:6016", "Authorization": f"Bearer {TOKEN}"}
REPLAY = OWN | {"X-Tensortap-Replay": "1"}


class FakeProcess(ReplayProcess):
    """Writes `x` plus the number of changes; waits while `hold` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.computed: list[StepperRequest] = []
        self.tested: list[object] = []
        self.closed = 0
        self.hold = threading.Event()

    def compute(
        self,
        request: StepperRequest,
        cancellation: Cancellation | None = None,
        advance: Advance = ignore_advance,
    ) -> StepperAnswer:
        self.computed.append(request)
        advance(1, 2, "reading tensors")
        while self.hold.is_set():
            time.sleep(0.01)
            if cancellation is not None and cancellation.cancelled:
                raise TensortapError("cancelled")
        if any("bad" in expression for _, expression in request.changes):
            raise TensortapError(f"bad, in {request.source}", "Mend it.")
        with DumpWriter(request.logdir, request.run) as writer:
            nodes = [
                Node("x", "Relu", output_dtypes=["float32"]),
                Node("y", "Log", inputs=["x"], output_dtypes=["float32"]),
            ]
            graph = writer.graph(Graph("g", nodes))
            value = np.full(3, len(request.changes), np.float32)
            writer.log("x:0", value, step=5, graph=graph)
        x = TensorFacts("float32", (3,), 0, 0, -1, 1, str(len(request.changes)), True)
        same = TensorFacts("float32", (), 1, 0, 0, 1, "same", False)
        return StepperAnswer(
            step=5,
            identical=None if request.changes else True,
            outputs=1,
            variables=2,
            differing=["w"],
            tensors={"x:0": x, "y:0": same},
        )

    def replay(
        self,
        request: Request,
        progress: Notice = ignore_notice,
        cancellation: Cancellation | None = None,
    ) -> Answer:
        test = request.options["test"]
        self.tested.append(test)
        if test == "causal":
            raise TensortapError("The inputs of this step are not sequences.", "Give it some.")
        rows = [{"tensor": f"t{number}:0", "change": float("inf"), "line": ""} for number in range(300)]
        analysis = {
            "passed": False,
            "summary": "3 tensors looked at",
            "columns": ["tensor", "change"],
            "rows": rows,
        }
        return Answer(identical=None, outputs=0, variables=0, tensors=0, analysis=analysis)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("a-secret-place")
    write_dump(path)
    write_recording(path / "exp" / "first", Recording("__inference_f_12", b"", (), 5, graph="f-1"))
    return path


@dataclass
class Asked:
    client: Client
    process: FakeProcess
    jobs: ReplayJobs
    run: str
    recording: str

    def post(self, what: str, body: object, headers: Mapping[str, str] = REPLAY) -> TestResponse:
        return self.client.post(f"/api/replay/{self.run}/{what}", json=body, headers=headers)

    def compute(self, **fields: Any) -> Any:
        """Asks until it has ended."""

        answers: list[Any] = []

        def ended() -> bool:
            answers.append(self.post("compute", {"recording": self.recording, **fields}).get_json())
            return not answers[-1]["working"]

        until(ended, "the computation")
        return answers[-1]


@pytest.fixture
def asked(logdir: Path) -> Iterator[Asked]:
    process = FakeProcess()
    app = create_app(logdir, token=TOKEN, port=6016, replay_process=process)
    client = Client(app)
    runs = client.get("/api/runs", headers=OWN).get_json()["runs"]
    run = next(each["id"] for each in runs if each["name"] == "exp/first")
    listed = client.get(f"/api/runs/{run}/recordings", headers=OWN).get_json()
    assert listed["allowed"] is True
    assert {"name": "batch", "question": "Does one sample affect the numbers of another?"} in listed["tests"]
    (recording,) = listed["recordings"]
    assert recording == {
        "id": recording["id"],
        "step": 5,
        "call": 0,
        "function": "f",
        "graph": "f-1",
        "damage": "",
    }
    jobs = app.extensions["tensortap-replay-jobs"]
    yield Asked(client, process, jobs, run, recording["id"])
    jobs.close()
    assert process.closed


def test_what_is_computed_answers_like_a_run_that_is_not_listed(asked: Asked) -> None:
    answer = asked.compute(tensors=["x:0"])
    result = answer["result"]
    assert (answer["error"], result["identical"], result["step"]) == (None, True, 5)
    text = "1 output and 2 variables are bit-identical to the recorded step"
    assert result["proofs"]["step"] == {"proven": True, "word": "Verified", "text": text}
    assert result["proofs"]["tensor"]["null"]["text"] == f"not captured in the recorded step; {text}"
    address = f"/api/runs/{result['run']}/value?tensor=x:0&step=5&format=json"
    assert asked.client.get(address, headers=OWN).get_json()["data"] == [0, 0, 0]
    runs = asked.client.get("/api/runs", headers=OWN).get_json()["runs"]
    assert result["run"] not in [run["id"] for run in runs]
    assert (
        asked.client.get(f"/api/runs/{result['run']}", headers={"Host": "localhost:6016"}).status_code == 401
    )


def test_a_what_if_is_compared_with_the_call_as_it_was(asked: Asked) -> None:
    result = asked.compute(changes=[["x:0", "x + 1"]])["result"]
    assert result["changed"] == ["x:0"] and result["proofs"] is None
    assert result["order"] == ["x", "y"]
    assert result["origins"] == ["y"]
    assert result["tensors"]["name"] == ["x:0", "y:0"]
    assert result["tensors"]["nan"] == [0, 1]
    assert [len(request.changes) for request in asked.process.computed] == [0, 1]
    asked.compute(changes=[["x:0", "x + 1"]])
    asked.compute()
    assert len(asked.process.computed) == 2  # both were known


def test_the_logic_of_a_step_is_tested(asked: Asked) -> None:
    def ask(test: str) -> Any:
        answers: list[Any] = []

        def ended() -> bool:
            answers.append(asked.post("test", {"recording": asked.recording, "test": test}).get_json())
            return not answers[-1]["working"]

        until(ended, "the test")
        return answers[-1]

    result = ask("batch")["result"]
    assert (result["passed"], result["summary"]) == (False, "3 tensors looked at")
    assert (result["columns"], result["rows"][0]) == (["tensor", "change"], ["t0:0", "Infinity"])
    assert (len(result["rows"]), result["rows_total"]) == (200, 300)
    assert ask("batch")["result"] == result
    assert asked.process.tested == ["batch"]
    refused = ask("causal")
    assert (refused["error"], refused["hint"]) == (
        "The inputs of this step are not sequences.",
        "Give it some.",
    )
    unknown = asked.post("test", {"recording": asked.recording, "test": "rm"})
    assert unknown.status_code == 400 and "'rm'" in unknown.get_json()["error"]


def test_a_failure_is_reported_without_places_and_tried_again(asked: Asked) -> None:
    for _ in range(2):
        answer = asked.compute(changes=[["x:0", "bad"]])
        assert answer["error"].startswith("bad, in first/recordings/5-0-")
        assert answer["hint"] == "Mend it."
    assert len(asked.process.computed) == 3  # the call as it was only once


def test_cancelling_ends_what_is_under_way_and_what_waits(asked: Asked) -> None:
    asked.process.hold.set()
    for number in range(3):
        body = {"recording": asked.recording, "tensors": [f"t{number}:0"]}
        answer = asked.post("compute", body).get_json()
        assert answer["working"] is True
        done = (1, 2) if number == 0 else (0, 0)  # the others wait
        assert (answer["progress"]["done"], answer["progress"]["total"]) == done
    assert asked.post("cancel", {}).get_json() == {"cancelled": 3}
    asked.process.hold.clear()
    assert asked.compute(tensors=["t0:0"])["error"] == "The computation was cancelled."
    assert asked.compute(tensors=["t0:0"])["error"] is None
    assert asked.post("cancel", {}).get_json() == {"cancelled": 0}


def test_a_cancelled_what_if_stays_so_until_it_was_reported_and_is_tried_again_then(asked: Asked) -> None:
    """GIVEN the call as it was, which a what-if waits for WHEN both are cancelled."""
    asked.process.hold.set()
    change = [["x:0", "x + 1"]]
    asked.post("compute", {"recording": asked.recording, "changes": change})
    until(lambda: len(asked.process.computed) == 1, "its begin")
    assert asked.post("cancel", {}).get_json() == {"cancelled": 2}
    answer = asked.compute(changes=change)
    assert (answer["error"], answer["result"]) == ("The computation was cancelled.", None)
    asked.process.hold.clear()
    assert asked.compute(changes=change)["result"]["changed"] == ["x:0"]


def test_a_result_is_reported_with_what_it_changed(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a comparison that takes longer than a request waits."""
    compared = threading.Event()

    def slow(after: StepperAnswer, before: StepperAnswer) -> list[str]:
        compared.wait(30)
        return ["x:0"]

    monkeypatch.setattr(StepperAnswer, "changed_since", slow)
    body = {"recording": asked.recording, "changes": [["x:0", "x + 1"]]}
    asked.post("compute", body)
    until(lambda: len(asked.process.computed) == 2, "the what-if")
    answer = asked.post("compute", body).get_json()
    assert (answer["working"], answer["result"]) == (True, None)
    compared.set()
    assert asked.compute(changes=body["changes"])["result"]["changed"] == ["x:0"]


def test_results_are_found_while_others_are_tidied_up(asked: Asked) -> None:
    for number in range(12):
        assert asked.compute(tensors=[f"t{number}:0"])["result"] is not None


def test_no_more_than_eight_wait(asked: Asked) -> None:
    asked.process.hold.set()
    answers = [
        asked.post("compute", {"recording": asked.recording, "tensors": [f"t{number}:0"]}).status_code
        for number in range(9)
    ]
    assert answers == [200] * 8 + [503]
    asked.post("cancel", {})
    asked.process.hold.clear()


def test_only_the_last_results_stay(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked.jobs._queue, "_keep", 2)
    runs = [asked.compute(tensors=[f"t{number}:0"])["result"]["run"] for number in range(3)]

    def gone() -> bool:
        return asked.client.get(f"/api/runs/{runs[0]}", headers=OWN).status_code == 404

    until(gone, "the oldest result to go")
    assert asked.client.get(f"/api/runs/{runs[2]}", headers=OWN).status_code == 200


def test_what_ifs_are_saved_and_read(asked: Asked) -> None:
    body = {"recording": asked.recording}
    assert asked.post("what-ifs", body).get_json() == {"what_ifs": {}}
    what_ifs = {"mine": [["x:0", "x * 2"]]}
    assert asked.post("what-ifs", body | {"what_ifs": what_ifs}).get_json() == {"what_ifs": what_ifs}
    assert asked.post("what-ifs", body).get_json() == {"what_ifs": what_ifs}


@pytest.mark.parametrize(
    ("what", "body", "status"),
    [
        ("compute", {}, 404),
        ("compute", {"recording": "../../etc"}, 404),
        ("compute", {"recording": None, "changes": []}, 404),
        ("compute", [], 400),
        ("compute", {"recording": "HERE", "other": 1}, 400),
        ("compute", {"recording": "HERE", "changes": "x"}, 400),
        ("compute", {"recording": "HERE", "changes": [["a:0"]]}, 400),
        ("compute", {"recording": "HERE", "changes": [["a:0", 1]]}, 400),
        ("compute", {"recording": "HERE", "changes": [["a:0", "x"]] * 501}, 400),
        ("compute", {"recording": "HERE", "tensors": []}, 400),
        ("compute", {"recording": "HERE", "tensors": [1]}, 400),
        ("compute", {"recording": "HERE", "changes": [["a:0", "x" * 70000]]}, 413),
        ("what-ifs", {"recording": "HERE", "what_ifs": []}, 400),
        ("cancel", {"recording": "HERE"}, 400),
        ("nothing", {}, 405),
    ],
)
def test_requests_that_make_no_sense(asked: Asked, what: str, body: Any, status: int) -> None:
    if isinstance(body, dict) and body.get("recording") == "HERE":
        body["recording"] = asked.recording
    answer = asked.post(what, body)
    assert answer.status_code == status
    assert set(answer.get_json()) == {"error", "hint"}
    assert asked.process.computed == []


@pytest.mark.parametrize(
    "data",
    [
        b'{"recording":' + b"[" * 30_000 + b"]" * 30_000 + b"}",
        b'{"a":' * 8000,
        b'{"x":' + b"9" * 60_000 + b"}",
        b"",
        b"\xff\xfe",
        b'{"recording":"\xff"}',
        b"\x1f\x8b",
        b'"text"',
        b"NaN",
        b" " * 70_000,
    ],
    ids=lambda data: ascii(data[:12]),
)
def test_bodies_that_are_no_object(asked: Asked, data: bytes) -> None:
    headers = REPLAY | {"Content-Type": "application/json"}
    for what in ("compute", "cancel", "what-ifs"):
        answer = asked.client.post(f"/api/replay/{asked.run}/{what}", data=data, headers=headers)
        assert answer.status_code == (413 if len(data) > 65536 else 400)
        assert set(answer.get_json()) == {"error", "hint"}
    assert asked.process.computed == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "post"])
def test_no_other_method_computes(asked: Asked, method: str) -> None:
    for what in ("compute", "cancel", "what-ifs"):
        address = f"/api/replay/{asked.run}/{what}"
        answer = asked.client.open(address, method=method, json={}, headers=REPLAY)
        assert answer.status_code in (404, 405)
        assert not [name for name, _ in answer.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (OWN, 403),  # what a form of another site can send
        (REPLAY | {"Content-Type": "text/plain"}, 403),
        (REPLAY | {"Origin": "http://evil.example"}, 403),
        (REPLAY | {"Sec-Fetch-Site": "cross-site"}, 403),
        (REPLAY | {"Host": "evil.example:6016"}, 403),
        ({"Host": "localhost:6016", "X-Tensortap-Replay": "1"}, 401),
        (REPLAY | {"Authorization": "Bearer wrong"}, 401),
        (REPLAY | {"Origin": "http://localhost:6016", "Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_who_may_make_the_server_compute(asked: Asked, headers: dict[str, str], status: int) -> None:
    body = {"recording": asked.recording, "tensors": ["x:0"]}
    headers = {"Content-Type": "application/json"} | headers
    assert asked.post("compute", body, headers).status_code == status
    assert bool(asked.process.computed) == (status == 200)


def test_a_token_in_the_address_reads_only(asked: Asked) -> None:
    headers = {"Host": "localhost:6016", "X-Tensortap-Replay": "1"}
    address = f"/api/replay/{asked.run}/cancel?token={TOKEN}"
    assert asked.client.post(address, json={}, headers=headers).status_code == 401


def test_without_the_flag_the_answer_names_it(logdir: Path) -> None:
    for options in ({"token": TOKEN, "port": 6016}, {"mode": "plugin"}, {"port": 6016}):
        client = Client(create_app(logdir, **options))
        run = client.get("/api/runs", headers=OWN).get_json()["runs"][0]["id"]
        answer = client.post(f"/api/replay/{run}/compute", json={}, headers=REPLAY)
        assert answer.status_code == 403
        assert "--allow-replay" in answer.get_json()["hint"]
        listed = client.get(f"/api/runs/{run}/recordings", headers=OWN).get_json()
        assert listed["allowed"] is False and "--allow-replay" in listed["hint"]
        assert client.post("/api/runs", json={}, headers=REPLAY).status_code == 405
        assert client.get(f"/api/replay/{run}/compute", headers=REPLAY).status_code == 404


def test_replaying_needs_a_token(logdir: Path) -> None:
    with pytest.raises(ValueError, match="token"):
        create_app(logdir, replay_process=FakeProcess())
    with pytest.raises(ServingError, match="token"):
        Server([logdir], port=0, use_token=False, replay_process=FakeProcess())


def test_closing_ends_the_process_and_removes_what_was_computed(logdir: Path) -> None:
    process = FakeProcess()
    jobs = ReplayJobs(process)
    recording = next((logdir / "exp" / "first" / "recordings").glob("5-0-*"))
    job = jobs.compute("run", recording)
    until(lambda: not job.active, "the computation")
    folder = job.result.run.path.parent
    assert folder.is_dir()
    jobs.close()
    assert (process.closed, folder.exists()) == (1, False)


def test_a_damaged_recording_is_reported_until_it_is_mended(
    tmp_path: Path, opened: Callable[..., Api], capsys: pytest.CaptureFixture[str]
) -> None:
    with DumpWriter(tmp_path, "run") as writer:
        writer.log("x", 1.0, step=4)
    manifest = write_recording(tmp_path / "run", Recording("f", b"", (), 5)) / "recording.json"
    whole = manifest.read_bytes()
    manifest.write_bytes(b"{")
    api = opened(tmp_path)
    address = f"/api/runs/{api.run_id('run')}"

    def listed() -> tuple[Any, ...]:
        return tuple(
            api.json(f"{address}/recordings")["recordings"][0][key] for key in ("function", "damage")
        )

    def printed(*arguments: str) -> str:
        main(list(arguments))
        return capsys.readouterr().out

    def reported() -> tuple[str, bool, str]:
        """By the coverage note, `ls`, and `replay --list`."""
        (row,) = json.loads(printed("ls", str(tmp_path), "--json"))
        (recording,) = json.loads(printed("replay", str(tmp_path / "run"), "--list", "--json"))
        note = coverage_note(tensortap.open(tmp_path).runs["run"]._index)
        return note, row["damaged"], recording["damage"]

    function, damage = listed()
    assert damage.startswith(f"recording {manifest.parent.name}: recording.json is not JSON")
    assert (function, api.json(address)["damage"]) == ("", [damage])
    assert " ".join(damage.split()) in " ".join(printed("info", str(tmp_path / "run")).split())
    note, damaged, why = reported()
    assert "Damaged recordings: 5 (see 'tensortap check')." in note and "Recorded, not captured" not in note
    assert damaged and why.startswith("recording.json is not JSON")

    manifest.write_bytes(whole)
    assert listed() == ("f", "")
    note, damaged, why = reported()
    assert "Recorded, not captured: 5 (see 'tensortap replay')." in note
    assert (damaged, why) == (False, "")


@pytest.mark.parametrize(
    ("differing", "ulp", "farthest"),
    [
        (["w", "v"], {"w": 3, "v": 1}, 3),
        (["w", "v"], {"w": 3}, None),  # of v only a hash is known
        (["w"], {"w": 0}, 0),
        ([], {}, None),
    ],
)
def test_the_farthest_result_is_reported_where_all_are_known(
    differing: list[str], ulp: dict[str, int], farthest: int | None
) -> None:
    run: Any = SimpleNamespace(id="computed-1", graphs=[])
    answer = StepperAnswer(
        step=5, identical=not differing, outputs=1, variables=2, differing=differing, untapped=True, ulp=ulp
    )
    result = _result(ComputedStep(answer, run))
    assert (result["untapped"], result["ulp"]) == (True, farthest)
