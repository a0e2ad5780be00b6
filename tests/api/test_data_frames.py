"""Frames and figures of what was captured; notebooks' HTML, with names that hold HTML."""

from __future__ import annotations

import sys

import numpy as np
import plotly.graph_objects
import pyarrow as pa
import pytest

import tensortap
from tensortap.core.errors import InvalidValueError, NotFoundError, TensortapError
from tensortap.dump.write.writer import DumpWriter

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    rng = np.random.default_rng(0)
    with DumpWriter(folder, EVIL.replace("/", "")) as writer:
        for step in range(6):
            value = rng.normal(step, 1, (30, 700)).astype(np.float32)
            if step == 4:
                value[0, 0] = np.nan
            writer.log(EVIL, value, step=step)
        writer.log("deep", np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5), step=0)
        writer.log("line", np.array([1, np.inf, 3]), step=0)
        writer.log("text", ["a", "b"], step=0)
        writer.log("scalar", 1.0, step=0)
        writer.log("bad", np.full(3, np.nan), step=0)
        writer.log("complex", np.array([[3 + 4j]]), step=0)
    (found,) = tensortap.open(folder).runs.values()
    return found


def test_frames_hold_what_the_table_holds(run):
    history = run.history(EVIL)
    frame = history.to_arrow()
    assert isinstance(frame, pa.Table)
    assert frame.column_names == history.columns
    assert frame["mean"].to_pylist() == history["mean"].tolist()
    assert frame["shape"].to_pylist() == [[30, 700]] * 6
    assert run.find("deep").to_arrow()["tensor"].to_pylist() == ["deep:0"]


@pytest.mark.parametrize(("package", "method"), [("pandas", "to_pandas"), ("polars", "to_polars")])
def test_frames_of_others(run, package, method, monkeypatch):
    history = run.history(EVIL)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"pip install {package}"):
        getattr(history, method)()
    monkeypatch.undo()
    pytest.importorskip(package)
    frame = getattr(history, method)()
    assert frame.shape == (6, len(history.columns))
    assert frame["step"].to_list() == [0, 1, 2, 3, 4, 5]


def test_statistics_are_drawn(run):
    history = run.history(EVIL)
    figure = history.plot()
    named = {trace.name: trace for trace in figure.data if trace.name}
    assert set(named) == {"min … max", "mean ± std", "mean", "NaN or Inf"}
    np.testing.assert_array_equal(named["mean"].y, history["mean"])
    assert named["NaN or Inf"].x.tolist() == [4]
    lines = history.plot("l2", "abs_max").data
    assert [trace.name for trace in lines[:2]] == ["l2", "abs_max"]
    with pytest.raises(NotFoundError, match="meen"):
        history.plot("meen")


def test_histograms_are_drawn(run):
    series = run.histograms(EVIL, scale="linear", bins=20)
    (heatmap,) = series.plot().data
    assert isinstance(heatmap, plotly.graph_objects.Heatmap)
    assert heatmap.z.shape == (20, 6)
    np.testing.assert_allclose(heatmap.z.sum(axis=0), 1)
    assert heatmap.customdata[0][0].startswith(f"{series.edges[0]:.4g} …")
    assert len(series.plot("ridgeline").data) == 12
    assert "6 rows, 20 bins" in repr(series)
    with pytest.raises(InvalidValueError, match="ridgeline"):
        series.plot("pie")
    with pytest.raises(NotFoundError, match="no histogram"):
        run.histograms("bad").plot()


