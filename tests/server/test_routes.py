"""Every route on a real dump: what it answers, and how it refuses."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from polling import until
from small_dump import ODD_NODES, WEIGHTS, Api
from werkzeug.test import Client

from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.server.app import create_app

MATMUL = "tensor=dense/MatMul:0"


def test_runs_are_listed(api: Api, logdir: Path) -> None:
    answer = api.json("/api/runs")
    assert answer["logdir"] == logdir.name, "where it is on this machine is not told"
    by_name = {run["name"]: run for run in answer["runs"]}
    assert set(by_name) == {"exp/first", "numpy"}
    first = by_name["exp/first"]
    assert first["steps"] == {"first": 0, "last": 2, "count": 3}
    assert first["snapshots"] == 3 * (2 + len(ODD_NODES))
    assert first["nonfinite"] == 2 + 2, "MatMul and Relu, from step 1 on"
    assert first["error"] is None


def test_runs_say_in_which_directory_they_lie(opened: Callable[..., Api], tmp_path: Path) -> None:
    for folder, run in (("one", "a"), ("two", "deep/b")):
        with DumpWriter(tmp_path / folder, run=run) as writer:
            writer.log("y:0", np.float32(1), step=0)
    answer = opened([tmp_path / "one", tmp_path / "two"]).json("/api/runs")
    assert answer["logdir"] == "one, two"
    assert {run["name"]: run["logdir"] for run in answer["runs"]} == {"a": "one", "deep/b": "two"}


def test_directories_of_one_name_are_distinguished(opened: Callable[..., Api], tmp_path: Path) -> None:
    folders = [tmp_path / study / "logs" for study in ("may", "june")]
    for folder in folders:
        with DumpWriter(folder, run="cnn") as writer:
            writer.log("y:0", np.float32(1), step=0)
    answer = opened(folders).json("/api/runs")
    assert answer["logdir"] == "may/logs, june/logs", "as much of the path as tells them apart, and no more"
    assert [run["logdir"] for run in answer["runs"]] == ["june/logs", "may/logs"]


def test_changes(api: Api) -> None:
    everything = api.json("/api/changes")
    assert {run["last_step"] for run in everything["runs"].values()} == {2, 0}
    nothing = api.json(f"/api/changes?since={quote(everything['cursor'])}")
    none_unread = {"unread": [], "unread_count": 0}
    assert nothing == {"cursor": everything["cursor"], "runs": {}, "reading": {}} | none_unread
    assert api.json("/api/changes?since=unknown") == everything


def test_one_run(api: Api, first: str) -> None:
    run = api.json(first)
    assert run["name"] == "exp/first"
    assert run["info"]["command"] == "train.py"
    assert run["steps"]["step"] == [0, 1, 2]
    assert run["steps"]["nan"] == [0, 2, 2]
    assert run["workers"][0]["closed"] is True
    assert {"nan", "mean", "l2"} <= set(run["statistics"])
    assert [graph["name"] for graph in run["graphs"]] == ["train_step"]


def test_a_graph_says_which_way_it_was_captured(opened: Callable[..., Api], tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="exact") as writer:
        graph = writer.graph(Graph("train", [Node("y", "Exp")], way="shadow"))
        writer.log("y:0", np.float32(1), step=0, graph=graph)
    api = opened(tmp_path)
    run = f"/api/runs/{api.run_id('exact')}"
    assert [each["way"] for each in api.json(f"{run}/graphs")["graphs"]] == ["shadow"]
    assert api.json(f"{run}/nodes/y")["way"] == "shadow"


def test_one_run_with_the_steps_of_one_graph(opened: Callable[..., Api], tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="two") as writer:
        fit, predict = (writer.graph(Graph(name, [Node(name, "Exp")])) for name in ("fit", "predict"))
        writer.graph(Graph("never", [Node("never", "Exp")]))
        for step in range(3):
            writer.log("fit:0", np.float32(step), step=step, graph=fit)
        writer.log("predict:0", np.float32(np.nan), step=2, graph=predict)
        writer.log("predict:0", np.float32(1), step=9, graph=predict)
        writer.flush()
        api = opened(tmp_path)
        run = f"/api/runs/{api.run_id('two')}"
        everything = api.json(run)
        assert everything["steps"]["step"] == [0, 1, 2, 9]
        assert [(graph["name"], graph["steps"]) for graph in everything["graphs"]] == [
            ("fit", {"first": 0, "last": 2, "count": 3}),
            ("predict", {"first": 2, "last": 9, "count": 2}),
            ("never", {"first": None, "last": None, "count": 0}),
        ]
        restricted = api.json(f"{run}?graph={predict}")
        assert (restricted["steps"]["step"], restricted["steps"]["nan"]) == ([2, 9], [1, 0])
        assert {**restricted, "steps": everything["steps"]} == everything
        assert api.json(f"{run}?graph={everything['graphs'][2]['id']}")["steps"]["step"] == []
        assert "Did you mean" in api.get(f"{run}?graph={predict[:-1]}", 404).get_json()["hint"]
        writer.log("predict:0", np.float32(1), step=10, graph=predict)
        writer.flush()
        until(lambda: api.json(f"{run}?graph={predict}")["steps"]["step"] == [2, 9, 10], "the new step")


def test_graph_columns(api: Api, graph: str) -> None:
    meta, columns = api.columns(graph)
    row = columns["name"].index("dense/MatMul")
    assert meta["name"] == "train_step"
    assert meta["nodes"] == len(columns["name"]) == len(columns["path"])
    assert columns["op_type"][row] == "MatMul"
    assert columns["layer"][row] == "model/dense"
    assert columns["shape"][row] == "?×4"
    edges = set(zip(columns["edge_source"], columns["edge_target"], columns["edge_control"], strict=True))
    relu = columns["name"].index("dense/Relu")
    assert (row, relu, 0) in edges
    assert (columns["name"].index("x"), relu, 1) in edges
    inner = columns["name"].index("call/inner")
    assert meta["functions"]["inner"] == {
        "caller": "call",
        "role": "call",
        "parent": "train_step",
        "returns": [inner, 0],
    }
    assert set(ODD_NODES) <= set(columns["name"])


def test_step_columns(api: Api, graph: str) -> None:
    meta, columns = api.columns(f"{graph}/steps/1")
    _, nodes = api.columns(graph)
    row = list(columns["node"]).index(nodes["name"].index("dense/MatMul"))
    assert meta == {"step": 1}
    assert columns["nan"][row] == 1
    assert columns["size"][row] == 12
    assert columns["max"][row] == 2
    assert columns["dtype"][row] == "float32"
    assert columns["kept"][row] == 1


def test_what_the_tap_noted_travels_with_the_graph(tmp_path: Path, opened: Callable[..., Api]) -> None:
    nodes = [
        Node("next", "IteratorGetNext", output_dtypes=["float32", "int64"], output_shapes=[[8, 3], [8]]),
        Node(
            "read",
            "ReadVariableOp",
            attributes={
                "tensortap.kind": "weight",
                "tensortap.variable": "net/kernel",
                "tensortap.trainable": "false",
            },
            output_dtypes=["float32"],
            output_shapes=[[3, 4]],
        ),
        Node("copy", "Identity", attributes={"tensortap.replica": "1", "note": '"tensortap.'}),
    ]
    with DumpWriter(tmp_path, run="noted") as writer:
        graph = writer.graph(Graph("step", nodes, functions={"step": Function(outputs=["gone:0"])}))
        writer.log("read:0", np.ones(3, np.float32), step=0, graph=graph)
    api = opened(tmp_path)
    meta, columns = api.columns(f"/api/runs/{api.run_id('noted')}/graphs/{graph}")
    assert list(columns["kind"]) == ["", "weight", ""]
    assert list(columns["variable"]) == ["", "net/kernel", ""]
    assert meta["frozen"] == ["net/kernel"]
    assert meta["replicas"] == {"2": 1}
    assert meta["slot_shapes"] == {"0": ["8×3", "8"]}
    assert meta["functions"]["step"]["returns"] == [-1, 0]


def test_small_histograms_of_a_step(api: Api, graph: str) -> None:
    _, nodes = api.columns(graph)
    matmul, exp = nodes["name"].index("dense/MatMul"), nodes["name"].index("call/inner")
    meta, found = api.columns(f"{graph}/steps/1/histograms?tensors={matmul}:0,{exp}:0,{matmul}:7&bins=5")
    _, step = api.columns(f"{graph}/steps/1")
    row = list(step["node"]).index(matmul)
    assert meta == {"step": 1, "bins": 5}
    assert next(zip(found["node"], found["slot"], strict=True)) == (matmul, 0)
    counts = found["counts"].reshape(-1, 5)
    assert counts[0].sum() == pytest.approx(step["size"][row] - step["nan"][row])
    assert step["min"][row] <= found["low"][0] < found["high"][0] <= step["max"][row]
    assert matmul not in [node for node, slot in zip(found["node"], found["slot"], strict=True) if slot == 7]


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("steps/1/histograms", 400, "'tensors' is missing"),
        ("steps/1/histograms?tensors=0", 400, "cannot be read"),
        ("steps/1/histograms?tensors=99999:0", 400, "no node 99999"),
        ("steps/99/histograms?tensors=0:0", 404, "no snapshot at step 99"),
        ("steps/1/histograms?tensors=" + ",".join(["0:0"] * 257), 400, "257 tensors are too many"),
    ],
)
def test_impossible_small_histograms_are_refused(
    api: Api, graph: str, query: str, status: int, message: str
) -> None:
    assert message in api.json(f"{graph}/{query}", status)["error"]


def test_the_graph_of_snapshots_without_one(api: Api) -> None:
    run = f"/api/runs/{api.run_id('numpy')}"
    assert [graph["id"] for graph in api.json(f"{run}/graphs")["graphs"]] == ["-"]
    meta, columns = api.columns(f"{run}/graphs/-")
    assert sorted(columns["name"]) == ["big", "noise"]
    assert meta["edges"] == 0


def test_one_node(api: Api, first: str) -> None:
    node = api.json(f"{first}/nodes/dense/MatMul")
    assert node["op_type"] == "MatMul"
    assert node["attributes"] == {"transpose_a": "false"}
    assert [entry["tensor"] for entry in node["inputs"]] == ["x:0", "w:0"]
    assert node["outputs"][0]["consumers"] == ["dense/Relu"]
    assert node["outputs"][0]["snapshots"] == 3
    assert node["stack"] == [{"file": "train.py", "line": 2, "function": "step", "text": "y = x @ w"}]


@pytest.mark.parametrize("name", ODD_NODES)
def test_odd_node_names_survive_the_address(api: Api, first: str, name: str) -> None:
    assert api.json(f"{first}/nodes/{quote(name)}")["name"] == name
    assert api.json(f"{first}/nodes/{quote(name, safe='')}")["name"] == name
    assert api.json(f"{first}/nodes?node={quote(name, safe='')}")["name"] == name


@pytest.mark.parametrize("name", ODD_NODES)
def test_odd_tensor_names_survive_the_address(api: Api, first: str, name: str) -> None:
    tensor = quote(f"{name}:0", safe="")
    answer = api.get(f"{first}/value?tensor={tensor}&step=2")
    assert np.load(io.BytesIO(answer.get_data())).tolist() == [1, 1]
    assert api.json(f"{first}/history?tensor={tensor}")["columns"]["step"] == [0, 1, 2]


def test_snapshots_are_filtered_sorted_and_paged(api: Api, first: str) -> None:
    page = api.json(f"{first}/snapshots?nonfinite=1&sort=-step&limit=1&offset=1")
    assert page["total"] == 4
    assert len(page["rows"]) == 1
    row = api.json(f"{first}/snapshots?{MATMUL}&step=1")["rows"][0]
    assert row["shape"] == [3, 4]
    assert row["nan"] == 1
    assert row["kept"] is True
    assert api.json(f"{first}/snapshots?where=nan%20%3E%200&op_type=Relu")["total"] == 2
    assert api.json(f"{first}/snapshots?match=^dense/&step=1:&kept=1")["total"] == 2
    assert api.json(f"{first}/snapshots?layer=model&dtype=float32")["total"] == 3
    assert api.json(f"{first}/snapshots?node=dense/Relu")["total"] == 3


def test_history(api: Api, first: str) -> None:
    history = api.json(f"{first}/history?{MATMUL}")
    assert history["columns"]["step"] == [0, 1, 2]
    assert history["columns"]["max"] == [1, 2, 3]
    assert history["columns"]["nan"] == [0, 1, 1]
    assert history["columns"]["shape"] == [[3, 4]] * 3
    assert "thinned_from" not in history
    thinned = api.json(f"{first}/history?{MATMUL}&limit=2")
    assert thinned["columns"]["step"] == [0, 2]
    assert thinned["thinned_from"] == 3
    assert api.json(f"{first}/history?{MATMUL}&steps=1:2")["columns"]["step"] in ([1], [1, 2])


def test_histograms(api: Api, first: str) -> None:
    answer = api.json(f"{first}/histograms?{MATMUL}")
    assert len(answer["rows"]) == 3
    assert all(len(row["counts"]) == len(answer["edges"]) - 1 for row in answer["rows"])
    assert [sum(row["counts"]) for row in answer["rows"]] == [12, 11, 11]
    assert answer["edges"] == sorted(answer["edges"])
    linear = api.json(f"{first}/histograms?{MATMUL}&scale=linear&bins=7&low=-1&high=1&steps=0")
    assert len(linear["edges"]) == 8
    assert linear["approximate"] is True
    assert (linear["edges"][0], linear["edges"][-1]) == (-1, 1)
    assert len(api.json(f"{first}/histograms?{MATMUL}&merge=visits")["rows"]) == 3
    for route, rows in (
        ("histograms", lambda answer: answer["rows"]),
        ("history", lambda answer: answer["columns"]["step"]),
    ):
        assert [len(rows(api.json(f"{first}/{route}?{MATMUL}&visit={visit}"))) for visit in (0, 1)] == [3, 0]


def test_value_as_npy(api: Api, first: str) -> None:
    answer = api.get(f"{first}/value?{MATMUL}&step=0&selection=1:,::2")
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.get_data())), WEIGHTS[1:, ::2])


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("step=0", "dense_MatMul_0-step0.npy"),
        ("step=0&selection=:,:", "dense_MatMul_0-step0.npy"),
        ("step=0&selection=1:,::2", "dense_MatMul_0-step0-at_1to_allby2.npy"),
        ("step=1&selection=0:2,-1&format=csv", "dense_MatMul_0-step1-at_0to2_-1.csv"),
    ],
)
def test_a_saved_value_is_called_as_what_it_holds(api: Api, first: str, query: str, name: str) -> None:
    answer = api.get(f"{first}/value?{MATMUL}&{query}")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'


def test_a_saved_value_is_called_by_its_visit_where_there_are_several(
    opened: Callable[..., Api], tmp_path: Path
) -> None:
    with DumpWriter(tmp_path, run="loop") as writer:
        for visit in range(2):
            writer.log("while/Mul:0", np.float32([visit]), step=0, visit=visit)
        writer.log("while/Mul:0", np.float32([2]), step=1)
    api = opened(tmp_path)

    def name(place: str) -> str:
        answer = api.get(f"/api/runs/{api.run_id('loop')}/value?tensor=while/Mul:0&{place}")
        return answer.headers["Content-Disposition"].partition("filename=")[2]

    names = [name(place) for place in ("step=0", "step=0&visit=1", "step=1")]
    assert names == [f'"while_Mul_0-step{part}.npy"' for part in ("0-visit0", "0-visit1", "1")]


def test_value_as_json(api: Api, first: str) -> None:
    value = api.json(f"{first}/value?{MATMUL}&step=1&selection=0&format=json")
    assert value["full_shape"] == [3, 4]
    assert value["shape"] == [4]
    assert value["data"][1] == "NaN"


@pytest.mark.parametrize(
    ("format", "content_type"),
    [("csv", "text/csv; charset=utf-8"), ("png", "image/png"), ("json", "application/json")],
)
def test_value_formats(api: Api, first: str, format: str, content_type: str) -> None:
    assert api.get(f"{first}/value?{MATMUL}&step=1&format={format}").content_type == content_type


def test_a_slice_of_a_large_value(api: Api) -> None:
    run = f"/api/runs/{api.run_id('numpy')}"
    refused = api.json(f"{run}/value?tensor=big:0&step=0", 413)
    assert "16" in refused["hint"] + refused["error"]
    answer = api.get(f"{run}/value?tensor=big:0&step=0&selection=-1")
    assert np.load(io.BytesIO(answer.get_data())).shape == (5,)
    assert "format=npy" in api.json(f"{run}/value?tensor=big:0&step=0&selection=:,:3&format=csv", 413)["hint"]


def test_a_request_that_takes_too_long_is_ended(
    api: Api, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tensortap.server.security.middleware.REQUEST_SECONDS", 0.0)
    answer = api.json(f"{first}/value?{MATMUL}&step=2", 503)
    assert "more than 0 s" in answer["error"]
    assert "tensortap.open" in answer["hint"]
    monkeypatch.undo()
    assert api.get(f"{first}/value?{MATMUL}&step=2").status_code == 200


def test_a_value_that_was_not_kept(api: Api, first: str) -> None:
    assert "value" in api.json(f"{first}/value?tensor=dense/Relu:0&step=0", 404)["hint"]


def test_nonfinite_elements(api: Api, first: str) -> None:
    answer = api.json(f"{first}/nonfinite?{MATMUL}&step=2")
    assert answer == {"total": 1, "indices": [[0, 2]], "values": ["NaN"]}


def test_elements_are_found_by_what_they_are(tmp_path: Path) -> None:
    value = np.array([[0, 3, -7], [9, 0, np.inf], [np.nan, 9, -8]], np.float32)
    with DumpWriter(tmp_path, run="r") as writer:
        writer.log("x:0", value, step=0, keep="value")
        writer.log("n:0", np.full((2, 2), np.nan, np.float32), step=0, keep="value")
        writer.log("i:0", np.array([-(2**63), 2**63 - 1, 2**63 - 2]), step=0, keep="value")
    api = Api(Client(create_app(tmp_path)))
    run = f"/api/runs/{api.run_id('r')}"

    def places(tensor: str, find: str) -> object:
        return api.json(f"{run}/elements?tensor={tensor}&step=0&find={find}")

    assert places("x:0", "max") == {"total": 1, "indices": [[1, 0]]}
    assert places("x:0", "min") == {"total": 1, "indices": [[2, 2]]}
    assert places("x:0", "zero") == {"total": 2, "indices": [[0, 0], [1, 1]]}
    assert places("x:0", "zero&limit=1") == {"total": 2, "indices": [[0, 0]]}
    assert places("n:0", "max") == {"total": 0, "indices": []}
    assert [places("i:0", find)["indices"] for find in ("max", "min")] == [[[1]], [[0]]]  # type: ignore[index]
    api.json(f"{run}/elements?tensor=x:0&step=0&find=nothing", 400)


def test_source(api: Api, first: str) -> None:
    assert api.json(f"{first}/source?file=train.py") == {"file": "train.py", "text": "import x\ny = x @ w\n"}
    api.json(f"{first}/source?file=/etc/passwd", 404)


def test_problems(api: Api, first: str) -> None:
    problems = api.json(f"{first}/problems")
    assert [(entry["tensor"], entry["first_step"]) for entry in problems["nonfinite"]] == [
        ("dense/MatMul:0", 1),
        ("dense/Relu:0", 1),
    ]
    assert problems["dropped"] == 0
    assert problems["damage"] == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/runs/unknown", 404),
        ("/api/runs/..%2F..%2Fetc", 404),
        ("/api/runs/../../etc/passwd", 404),
        ("/api/nothing", 404),
        ("/api/runs?x=1", 400),
        ("{first}/graphs/unknown", 404),
        ("{first}/graphs/unknown/steps/0", 404),
        ("{first}/nodes/unknown", 404),
        ("{first}/nodes", 400),
        ("{first}/nodes/dense/MatMul?graph=unknown", 404),
        ("{first}/snapshots?limit=1001", 400),
        ("{first}/snapshots?limit=-1", 400),
        ("{first}/snapshots?limit=x", 400),
        ("{first}/snapshots?sort=nothing", 400),
        ("{first}/snapshots?where=nan%20or", 400),
        ("{first}/snapshots?match=(", 400),
        ("{first}/snapshots?step=a:b", 400),
        ("{first}/snapshots?limits=3", 400),
        ("{first}/snapshots?limit=3&limit=4", 400),
        ("{first}/snapshots?nonfinite=maybe", 400),
        ("{first}/history", 400),
        ("{first}/history?tensor=unknown:0", 404),
        ("{first}/histograms?tensor=dense/MatMul:0&bins=0", 400),
        ("{first}/histograms?tensor=dense/MatMul:0&bins=5000", 400),
        ("{first}/histograms?tensor=dense/MatMul:0&scale=log", 400),
        ("{first}/histograms?tensor=dense/MatMul:0&low=1&high=0", 400),
        ("{first}/histograms?tensor=dense/MatMul:0&low=nan", 400),
        ("{first}/value?tensor=dense/MatMul:0", 400),
        ("{first}/value?step=0", 400),
        ("{first}/value?tensor=dense/MatMul:0&step=99", 404),
        ("{first}/value?tensor=dense/MatMul:0&step=0&visit=9", 404),
        ("{first}/value?tensor=dense/MatMul:0&step=0&selection=9", 400),
        ("{first}/value?tensor=dense/MatMul:0&step=0&selection=x", 400),
        ("{first}/value?tensor=dense/MatMul:0&step=0&format=pickle", 400),
        ("{first}/value?tensor=dense/MatMul:0&step=0&worker=unknown", 404),
        ("{first}/value?tensor=dense/MatMul:0&step=0&format=png&selection=0", 400),
        ("{first}/value?tensor=%00&step=0", 404),
        ("{first}/nonfinite?tensor=dense/Relu:0&step=1", 404),
        ("{first}/source", 400),
        ("{first}/history?tensor=" + "x" * 5000, 400),
    ],
)
def test_wrong_questions_get_a_sentence(api: Api, first: str, path: str, status: int) -> None:
    answer = api.json(path.format(first=first), status)
    assert answer["error"]


def test_steps_beyond_int64_are_refused(api: Api, first: str, graph: str) -> None:
    api.json(f"{graph}/steps/{10**30}", 404)
    api.json(f"{first}/value?{MATMUL}&step={10**30}", 400)


def test_head(api: Api) -> None:
    answer = api.client.head("/api/runs")
    assert answer.status_code == 200
    assert answer.get_data() == b""
    assert int(answer.headers["Content-Length"]) == len(api.get("/api/runs").get_data())


@pytest.mark.parametrize(
    "address", ["/api/runs", "{first}", "{graph}", "{first}/value?tensor=dense/MatMul:0&step=0"]
)
def test_what_did_not_change_is_not_sent_again(api: Api, first: str, graph: str, address: str) -> None:
    path = address.format(first=first, graph=graph)
    etag = api.get(path).headers["ETag"]
    again = api.client.get(path, headers={"If-None-Match": etag})
    assert again.status_code == 304
    assert again.get_data() == b""
    assert again.headers["ETag"] == etag
    assert again.headers["Content-Type"] == api.get(path).headers["Content-Type"]
    assert api.client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


Opened = Callable[..., Api]


def test_an_empty_and_a_missing_directory_have_no_runs(tmp_path: Path, opened: Opened) -> None:
    assert opened(tmp_path).json("/api/runs")["runs"] == []
    missing = opened(tmp_path / "later")
    assert missing.json("/api/runs")["runs"] == []
    assert missing.json("/api/changes")["runs"] == {}
