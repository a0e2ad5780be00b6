"""Comparisons over HTTP, on two steps of the small dump and on two runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from small_dump import WEIGHTS, Api
from werkzeug.test import Client

from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.server.app import create_app


@pytest.fixture(scope="module")
def pair(first: str) -> str:
    """The parameters that compare steps 0 and 1 of `exp/first`."""
    run = first.rpartition("/")[2]
    return f"a={run}&b={run}&step=0&step_b=1"


def test_the_first_divergence_and_the_rows(api: Api, pair: str) -> None:
    answer = api.finished(f"/api/diff?{pair}")
    reported = answer["comparison"]
    assert (reported["a"]["step"], reported["b"]["step"], reported["differ"]) == (0, 1, True)
    assert reported["first"]["difference"]["tensor"] == "dense/MatMul:0"
    assert "NaN or infinite in B only" in reported["first"]["text"]
    by_name = {row["tensor"]: row for row in answer["rows"]}
    assert set(by_name) == {"dense/MatMul:0", "dense/Relu:0"}
    assert by_name["dense/MatMul:0"]["metrics"]["nonfinite_b"] == 1
    assert by_name["dense/MatMul:0"]["metrics"]["max_abs"] == pytest.approx(1.0)
    assert by_name["dense/Relu:0"]["basis"] == "summaries"


def test_sorting_and_pages(api: Api, pair: str) -> None:
    everything = api.finished(f"/api/diff?{pair}&all=1")
    assert everything["total"] == len(everything["rows"]) > 2
    page = api.finished(f"/api/diff?{pair}&all=1&sort=max_abs&limit=1")
    assert (page["total"], page["rows"][0]["tensor"]) == (everything["total"], "dense/MatMul:0")


def test_the_report_is_a_file_to_download(api: Api, pair: str) -> None:
    api.finished(f"/api/diff?{pair}")
    answer = api.get(f"/api/diff?{pair}&format=html")
    assert answer.content_type == "text/html; charset=utf-8"
    name = answer.headers["Content-Disposition"].partition("; ")[2]
    assert name == 'filename="exp_first-step0-and-exp_first-step1.html"'
    assert "First divergence: dense/MatMul:0" in answer.get_data(as_text=True)


def test_where_restricts_the_rows(api: Api, pair: str) -> None:
    answer = api.finished(f"/api/diff?{pair}&all=1&where=op == 'Relu'")
    assert [row["tensor"] for row in answer["rows"]] == ["dense/Relu:0"]


def test_steps_of_one_worker(opened: Callable[..., Api], tmp_path: Path) -> None:
    """GIVEN two workers with other numbers THEN two steps of one are compared, unless B's is named, too."""
    for factor in (1.0, 2.0):
        with DumpWriter(tmp_path, run="ranks") as writer:
            graph = writer.graph(Graph("step", [Node("x", "Placeholder")], functions={"": Function()}))
            for step in range(2):
                writer.log("x", np.full(2, factor, np.float32), step=step, graph=graph, keep="value")
    api = opened(tmp_path)
    run = api.run_id("ranks")
    first, second = (worker["id"] for worker in api.json(f"/api/runs/{run}")["workers"])
    pair = f"/api/diff?a={run}&b={run}&step=0&step_b=1&worker={second}"
    for path, worker, differ in ((pair, second, False), (f"{pair}&worker_b={first}", first, True)):
        reported = api.finished(path)["comparison"]
        assert (reported["a"]["worker"], reported["b"]["worker"], reported["differ"]) == (
            second,
            worker,
            differ,
        )


def test_why_nothing_was_compared(api: Api, first: str) -> None:
    """GIVEN two steps of which one was not captured THEN the page is told so, not the kind of error."""
    run = first.rsplit("/", 1)[-1]
    answer = api.finished(f"/api/diff?a={run}&b={run}&where=nonsense(")
    assert "failed" not in answer["error"]
    assert answer["hint"]


def test_values_side_by_side(api: Api, pair: str) -> None:
    path = f"/api/diff/value?{pair}&tensor=dense/MatMul:0&format=json&selection=1"
    difference = api.json(path)["data"]
    assert difference == pytest.approx((WEIGHTS[1] - 2 * WEIGHTS[1]).tolist())
    assert api.json(f"{path}&what=a")["data"] == pytest.approx(WEIGHTS[1].tolist())
    one_octave = api.json(f"{path}&what=ulp")["data"]
    assert np.allclose(one_octave, 2**23), "twice as large is as many float32 numbers away as an octave has"


def test_where_two_values_are_farthest_apart(api: Api, pair: str) -> None:
    """GIVEN B twice A, and NaN in one place of B."""
    assert api.json(f"/api/diff/worst?{pair}&tensor=dense/MatMul:0") == {"index": [0, 1]}
    unkept = api.json(f"/api/diff/worst?{pair}&tensor=dense/Relu:0", 404)
    assert "only the summary was captured" in unkept["error"]


def test_what_cannot_be_compared(api: Api, pair: str, first: str) -> None:
    run, other = first.rpartition("/")[2], api.run_id("numpy")
    assert "'b' is missing" in api.json(f"/api/diff?a={run}", 400)["error"]
    assert "no snapshot at step 99" in api.json(f"/api/diff?a={run}&b={other}&step=99", 404)["error"]
    assert "'match' is not valid" in api.json(f"/api/diff?{pair}&match=x", 400)["error"]
    kept = api.json(f"/api/diff/value?{pair}&tensor=dense/Relu:0", 404)
    assert "only the summary was captured" in kept["error"]
    answer = api.finished(f"/api/diff?a={run}&b={other}&step=0")
    assert answer["comparison"]["counts"]["same"] == 0
    assert "watch the same nodes" in " ".join(answer["comparison"]["notes"])


def test_a_damaged_value_is_called_damaged(tmp_path: Path) -> None:
    """It is no reason to ask for a slice, or for another shape; and summaries say nothing of it."""
    for run in ("a", "b"):
        with DumpWriter(tmp_path, run) as writer:
            writer.log("x", np.arange(900.0), step=0)
    (file,) = tmp_path.glob("b/*/values-*")
    data = bytearray(file.read_bytes())
    data[-9] ^= 4
    file.write_bytes(data)
    api = Api(Client(create_app(tmp_path)))
    sides = f"a={api.run_id('a')}&b={api.run_id('b')}"
    refused = api.json(f"/api/diff/value?{sides}&step=0&tensor=x", 422)
    assert "does not match its checksum" in refused["error"]
    (sentence,) = api.finished(f"/api/diff?{sides}")["damage"]
    assert sentence.startswith("b: the value of x:0 at step 0 cannot be read: ")
    assert api.json("/api/runs")["runs"][1]["damaged"] or api.json("/api/runs")["runs"][0]["damaged"]
