"""The analyses of a recorded step, by the name that a `Request` has for each (`study`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tensortap.core.records import Graph
from tensortap.dump.recording.recording import Recording

from ..invariant_checks.check_registry import run_check
from ..protocol import Progress, Request
from ..run.node_selection import pattern_of
from .compare_recordings import compare_recordings
from .dtype_drift import dtype_drift
from .minimal_repair import last_finite_recording, minimal_repair
from .script import write_script

GraphOf = Callable[[], Graph | None]
"""Reads the recording's graph, with the program's lines; None if it is not available."""
Study = Callable[[Recording, Request, GraphOf, Progress], dict[str, Any]]


def _against(recording: Recording, request: Request, graph: GraphOf, progress: Progress) -> dict[str, Any]:
    progress("running both recordings")
    return compare_recordings(recording, pattern_of(request.nodes or ""), request.options, graph())


def _drift(recording: Recording, request: Request, _: GraphOf, progress: Progress) -> dict[str, Any]:
    progress("running the step in another dtype")
    return dtype_drift(recording, pattern_of(request.nodes or ""), request.options)


def _fix(recording: Recording, request: Request, graph: GraphOf, progress: Progress) -> dict[str, Any]:
    found = minimal_repair(recording, graph(), progress)
    earlier = last_finite_recording(Path(request.source)) if found["given"] else None
    return found | {"earlier": earlier and earlier._asdict()}


def _test(recording: Recording, request: Request, graph: GraphOf, progress: Progress) -> dict[str, Any]:
    progress(f"testing: {request.options.get('test', '')}")
    return run_check(recording, graph(), request.options)


def _script(recording: Recording, request: Request, graph: GraphOf, progress: Progress) -> dict[str, Any]:
    progress("writing the script")
    return write_script(recording, graph(), request.options)


ANALYSES: Mapping[str, Study] = {
    "against": _against,
    "fix": _fix,
    "recast": _drift,
    "script": _script,
    "test": _test,
}
"""Each gives an object that fits into JSON."""
