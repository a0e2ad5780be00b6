"""What lists of tensors and of samples ask for: order, trends, which part of a value was kept."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from polling import until
from small_dump import Api, small_graph
from werkzeug.test import Client

from tensortap.core.sampling import Sample
from tensortap.dump.format.row_checks import Snapshot
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.server.app import create_app


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Api, str]:
    """A run of 100 steps of two tensors: one is sampled, and has a NaN at step 41 only."""
    logdir: Path = tmp_path_factory.mktemp("lists")
    with DumpWriter(logdir, run="r") as writer:
        graph = writer.graph(small_graph())
        for step in range(100):
            values = np.full(50, step, np.float32)
            if step == 41:
                values[3] = np.nan
            writer.log("dense/Relu:0", values, step=step, graph=graph, sample=Sample(5, "random", 7))
            writer.log("x:0", np.full(2, np.inf, np.float32), step=step, graph=graph, keep="summary")
    api = Api(Client(create_app(logdir)))
    return api, f"/api/runs/{api.run_id('r')}"


def test_a_list_says_where_a_tensor_is(listed: tuple[Api, str]) -> None:
    api, run = listed
    found = api.json(f"{run}/snapshots?sort=-step&limit=0&at=x:0&at_step=90")
    rows = api.json(f"{run}/snapshots?sort=-step&limit=100")["rows"]
    assert found["rows"] == []
    assert (rows[found["place"]]["tensor"], rows[found["place"]]["step"]) == ("x:0", 90)
    assert api.json(f"{run}/snapshots?step=3&at=x:0&at_step=90")["place"] is None


def test_a_trend_has_few_places_and_loses_no_nan(listed: tuple[Api, str]) -> None:
    api, run = listed
    rows = api.json(f"{run}/snapshots?step=0&trend=max&sort=tensor")["rows"]
    relu, x = (row["trend"] for row in rows)
    assert (len(relu["step"]), relu["step"][0], relu["step"][-1]) == (32, 0, 99)
    assert relu["value"] == [float(step) for step in relu["step"]]
    bad = [step for step, flag in zip(relu["step"], relu["bad"], strict=True) if flag]
    assert len(bad) == 1
    assert 41 <= bad[0] < 45
    assert x["bad"] == [True] * 32
    assert "trend" not in api.json(f"{run}/snapshots?step=0")["rows"][0]
    assert "is not a statistic" in api.json(f"{run}/snapshots?trend=nothing", 400)["error"]


def test_rows_say_which_part_was_kept_and_where_they_belong(listed: tuple[Api, str]) -> None:
    api, run = listed
    rows = api.json(f"{run}/snapshots?step=5&samples=1&sort=-op_type")["rows"]
    assert [(row["op_type"], row["layer"], row["sample"]) for row in rows] == [
        ("Relu", "", {"count": 5, "how": "random", "seed": 7}),
        ("Placeholder", "", None),
    ]


@pytest.mark.parametrize("sort", ["inf", "-inf", "shape", "layer", "-max", "tensor"])
def test_pages_of_a_long_list_make_up_the_whole(listed: tuple[Api, str], sort: str) -> None:
    api, run = listed
    whole = api.json(f"{run}/snapshots?sort={sort}&limit=200")
    pages = [
        api.json(f"{run}/snapshots?sort={sort}&limit=50&offset={offset}") for offset in (150, 0, 50, 100)
    ]
    assert [page["total"] for page in pages] == [whole["total"]] * 4 == [200] * 4
    places = [(row["tensor"], row["step"]) for i in (1, 2, 3, 0) for row in pages[i]["rows"]]
    assert places == [(row["tensor"], row["step"]) for row in whole["rows"]]


def test_files_and_ids_are_found_by_a_part_of_them(api: Api, first: str) -> None:
    assert api.json(f"{first}/samples?part=B.PNG") == {
        "total": 1,
        "rows": [{"text": "b.png", "steps": 1, "first_step": 1, "last_step": 1}],
    }
    assert api.json(f"{first}/samples?limit=1")["rows"][0]["last_step"] == 2
    assert [row["text"] for row in api.json(f"{first}/samples?of=ids")["rows"]] == ["7", "8", "9"]
    assert api.json(f"{first}/samples?part=(")["total"] == 0
    assert api.json(f"{first}?")["batches"] == {"first": 1, "last": 2, "count": 2}
    api.json(f"{first}/samples?of=names", 400)


def test_a_run_that_notes_no_samples_lists_none(listed: tuple[Api, str]) -> None:
    api, run = listed
    assert api.json(f"{run}/samples") == {"total": 0, "rows": []}
    assert api.json(run)["batches"] == {"first": None, "last": None, "count": 0}


def test_a_run_that_is_being_read_says_how_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with DumpWriter(tmp_path, "large") as writer:
        for step in range(50):
            writer.log_many([Snapshot(f"n{i}", 1.0, keep="summary") for i in range(100)], step=step)
    monkeypatch.setattr("tensortap.index.logdir_index.LARGE_BYTES", 1000)
    monkeypatch.setattr("tensortap.index.worker_follower.POLL_BYTES", 1000)
    monkeypatch.setattr("tensortap.server.log_reader.NEWS_TIMEOUT", 0.02)
    begun, may_go_on = threading.Event(), threading.Event()
    poll = LogIndex._poll

    def slowly(log: LogIndex, run_id: str) -> bool:
        if log.runs[0].catalog.rows:
            begun.set()
            may_go_on.wait(30)
        return poll(log, run_id)

    monkeypatch.setattr(LogIndex, "_poll", slowly)
    api = Api(Client(create_app(tmp_path)))
    api.json("/api/runs")
    assert begun.wait(30)
    (found,) = api.json("/api/runs")["reading"].values()
    assert 0 < found["done"] < found["total"]
    assert api.json("/api/changes")["reading"] == {api.run_id("large"): found}
    may_go_on.set()
    until(lambda: api.json("/api/runs")["reading"] == {}, "the rest")
    assert api.json("/api/runs")["runs"][0]["snapshots"] == 5000


def test_rows_have_their_histograms_where_asked_for(listed: tuple[Api, str]) -> None:
    api, run = listed
    relu, x = api.json(f"{run}/snapshots?step=3&histograms=1&sort=tensor")["rows"]
    alone = api.json(f"{run}/histograms?tensor=dense/Relu:0&steps=3")
    assert relu["histogram"]["edges"] == alone["edges"]
    assert relu["histogram"]["counts"] == alone["rows"][0]["counts"]
    assert sum(relu["histogram"]["counts"]) == 50
    assert x["histogram"]["counts"] == []  # nothing of it is finite
    assert "histogram" not in api.json(f"{run}/snapshots?step=3")["rows"][0]


def test_a_list_follows_the_data_flow(listed: tuple[Api, str]) -> None:
    api, run = listed
    flow = [row["tensor"] for row in api.json(f"{run}/snapshots?step=3&sort=flow")["rows"]]
    assert flow == ["x:0", "dense/Relu:0"]
    back = [row["tensor"] for row in api.json(f"{run}/snapshots?step=3&sort=-flow")["rows"]]
    assert back == flow[::-1]


def test_a_condition_that_is_still_typed_is_ignored_if_asked(listed: tuple[Api, str]) -> None:
    api, run = listed
    half = f"{run}/snapshots?step=3&where=zeros+%3E"
    error = api.json(half, 400)["error"]
    found = api.json(f"{half}&lenient=1")
    assert (found["total"], found["refused"]) == (2, error)
    complete = api.json(f"{run}/snapshots?step=3&where=zeros+%3E+1&lenient=1")
    assert (complete["total"], complete.get("refused")) == (0, None)
