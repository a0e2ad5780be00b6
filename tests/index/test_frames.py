"""Frames and figures of what was captured; notebooks' HTML, with names that hold HTML."""

from __future__ import annotations

import sys

import numpy as np
import plotly.graph_objects
import pyarrow as pa
import pytest

import tensortap
from tensortap.dump import DumpWriter, InvalidValueError, NotFoundError

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
    assert "512" in value.plot().layout.title.text
    deep = run.tensor("deep").plot("1,:,:,4")
    np.testing.assert_array_equal(deep.data[0].z, run.tensor("deep")[1, :, :, 4])
    assert deep.layout.title.text == "deep:0[1,:,:,4], step 0"
    assert run.tensor("deep").plot((0, slice(1, 3), 2)).layout.title.text == "deep:0[0, 1:3, 2], step 0"
    np.testing.assert_array_equal(run.tensor("deep").plot().data[0].z, run.tensor("deep")[0, 0])
    np.testing.assert_array_equal(run.tensor("line").plot().data[0].y, [1, np.nan, 3])
    assert run.tensor("complex").plot().data[0].z.tolist() == [[5]]
    for name in ("text", "scalar"):
        with pytest.raises(InvalidValueError, match="not possible"):
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