def test_values_are_drawn(run):
    value = run.tensor(EVIL, step=4)
    (heatmap,) = value.plot().data
    assert heatmap.z.shape == (30, 512)  # 700 columns, thinned
    assert np.isnan(heatmap.z[0, 0])
    assert heatmap.z[29, -1] == value[29, 699]
    assert value.plot().layout.title.text.endswith("(512 evenly spaced rows and columns)")
    deep = run.tensor("deep").plot("1,:,:,4")
    np.testing.assert_array_equal(deep.data[0].z, run.tensor("deep")[1, :, :, 4])
    assert deep.layout.title.text == "deep:0[1,:,:,4], step 0"
    assert run.tensor("deep").plot((0, slice(1, 3), 2)).layout.title.text == "deep:0[0, 1:3, 2], step 0"
    np.testing.assert_array_equal(run.tensor("deep").plot().data[0].z, run.tensor("deep")[0, 0])
    np.testing.assert_array_equal(run.tensor("line").plot().data[0].y, [1, np.nan, 3])
    assert run.tensor("complex").plot().data[0].z.tolist() == [[5]]
    for name in ("text", "scalar"):
        with pytest.raises(InvalidValueError, match="cannot be plotted"):
            run.tensor(name).plot()


def test_names_are_no_html(run):
    tensor = run.tensor(EVIL, step=4)
    shown = [tensor, run.history(EVIL), run.find(step=4), run.histograms(EVIL), run]
    for each in shown:
        assert "<img" not in each._repr_html_()
    assert "&lt;img" in tensor._repr_html_()
    for figure in (tensor.plot(), run.history(EVIL).plot(), run.histograms(EVIL).plot()):
        assert "<img" not in figure.layout.title.text


def test_without_plotly_it_is_said_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(ImportError, match=r"tensortap\[plot\]"):
        run.history(EVIL).plot()


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda run: run.tensor("a", step="x"), "step='x' is not an integer"),
        (lambda run: run.tensor("a", step=1.5), "step=1.5 is not an integer"),
        (lambda run: run.tensor("a", step=0, visit="x"), "visit='x' is not an integer"),
        (lambda run: run.tensor("a", step=0, worker=3), "worker=3 is not a string"),
        (lambda run: run.tensor(3), "3 is not a tensor name"),
        (lambda run: run.history(b"a"), "b'a' is not a tensor name"),
        (lambda run: run.history("a", graph=3), "graph=3 is not a string"),
        (lambda run: run.histograms(None), "None is not a tensor name"),
        (lambda run: run.find(3), "nodes=3 is not a string"),
        (lambda run: run.find(where=3), "where=3 is not a string"),
        (lambda run: run.find(op_type=3), "op_type=3 is not a string"),
        (lambda run: run.find(kept="x"), "kept='x' is not True or False"),
        (lambda run: run.find(optype="x"), "Unknown filter .optype.*op_type"),
        (lambda run: run.tensor("text", step=0).plot(), "Text cannot be plotted"),
        (lambda run: run.tensor("empty", step=0).plot(), "An empty value cannot be plotted"),
        (lambda run: run.tensor("scalar", step=0).plot(), "A single number.*run.history"),
        (lambda run: run.history("text").plot(), "nothing of 'text:0' to plot.*It is text"),
        (lambda run: run.history("empty").plot(), "nothing of 'empty:0' to plot.*It is empty"),
        (lambda run: run.history("a", steps="50:60").plot(), "a:0"),
        (lambda run: run.history("a").plot("worker"), "column 'worker' is not numeric"),
        (lambda run: run.histograms("text").plot(), "'text:0' has no histogram to plot.*It is text"),
        (lambda run: run.histograms("a", steps="50:60").plot(), "'a:0' has no snapshot in that range"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(odd_run, ask, sentence):
    with pytest.raises(TensortapError, match=sentence):
        ask(odd_run)


@pytest.fixture(scope="module")
def odd_run(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("odd")
    with DumpWriter(logdir, "r") as writer:
        for step in range(2):
            writer.log("a", np.ones((2, 2)), step=step)
            writer.log("text", np.array(["x", "y"], object), step=step)
            writer.log("empty", np.ones((0, 2)), step=step)
            writer.log("scalar", 1.0, step=step)
    return tensortap.open(logdir).runs["r"]
