"""Values: a slice of a stored array in a format of choice, and where its non-finite elements are."""

from __future__ import annotations

import re

from flask import Blueprint, Response

from tensortap.core.slice_selection import Selection
from tensortap.index.query.tensor_lookup import find_snapshot, has_several_visits
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import Snapshot
from tensortap.index.values import extreme_element, nonfinite_elements, select_slice, zero_elements

from ..log_reader import current_run
from ..responses.parameters import Parameters, ordered_range
from ..responses.png import Scale
from ..responses.responses import json_response
from ..responses.value_formats import FORMATS

blueprint = Blueprint("values", __name__)

MAX_SLICE = 16 * 2**20
MAX_INDICES = 10_000


@blueprint.get("/api/runs/<run>/value")
def one_value(run: str) -> Response:
    """GET api/runs/<run>/value"""
    parameters = Parameters()
    wanted = _SnapshotParameters(parameters)
    selection = parameters.text("selection") or ""
    name = parameters.choice("format", tuple(FORMATS), "npy")
    scale = Scale(**ordered_range(parameters.number("low"), parameters.number("high")))
    parameters.done()
    index = current_run(run)
    snapshot = wanted.snapshot(index)
    part = select_slice(index, snapshot, selection)
    array = part.read(limit=MAX_SLICE)
    chosen = FORMATS[name]
    data = chosen.encode(array, snapshot, part.selection, scale)
    response = Response(data, content_type=chosen.content_type)
    several = snapshot.visit > 0 or has_several_visits(index, snapshot)
    file = f"{_file_name(snapshot, part.selection, several)}.{name}"
    response.headers["Content-Disposition"] = f'{chosen.disposition}; filename="{file}"'
    if part.unverified:
        response.headers["X-Tensortap-Unverified"] = part.unverified
    return response


@blueprint.get("/api/runs/<run>/nonfinite")
def nonfinite(run: str) -> Response:
    """GET api/runs/<run>/nonfinite"""
    parameters = Parameters()
    wanted = _SnapshotParameters(parameters)
    limit = parameters.count("limit", 100, high=MAX_INDICES)
    parameters.done()
    index = current_run(run)
    found = nonfinite_elements(index, wanted.snapshot(index), limit=limit)
    mark = {"unverified": found.unverified} if found.unverified else {}
    return json_response({"total": found.total, "indices": found.indices, "values": found.values} | mark)


@blueprint.get("/api/runs/<run>/elements")
def elements(run: str) -> Response:
    """GET api/runs/<run>/elements"""
    parameters = Parameters()
    wanted = _SnapshotParameters(parameters)
    find = parameters.choice("find", ("zero", "max", "min"), "max")
    limit = parameters.count("limit", 100, high=MAX_INDICES)
    parameters.done()
    index = current_run(run)
    snapshot = wanted.snapshot(index)
    if find == "zero":
        found = zero_elements(index, snapshot, limit=limit)
    else:
        found = extreme_element(index, snapshot, largest=find == "max")
    mark = {"unverified": found.unverified} if found.unverified else {}
    return json_response({"total": found.total, "indices": found.indices} | mark)


class _SnapshotParameters:
    """The parameters that name one snapshot."""

    def __init__(self, parameters: Parameters) -> None:
        self._tensor = parameters.required("tensor", "dense/MatMul:0")
        parameters.required("step", "7")
        self._step = parameters.count("step", 0, high=2**63 - 1)
        self._visit = parameters.count("visit", 0, high=2**31 - 1)
        self._worker = parameters.text("worker")
        self._graph = parameters.text("graph")

    def snapshot(self, run: RunIndex) -> Snapshot:
        return find_snapshot(
            run, self._tensor, step=self._step, visit=self._visit, worker=self._worker, graph=self._graph
        )


def _file_name(snapshot: Snapshot, selection: Selection, several_visits: bool) -> str:
    """A name with tensor, step, visit and slice, so that files of other slices can be in one folder.

    The page names its pictures the same way (frontend/src/model/value/export_names.ts).
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", snapshot.tensor).strip("._")[-100:]
    visit = f"-visit{snapshot.visit}" if several_visits else ""
    parts = selection.text.split(",")
    part = "" if all(part in ("", ":") for part in parts) else "-at_" + "_".join(map(_file_name_part, parts))
    return f"{name or 'tensor'}-step{snapshot.step}{visit}{part[:120]}"


def _file_name_part(part: str) -> str:
    """A part of a selection without colons, which some file systems forbid: `10to20`, `all`, `allby2`."""
    first, *bounds = part.split(":")
    if not bounds:
        return first
    span = f"{first}to{bounds[0]}" if first or bounds[0] else "all"
    return span + "".join(f"by{step}" for step in bounds[1:])
