"""What people do in Python: `tensortap.open`."""

from __future__ import annotations

import sys
import types

import numpy as np
import pyarrow
import pytest

import tensortap
from tensortap.core.errors import (
    AmbiguousError,
    NotARunError,
    NotFoundError,
    SelectionError,
    TensortapError,
    ValueNotKeptError,
)
from tensortap.dump.write.writer import DumpWriter
from tensortap.importers.partial_summary import partial_summary
from tensortap.stats.summarize import summarize


@pytest.fixture
def run(logdir):
    return tensortap.open(logdir).runs["exp/a"]


def test_a_log_is_its_runs(logdir):
    log = tensortap.open(logdir)
    assert list(log.runs) == ["exp/a"]
    assert "exp/a" in log.runs
    assert len(log.runs) == 1
    assert log.runs.get("nothing") is None
    assert not log.refresh()
    with pytest.raises(NotFoundError, match="Did you mean 'exp/a'"):
        log.runs["exp/b"]
    assert "exp/a" in repr(log)


def test_runs_go_by_name(logdir):
    with pytest.raises(NotFoundError, match="not by 0") as reported:
        tensortap.open(logdir).runs[0]
    assert "exp/a" in str(reported.value.hint)


def test_one_run_can_be_opened(logdir):
    log = tensortap.open(logdir / "exp" / "a")
    assert list(log.runs) == ["a"]
    with pytest.raises(NotARunError):
        tensortap.open(logdir / "nothing")


def test_a_run_tells_what_it_holds(run, logdir):
    assert run.steps.tolist() == [0, 7, 10, 20, 30, 40, 50]
    assert run.tensors[0] == "dense/MatMul:0"
    assert run.info["command"] == "train.py"
    assert len(run.workers) == 1
    assert [graph.name for graph in run.graphs] == ["train", "without a graph"]
    assert run.graph().name == "train"
    assert "5 tensors, 26 snapshots, steps 0 to 50, 12 with NaN or Inf" in repr(run)


def test_a_tensor_is_lazy_and_sliceable(run):
    tensor = run.tensor("loose")
    expected = np.arange(12, dtype=np.int16).reshape(3, 4)
    assert (tensor.shape, tensor.dtype, tensor.ndim, tensor.size, len(tensor)) == ((3, 4), np.int16, 2, 12, 3)
    assert np.array_equal(np.asarray(tensor), expected)
    assert np.array_equal(np.asarray(tensor, np.float32), expected)
    assert np.array_equal(tensor[1, ::-1], expected[1, ::-1])
    assert np.array_equal(tensor["1,::-1"], expected[1, ::-1])
    assert tensor[2, 3] == 11
    assert [row.sum() for row in tensor] == expected.sum(axis=1).tolist()
    assert np.array_equal(np.add(tensor, 1), expected + 1)
    assert tensor.summary == summarize(expected)
    assert tensor.histogram == summarize(expected).histogram
    assert repr(tensor) == "<tensor 'loose:0' step 7: int16 (3, 4), min 0, max 11, mean 5.5>"
    with pytest.raises(SelectionError):
        tensor[3]
    with pytest.raises(ValueError, match="copy=False"):
        np.array(tensor, copy=False)


def test_text_is_bytes(run):
    assert run.tensor("text").dtype == object
    assert run.tensor("text")[0, 1] == b"bcd"


def test_tensors_are_reported_and_converted_as_what_they_are(tmp_path):
    with DumpWriter(tmp_path, "r", info={"not counted": "nan, pos_inf, neg_inf"}) as writer:
        writer.log("text", np.array(["a"], object), step=0)
        writer.log("empty", np.zeros((0, 3)), step=0)
        writer.log("bad", np.full(2, np.nan), step=0)
        writer.log("untold", np.array(2.5, np.float32), step=0)
        writer.log_summary("shape", partial_summary("float32", (3, 3), 9), step=0)
    run = tensortap.open(tmp_path).runs["r"]
    reported = {tensor.node: repr(tensor).partition(": ")[2] for tensor in run.find()}
    assert reported["text"] == "string (1,)>"
    assert reported["empty"] == "float64 (0, 3), no elements>"
    assert reported["bad"] == "float64 (2,), 2 nan, no finite elements>"
    assert reported["shape"] == "float32 (3, 3), statistics unknown, summary only>"
    assert run.tensor("shape")._repr_html_().count("unknown") >= 3
    assert float(run.tensor("untold")) == 2.5 and int(run.tensor("untold")) == 2
    with pytest.raises(TypeError):
        float(run.tensor("bad"))


