"""What can be found out about a recorded step beyond running it again, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tensortap.core.model import Graph
from tensortap.dump.recording.recording import Recording

from ..invariant_checks.check_registry import run_check
from ..protocol import Progress, Request
from ..run.node_selection import pattern_of
from .compare_recordings import against
from .dtype_drift import drift
from .minimal_repair import fix, last_finite_recording
from .script import script

GraphOf = Callable[[], Graph | None]
"""Reads the recording's graph, with the program's lines; None if it is not at hand."""
Study = Callable[[Recording, Request, GraphOf, Progress], dict[str, Any]]


def _against(recording: Recording, request: Request, graph: GraphOf, progress: Progress) -> dict[str, Any]:
    progress("running both recordings")
    return against(recording, pattern_of(request.nodes or ""), request.options, graph())


def _drift(recording: Recording, request: Request, _: GraphOf, progress: Progress) -> dict[str, Any]:
    progress("running the step in another dtype")
    return drift(recording, pattern_of(request.nodes or ""), request.options)


def _fix(recording: Recording, request: Request, graph: GraphOf, progress: Progress) -> dict[str, Any]:
    found = fix(recording, graph(), progress)
    earlier = last_finite_recording(Path(request.source)) if found["given"] else None
    return found | {"earlier": earlier and earlier._asdict()}


def _test(recording: Recording, request: Request, graph: GraphOf, progress: Progress) -> dict[str, Any]:
    progress(f"testing: {request.options.get('test', '')}")
    return run_check(recording, graph(), request.options)


def _script(recording: Recording, request: Request, graph: GraphOf, progress: Progress) -> dict[str, Any]:
    progress("writing the script")
    return script(recording, graph(), request.options)


STUDIES: Mapping[str, Study] = {
    "against": _against,
    "fix": _fix,
    "recast": _drift,
    "script": _script,
    "test": _test,
}
"""Each gives an object that fits into JSON."""
