"""Replaying through the API: who may ask, what is computed once, cancelled, forgotten, saved."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from polling import until
from small_dump import write_dump
from werkzeug.test import Client, TestResponse

from tensortap.core.errors import TensortapError
from tensortap.core.model import Graph, Node
from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import write_recording
from tensortap.dump.write.writer import DumpWriter
from tensortap.replay.computing import Computed, ComputedTensor, LogicTest, Wanted
from tensortap.server.app import create_app
from tensortap.server.jobs.computations import Computations
from tensortap.server.serve import Server, ServingError

TOKEN = "0123456789abcdef" * 3
OWN = {"Host": "localhost:6016", "Authorization": f"Bearer {TOKEN}"}
REPLAY = OWN | {"X-Tensortap-Replay": "1"}


@dataclass
class FakeComputer:
    """Writes `x` plus the number of changes; waits while `hold` is set."""

    asked: list[Wanted] = field(default_factory=list)
    rested: int = 0
    saved: Mapping[str, object] = field(default_factory=dict)
    hold: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def compute(self, wanted: Wanted, logdir: Path, run: str) -> Computed:
        self.asked.append(wanted)
        while self.hold.is_set():
            if self.ended.wait(0.01):
                self.ended.clear()
                raise TensortapError("cancelled")
        if any("bad" in expression for _, expression in wanted.changes):
            raise TensortapError(f"bad, in {wanted.recording}", "Mend it.")
        with DumpWriter(logdir, run) as writer:
            graph = writer.graph(Graph("g", [Node("x", "Relu", output_dtypes=["float32"])]))
            value = np.full(3, len(wanted.changes), np.float32)
            writer.log("x:0", value, step=5, graph=graph)
        x = ComputedTensor("float32", (3,), 0, 0, -1, 1, str(len(wanted.changes)), True)
        same = ComputedTensor("float32", (), 1, 0, 0, 1, "same", False)
        return Computed(
            5, not wanted.changes, 1, 2, ["w"], "", "", [], {"x:0": x, "y:0": same}, ["x", "y"], ["y"]
        )

    def test(self, wanted: Wanted) -> LogicTest:
        self.asked.append(wanted)
        if wanted.test == "causal":
            raise TensortapError("The step was given no sequences.", "Give it some.")
        rows = [{"tensor": f"t{number}:0", "change": float("inf"), "line": ""} for number in range(300)]
        return LogicTest(False, "3 tensors looked at", ["tensor", "change"], rows)

    def cancel(self) -> None:
        self.ended.set()

    def rest(self) -> None:
        self.rested += 1

    def read_what_ifs(self, recording: Path) -> Mapping[str, object]:
        return self.saved

    def write_what_ifs(self, recording: Path, what_ifs: Mapping[str, object]) -> None:
        self.saved = what_ifs


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("a-secret-place")
    write_dump(path)
    write_recording(path / "exp" / "first", Recording("__inference_f_12", b"", (), 5, graph="f-1"))
    return path


@dataclass
class Asked:
    client: Client
    computer: FakeComputer
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
    computer = FakeComputer()
    app = create_app(logdir, token=TOKEN, port=6016, computer=computer)
    client = Client(app)
    runs = client.get("/api/runs", headers=OWN).get_json()["runs"]
    run = next(each["id"] for each in runs if each["name"] == "exp/first")
    listed = client.get(f"/api/runs/{run}/recordings", headers=OWN).get_json()
    assert listed["allowed"] is True
    (recording,) = listed["recordings"]
    assert recording == {"id": recording["id"], "step": 5, "call": 0, "function": "f", "graph": "f-1"}
    yield Asked(client, computer, run, recording["id"])
    app.extensions["tensortap-computations"].close()
    assert computer.rested


def test_what_is_computed_answers_like_a_run_that_is_not_listed(asked: Asked) -> None:
    answer = asked.compute(tensors=["x:0"])
    result = answer["result"]
    assert (answer["error"], result["identical"], result["step"]) == (None, True, 5)
    address = f"/api/runs/{result['run']}/value?tensor=x:0&step=5&format=json"
    assert asked.client.get(address, headers=OWN).get_json()["data"] == [0, 0, 0]
    runs = asked.client.get("/api/runs", headers=OWN).get_json()["runs"]
    assert result["run"] not in [run["id"] for run in runs]
    assert (
        asked.client.get(f"/api/runs/{result['run']}", headers={"Host": "localhost:6016"}).status_code == 401
    )


def test_a_what_if_is_compared_with_the_call_as_it_was(asked: Asked) -> None:
    result = asked.compute(changes=[["x:0", "x + 1"]])["result"]
    assert result["changed"] == ["x:0"]
    assert result["order"] == ["x", "y"]
    assert result["births"] == ["y"]
    assert result["tensors"]["name"] == ["x:0", "y:0"]
    assert result["tensors"]["nan"] == [0, 1]
    assert [len(wanted.changes) for wanted in asked.computer.asked] == [0, 1]
    asked.compute(changes=[["x:0", "x + 1"]])
    asked.compute()
    assert len(asked.computer.asked) == 2  # both were known


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
    assert [wanted.test for wanted in asked.computer.asked] == ["batch"]
    refused = ask("causal")
    assert (refused["error"], refused["hint"]) == ("The step was given no sequences.", "Give it some.")
    unknown = asked.post("test", {"recording": asked.recording, "test": "rm"})
    assert unknown.status_code == 400 and "'rm'" in unknown.get_json()["error"]


def test_a_failure_is_told_without_places_and_tried_again(asked: Asked) -> None:
    for _ in range(2):
        answer = asked.compute(changes=[["x:0", "bad"]])
        assert answer["error"].startswith("bad, in first/recordings/5-0-")
        assert answer["hint"] == "Mend it."
    assert len(asked.computer.asked) == 3  # the call as it was only once


def test_cancelling_ends_what_is_under_way_and_what_waits(asked: Asked) -> None:
    asked.computer.hold.set()
    for number in range(3):
        body = {"recording": asked.recording, "tensors": [f"t{number}:0"]}
        assert asked.post("compute", body).get_json()["working"] is True
    assert asked.post("cancel", {}).get_json() == {"cancelled": 3}
    asked.computer.hold.clear()
    assert asked.compute(tensors=["t0:0"])["error"] == "The computation was cancelled."
    assert asked.compute(tensors=["t0:0"])["error"] is None
    assert asked.post("cancel", {}).get_json() == {"cancelled": 0}


def test_a_cancelled_what_if_stays_so_until_it_was_told_and_is_tried_again_then(asked: Asked) -> None:
    """GIVEN the call as it was, which a what-if waits for WHEN both are cancelled."""
    asked.computer.hold.set()
    change = [["x:0", "x + 1"]]
    asked.post("compute", {"recording": asked.recording, "changes": change})
    until(lambda: len(asked.computer.asked) == 1, "its begin")
    assert asked.post("cancel", {}).get_json() == {"cancelled": 2}
    answer = asked.compute(changes=change)
    assert (answer["error"], answer["result"]) == ("The computation was cancelled.", None)
    asked.computer.hold.clear()
    assert asked.compute(changes=change)["result"]["changed"] == ["x:0"]


def test_a_result_is_told_with_what_it_changed(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a comparison that takes longer than a request waits."""
    compared = threading.Event()

    def slow(before: Computed, after: Computed) -> list[str]:
        compared.wait(30)
        return ["x:0"]

    monkeypatch.setattr("tensortap.server.jobs.computations._changed", slow)
    body = {"recording": asked.recording, "changes": [["x:0", "x + 1"]]}
    asked.post("compute", body)
    until(lambda: len(asked.computer.asked) == 2, "the what-if")
    answer = asked.post("compute", body).get_json()
    assert (answer["working"], answer["result"]) == (True, None)
    compared.set()
    assert asked.compute(changes=body["changes"])["result"]["changed"] == ["x:0"]