def test_only_a_summary(run):
    tensor = run.tensor("dense/Relu", step=30, visit=1)
    assert not tensor.kept
    assert tensor.summary.nan == 1
    assert "1 nan, 1 pos_inf, min 0," in repr(tensor)
    assert repr(tensor).endswith("summary only>")
    with pytest.raises(ValueNotKeptError):
        np.asarray(tensor)


def test_several_fit(run, tmp_path):
    with pytest.raises(
        AmbiguousError, match=r"6 steps, from 0 to 50\. Choose one with step=50; step=-1 means the last"
    ):
        run.tensor("dense/MatMul")
    with pytest.raises(AmbiguousError, match=r"2 iterations there: 0, 1\. Choose one with visit=1"):
        run.tensor("dense/Relu", step=10)
    assert run.tensor("dense/MatMul", step=-1).step == 50
    assert run.tensor("dense/MatMul", -2).step == 40
    for _ in range(2):
        with DumpWriter(tmp_path, "r") as writer:
            writer.log("a", np.ones(2), step=0)
            writer.log("a", np.ones(2), step=0, graph="g-0123456789ab", visit=0)
            worker = writer.worker
    several = tensortap.open(tmp_path).runs["r"]
    with pytest.raises(AmbiguousError, match="2 graphs there: '-', 'g-0123456789ab'"):
        several.tensor("a")
    with pytest.raises(AmbiguousError, match="2 workers there"):
        several.tensor("a", graph="-")
    assert several.tensor("a", graph="-", worker=worker).worker == worker


@pytest.mark.parametrize(
    "options", [{"step": 25}, {"step": -7}, {"step": 10, "visit": 3}, {"step": 10, "visit": 0, "graph": "x"}]
)
def test_none_fits(run, options):
    with pytest.raises(NotFoundError) as error:
        run.tensor("dense/Relu", **options)
    assert error.value.hint


def test_a_history_is_a_table(run):
    history = run.history("dense/MatMul:0")
    assert len(history) == 6
    assert history["step"].tolist() == [0, 10, 20, 30, 40, 50]
    assert history[-1]["step"] == 50
    assert history[-1]["shape"] == (3, 4)
    assert history[2:4]["nan"].tolist() == [0, 1]
    assert [row["nan"] for row in history] == [0, 0, 0, 1, 1, 1]
    assert {"mean", "std", "worker", "kept"} <= set(history.columns)
    assert len(run.history("dense/MatMul", steps="10:30")) == 2
    assert repr(history).splitlines()[0] == "dense/MatMul:0: 6 rows"
    assert len(repr(run.history("dense/Relu")).splitlines()) == 13
    with pytest.raises(NotFoundError, match="Did you mean 'mean'"):
        history["meam"]
    with pytest.raises(IndexError):
        history[6]


def test_snapshots_are_found(run):
    found = run.find("Relu", where="nan > 0")
    assert len(found) == 6
    assert [tensor.step for tensor in found] == [30, 30, 40, 40, 50, 50]
    assert found[0].name == "dense/Relu:0"
    assert [tensor.visit for tensor in found[1:3]] == [1, 0]
    assert found.table()["tensor"].tolist() == ["dense/Relu:0"] * 6
    assert {tensor.step for tensor in run.find(step=-1)} == {50}
    assert {tensor.step for tensor in run.find(step="10:30")} == {10, 20}
    assert len(run.find(op_type="MatMul", kept=True)) == 12
    assert len(run.find(kept=True)) + len(run.find(kept=False)) == len(run.find())
    assert not any(tensor.kept for tensor in run.find(kept=False))
    sides = run.find(nonfinite=True), run.find(nonfinite=False)
    assert [set(side.table()["nan"] > 0) for side in sides] == [{True}, {False}]
    assert {tensor.visit for tensor in run.find(visit=1)} == {1}
    for name in ("steps", "match"):
        with pytest.raises(SelectionError) as refused:
            run.find(**{name: "3:10"})
        assert "Use step=…" in refused.value.hint or "Use nodes=…" in refused.value.hint
    with pytest.raises(SelectionError) as refused:
        run.find(bogus=1)
    assert " step," in refused.value.hint and "steps" not in refused.value.hint
    assert len(run.find("nothing like this")) == 0
    assert repr(run.find("nothing like this")).startswith("snapshots: 0 rows")
    with pytest.raises(NotFoundError):
        run.find(step=-8)
    with pytest.raises(SelectionError):
        run.find("(")
    with pytest.raises(SelectionError):
        run.find(where="__import__('os')")


