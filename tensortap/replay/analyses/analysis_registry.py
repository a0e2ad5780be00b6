"""The analyses of a recorded step, by the name that a `Request` has for each (`analysis`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tensortap.core.errors import NotFoundError
from tensortap.core.progress import Notice
from tensortap.core.records import Graph
from tensortap.dump.recording.recording import Recording

from ..execution.node_selection import pattern_of
from ..invariant_checks.independence_checks import check_batch, check_causality, check_padding
from ..invariant_checks.numeric_checks import check_determinism, check_gradients, check_sensitivity
from ..protocol import CheckResult, Request
from .compare_recordings import compare_recordings
from .dtype_drift import dtype_drift
from .minimal_repair import last_finite_recording, minimal_repair
from .script import write_script

GraphOf = Callable[[], Graph | None]
"""Reads the recording's graph, with the program's lines; None if it is not available."""
Analysis = Callable[[Recording, Request, GraphOf, Notice], dict[str, Any]]


def _compare(recording: Recording, request: Request, graph: GraphOf, progress: Notice) -> dict[str, Any]:
    progress("running both recordings")
    return compare_recordings(recording, pattern_of(request.nodes or ""), request.options, graph())


def _drift(recording: Recording, request: Request, _: GraphOf, progress: Notice) -> dict[str, Any]:
    progress("running the step in another dtype")
    return dtype_drift(recording, pattern_of(request.nodes or ""), request.options)


def _repair(recording: Recording, request: Request, graph: GraphOf, progress: Notice) -> dict[str, Any]:
    found = minimal_repair(recording, graph(), progress)
    earlier = last_finite_recording(Path(request.source)) if found["given"] else None
    return found | {"earlier": earlier and earlier._asdict()}


def _test(recording: Recording, request: Request, graph: GraphOf, progress: Notice) -> dict[str, Any]:
    progress(f"testing: {request.options.get('test', '')}")
    return run_check(recording, graph(), request.options)


def _script(recording: Recording, request: Request, graph: GraphOf, progress: Notice) -> dict[str, Any]:
    progress("writing the script")
    return write_script(recording, graph(), request.options)


ANALYSES: Mapping[str, Analysis] = {
    "compare": _compare,
    "dtype": _drift,
    "repair": _repair,
    "script": _script,
    "test": _test,
}
"""Each gives an object that fits into JSON."""


CHECKS: Mapping[str, Callable[[Recording, Graph | None, Mapping[str, Any]], CheckResult]] = {
    "batch": check_batch,
    "causal": check_causality,
    "padding": check_padding,
    "gradient": check_gradients,
    "determinism": check_determinism,
    "sensitivity": check_sensitivity,
}
"""One row each; the questions are in `protocol.TESTS`."""


def run_check(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Answers the analysis `test`: `test`, its name (`options["test"]`), and the fields of its `CheckResult`.

    Raises:
        NotFoundError: the test does not exist, or does not apply to the step.
    """
    name = str(options.get("test"))
    if name not in CHECKS:
        raise NotFoundError(f"Unknown test {name!r}.", f"Use one of {', '.join(CHECKS)}.")
    return {"test": name, **asdict(CHECKS[name](recording, graph, options))}