def test_results_are_found_while_others_are_tidied_up(asked: Asked) -> None:
    for number in range(12):
        assert asked.compute(tensors=[f"t{number}:0"])["result"] is not None


def test_a_cancellation_that_came_too_early_is_repeated(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a computation that is about to begin, so that the computer does not notice."""
    asked.computer.hold.set()
    cancelled: list[int] = []

    def cancel() -> None:
        cancelled.append(1)
        if len(cancelled) > 1:
            asked.computer.ended.set()

    monkeypatch.setattr(asked.computer, "cancel", cancel)
    asked.post("compute", {"recording": asked.recording, "tensors": ["t:0"]})
    until(lambda: len(asked.computer.asked) == 1, "its begin")
    assert asked.post("cancel", {}).get_json() == {"cancelled": 1}
    until(lambda: len(cancelled) == 2 and not asked.computer.ended.is_set(), "its end")
    asked.computer.hold.clear()
    assert asked.compute(tensors=["t:0"])["error"] == "The computation was cancelled."
    assert asked.compute(tensors=["t:0"])["error"] is None


def test_no_more_than_eight_wait(asked: Asked) -> None:
    asked.computer.hold.set()
    answers = [
        asked.post("compute", {"recording": asked.recording, "tensors": [f"t{number}:0"]}).status_code
        for number in range(9)
    ]
    assert answers == [200] * 8 + [413]
    asked.post("cancel", {})
    asked.computer.hold.clear()


def test_only_the_last_results_stay(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensortap.server.jobs.computations._KEPT", 2)
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
    assert asked.computer.saved == what_ifs


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
        ("compute", {"recording": "HERE", "changes": [["a:0", "x" * 70000]]}, 400),
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
    assert asked.computer.asked == []


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
        assert answer.status_code in (400, 413)
        assert set(answer.get_json()) == {"error", "hint"}
    assert asked.computer.asked == []


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
    assert bool(asked.computer.asked) == (status == 200)


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
        create_app(logdir, computer=FakeComputer())
    with pytest.raises(ServingError, match="token"):
        Server([logdir], port=0, use_token=False, computer=FakeComputer())


def test_closing_ends_the_process_and_removes_what_was_computed(logdir: Path) -> None:
    computer = FakeComputer()
    computations = Computations(computer)
    recording = next((logdir / "exp" / "first" / "recordings").glob("5-0-*"))
    job = computations.ask("run", Wanted(recording))
    assert job.ended.wait(20) and job.run is not None
    folder = job.run.path.parent
    assert folder.is_dir()
    computations.close()
    assert (computer.rested, folder.exists()) == (1, False)