def test_histograms_over_steps(run):
    assert run.histograms("dense/MatMul").step.tolist() == [0, 10, 20, 30, 40, 50]
    assert len(run.histograms("dense/MatMul", scale="linear", bins=4).edges) == 5


def test_a_run_is_live(tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        run = tensortap.open(tmp_path).runs["r"]
        assert run.steps.tolist() == []
        assert repr(run) == "<run 'r': 0 tensors, 0 snapshots>"
        writer.log("a", np.ones(2), step=3)
        writer.flush()
        assert run.refresh()
        assert run.steps.tolist() == [3]
        assert run.tensor("a").step == 3


def test_a_run_that_cannot_be_read_says_so(tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "run.json").write_text("{}")
    run = tensortap.open(tmp_path).runs["r"]
    assert "does not describe a tensortap run" in repr(run)
    with pytest.raises(TensortapError):
        run.tensor("a")


def test_html_is_escaped(tmp_path):
    evil = "<img src=x onerror=alert(1)>"
    with DumpWriter(tmp_path, "<b>") as writer:
        writer.log(evil, np.array([1.0, -2.0, 0.0]), step=0)
    log = tensortap.open(tmp_path)
    run = log.runs["<b>"]
    shown = [log, log.runs, run, run.tensor(evil), run.history(evil), run.find()]
    for html in [thing._repr_html_() for thing in shown]:
        assert "<img" not in html
        assert "<b>" not in html
    assert "<svg" in run.tensor(evil)._repr_html_()
    assert "&lt;img" in run.tensor(evil)._repr_html_()


def test_control_characters_do_not_reach_a_notebook(tmp_path):
    name = "a\x1b[31m\u202eb"
    with DumpWriter(tmp_path) as writer:
        writer.log(name, np.array([1.0, -2.0, 0.0]), step=0)
    run = tensortap.open(tmp_path).runs["run"]
    for thing in (run.find(), run.tensor(name), run.history(name)):
        html = thing._repr_html_()
        assert "\x1b" not in html and "\u202e" not in html
        assert r"a\x1b[31m\u202eb" in html


def test_control_characters_do_not_reach_the_terminal(tmp_path):
    with DumpWriter(tmp_path) as writer:
        writer.log("a\x1b[31m", np.ones(1), step=0)
    run = tensortap.open(tmp_path).runs["run"]
    for thing in (run.find(), run.tensor("a\x1b[31m"), run.history("a\x1b[31m"), run):
        assert "\x1b" not in repr(thing)


def test_long_tables_show_their_ends(tmp_path):
    with DumpWriter(tmp_path) as writer:
        for step in range(100):
            writer.log("a", np.ones(1), step=step)
    text = repr(tensortap.open(tmp_path).runs["run"].history("a"))
    assert len(text.splitlines()) == 13
    assert text.splitlines()[-1].split()[0] == "99"


def test_tables_become_data_frames_where_pandas_is(run, monkeypatch):
    """pandas is not a dependency: Arrow is asked to make the frame."""
    made = []
    monkeypatch.setitem(sys.modules, "pandas", types.ModuleType("pandas"))
    table = types.SimpleNamespace(to_pandas=lambda: "frame")
    monkeypatch.setattr(pyarrow, "table", lambda columns: made.append(columns) or table)
    assert run.history("dense/Relu").to_pandas() == "frame"
    assert run.find("Relu").to_pandas() == "frame"
    assert made[0]["shape"][0].as_py() == [3, 4]
    assert made[1]["tensor"][0].as_py() == "dense/Relu:0"
