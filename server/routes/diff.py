"""Two runs, steps or workers compared; one tensor's values side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from flask import Blueprint, Response

from tensortap.analysis.compare.compare import check_pairs
from tensortap.analysis.compare.comparison_records import Comparison, TensorDifference
from tensortap.analysis.compare.metrics.ulp import common_dtype, subtracted, ulp_distance, worst_element
from tensortap.analysis.compare.presentation import SORTS as DIFFERENCE_SORTS
from tensortap.analysis.compare.presentation import distance_text, divergence_title, sorted_tensors
from tensortap.analysis.compare.side import Side
from tensortap.analysis.compare.tensor_pairs import read_pair
from tensortap.analysis.notes import missing_pair_text
from tensortap.core.errors import NotFoundError, SelectionError, ValueNotKeptError
from tensortap.core.slice_selection import Selection
from tensortap.html.comparison_report import comparison_html
from tensortap.index.query.tensor_lookup import find_snapshot
from tensortap.index.snapshot import Snapshot
from tensortap.index.values import find_value, select_slice

from ..jobs.analysis_jobs import analysis_state, ask, found_by
from ..log_reader import current_run
from ..responses.error_responses import BadRequestError
from ..responses.json_encoding import plain
from ..responses.parameters import Parameters, ordered_range
from ..responses.png import Scale
from ..responses.responses import json_response
from ..responses.value_formats import FORMATS, Format
from .values import MAX_SLICE

blueprint = Blueprint("diff", __name__)
MAX_ROWS = 5000
_WHAT = ("a", "b", "difference", "ulp")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")  # in the name of a file


@blueprint.get("/api/diff")
def difference() -> Response:
    """GET api/diff"""
    parameters = Parameters()
    a, b = _sides(parameters)
    where = parameters.text("where")
    matches = _matches(parameters.text("match"))
    sort = parameters.choice("sort", DIFFERENCE_SORTS, "order")
    limit = parameters.count("limit", MAX_ROWS, high=MAX_ROWS)
    offset = parameters.count("offset", 0, high=2**31)
    everything = parameters.flag("all")
    name = parameters.choice("format", ("json", "html"), "json")
    cancel = parameters.flag("cancel")
    parameters.done()
    a.check()
    b.check()
    check_pairs(a.run, b.run, matches)
    sides = {"steps": (a.step, b.step), "workers": (a.worker, b.worker)}
    options = {**sides, "matches": matches, "where": where}
    version = tuple((run.generation, run.catalog.rows) for run in (a.run, b.run))
    key = f"diff/{b.run.id}/{sorted(sides.items())}/{where}/{sorted(matches.items())}"
    job = ask((a.run, b.run), "compare", key, version, options, cancel=cancel)
    result: Comparison | None = found_by(job)
    state = analysis_state(job, a.run, b.run)
    if name == "html":
        return _report(result, state["damage"])
    rows = [] if result is None else _rows(result, sort, everything=everything)
    return json_response(
        state
        | {
            "comparison": None if result is None else _without_tensors(result),
            "total": len(rows),
            "rows": [_row(row) for row in rows[offset : offset + limit]],
        }
    )


def _report(result: Comparison | None, damage: Sequence[str]) -> Response:
    """The report as a file: its style would not pass the page's policy."""
    if result is None:
        raise NotFoundError("The comparison is not ready.", "Poll with format=json until the job is done.")
    response = Response(comparison_html(result, damage), content_type="text/html; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{_report_name(result)}"'
    return response


def _report_name(result: Comparison) -> str:
    """Names both sides, so that reports of several pairs can be in one folder."""
    a, b = (_UNSAFE.sub("_", side.run).strip("._")[-60:] or "run" for side in (result.a, result.b))
    return f"{a}-step{result.a.step}-and-{b}-step{result.b.step}.html"


def _sides(parameters: Parameters) -> tuple[Side, Side]:
    run_a, run_b = parameters.required("a", "RUN"), parameters.required("b", "RUN")
    step, worker = parameters.integer("step"), parameters.text("worker")
    shared_worker = worker if run_a == run_b else None
    step_b, worker_b = parameters.integer("step_b", step), parameters.text("worker_b") or shared_worker
    return Side(current_run(run_a), step, worker), Side(current_run(run_b), step_b, worker_b)


def _matches(text: str | None) -> dict[str, str]:
    """`a=b` pairs, one per line."""
    pairs = [line.partition("=") for line in (text or "").splitlines() if line.strip()]
    if not all(left and found and right for left, found, right in pairs):
        raise BadRequestError("'match' is not valid.", "Write one pair NODE_IN_A=NODE_IN_B per line.")
    return {left: right for left, _, right in pairs}


def _rows(result: Comparison, sort: str, *, everything: bool) -> list[TensorDifference]:
    rows = sorted_tensors(result.tensors, sort)
    return rows if everything else [row for row in rows if row.verdict != "same"]


def _row(row: TensorDifference) -> dict[str, Any]:
    fields: dict[str, Any] = plain(row)
    if row.basis == "summaries":
        fields["missing"] = missing_pair_text(row.no_value_a, row.no_value_b)
    return fields


def _without_tensors(result: Comparison) -> dict[str, Any]:
    """The comparison as JSON without its tensors, which are sent page by page."""
    fields: dict[str, Any] = plain(result)
    del fields["tensors"]
    if result.first is not None:
        first = fields["first"]
        first["title"] = divergence_title(result.first)
        first["difference"]["distance"] = distance_text(result.first.difference)
        for row, entry in zip(first["inputs"], result.first.inputs, strict=True):
            row["distance"] = distance_text(entry)
    return fields


@blueprint.get("/api/diff/value")
def difference_value() -> Response:
    """GET api/diff/value"""
    parameters = Parameters()
    what = parameters.choice("what", _WHAT, "difference")
    selection = parameters.text("selection") or ""
    name = parameters.choice("format", tuple(FORMATS), "npy")
    scale = Scale(**ordered_range(parameters.number("low"), parameters.number("high")))
    both, snapshots, resolved = _read_pair(parameters, selection)
    return _value_response(what, both, snapshots, resolved, FORMATS[name], scale)


@blueprint.get("/api/diff/worst")
def worst_difference() -> Response:
    """GET api/diff/worst"""
    (a, b), _, _ = _read_pair(Parameters(), "")
    if a.dtype == object or b.dtype == object:
        raise SelectionError("Text cannot be subtracted.", "Use what=a or what=b.")
    return json_response({"index": worst_element(a, b)})


def _read_pair(
    parameters: Parameters, selection: str
) -> tuple[tuple[Any, Any], tuple[Snapshot, Snapshot], Selection]:
    """The same part of a tensor of both sides, its snapshots, and the selection."""
    a, b = _sides(parameters)
    tensor = parameters.required("tensor", "dense/Relu:0")
    other = parameters.text("other") or tensor
    graph, graph_b = parameters.text("graph"), parameters.text("graph_b")
    visit = parameters.count("visit", 0, high=2**31 - 1)
    parameters.done()
    step_a, step_b = _chosen_step(a), _chosen_step(b)
    left = find_snapshot(a.run, tensor, step=step_a, visit=visit, worker=a.worker, graph=graph)
    right = find_snapshot(b.run, other, step=step_b, visit=visit, worker=b.worker, graph=graph_b)
    resolved = select_slice(a.run, left, selection).selection
    find_value(b.run, right)  # says why there is none
    both = read_pair(a.run, b.run, left, right, selection, MAX_SLICE)
    if both is None:
        raise ValueNotKeptError(
            f"{tensor!r} and {other!r} cannot be subtracted.",
            "Both need the same shape, complete values (or the same sample) and at most 16 MiB. "
            "Select a slice with selection=.",
        )
    return both, (left, right), resolved


def _chosen_step(side: Side) -> int:
    if side.step is None:
        raise BadRequestError("'step' is missing.", "Add it to the URL, e.g. step=3.")
    return side.step


def _value_response(
    what: str,
    both: tuple[Any, Any],
    snapshots: tuple[Snapshot, Snapshot],
    selection: Selection,
    chosen: Format,
    scale: Scale,
) -> Response:
    a, b = both
    if what in ("a", "b"):
        array = a if what == "a" else b
    elif a.dtype == object or b.dtype == object:
        raise SelectionError("Text cannot be subtracted.", "Use what=a or what=b.")
    elif what == "ulp":
        array = ulp_distance(a, b, common_dtype(snapshots[0].dtype, snapshots[1].dtype))
    else:
        array = subtracted(a, b)
    return Response(chosen.encode(array, snapshots[0], selection, scale), content_type=chosen.content_type)
