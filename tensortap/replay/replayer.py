"""Run a recorded call again, with the analyses of a request, in the replaying process."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tensortap.capture.tracing.candidate import Candidate
from tensortap.core.errors import InvalidValueError, NotFoundError
from tensortap.core.progress import Notice, ignore_notice
from tensortap.core.records import Graph
from tensortap.dump.read.runs import RunReader
from tensortap.dump.recording.bundle import read_bundle_graph
from tensortap.dump.recording.recording import Recording, array_hash
from tensortap.dump.write.writer import DumpWriter

from .analyses.analysis_registry import ANALYSES
from .analyses.node_accuracy import judge_nodes
from .analyses.observer_effect import measure_observer_effect
from .execution.comparison import CapturedHashes, UntappedRun, compare_results
from .execution.loaded_call import CallResult, LoadedCall
from .execution.node_selection import pattern_of
from .execution.override import override
from .execution.tensor_expression import parse_changes, value_at_step
from .locate import is_plain_file, open_recording
from .protocol import Answer, Request


def replay(request: Request, progress: Notice = ignore_notice) -> dict[str, Any]:
    """Answers a request; see `Answer`.

    Raises:
        TensortapError: the recording cannot be read or run, or the request does not fit it.
    """
    progress("reading the recording")
    source = Path(request.source)
    recording = open_recording(source)
    changes = {
        name: parse_changes(text, value_at_step(source, name)) for name, text in request.changes.items()
    }
    changed = override(recording, changes) if changes else recording
    progress(f"running step {recording.step}")
    with LoadedCall(changed) as call:
        wanted = _wanted(request, call)
        again = call.run(wanted)
        results = compare_results(recording, again, bool(changes))
        results = UntappedRun(recording, call).explain(results, again)
        tapped = [each for each in call.in_graph_candidates if wanted(each)]
        found = measure_observer_effect(changed, call, tapped) if request.observer_effect else None
    judges = request.accuracy or request.analysis
    if request.logdir and (request.nodes is not None or request.tensors) and not judges:
        _write(request, recording, again)
    proofs = {} if changes else compare_captured(recording, again)
    unlike = [name for name, proven in proofs.items() if not proven]
    effect = None if found is None else asdict(replace(found, kept=len(proofs), unlike_kept=unlike))
    answer = Answer.extend(results, tensors=len(again.tensors), observer_effect=effect, proofs=proofs)
    if request.analysis:
        answer = replace(answer, analysis=_run_analysis(request, changed, progress))
    return asdict(_judged(answer, changed, request.nodes or "", progress) if request.accuracy else answer)


def _run_analysis(request: Request, recording: Recording, progress: Notice) -> dict[str, Any]:
    if request.analysis not in ANALYSES:
        raise NotFoundError(f"Unknown analysis {request.analysis!r}.", f"Use one of {', '.join(ANALYSES)}.")
    found = ANALYSES[request.analysis](
        recording, request, lambda: recorded_graph(Path(request.source), recording), progress
    )
    return {"analysis": request.analysis, **found}


def _judged(answer: Answer, recording: Recording, nodes: str, progress: Notice) -> Answer:
    found, skipped = judge_nodes(recording, pattern_of(nodes), progress)
    return replace(answer, verdicts=[asdict(each) for each in found], not_judged=skipped)


def _wanted(request: Request, call: LoadedCall) -> Callable[[Candidate], bool]:
    names = {candidate.name for candidate in call.candidates}
    missing = [name for name in request.tensors if name not in names]
    if missing:
        near = ", ".join(difflib.get_close_matches(missing[0], names, 3, 0.4))
        raise NotFoundError(
            f"The recorded step has no tensor {missing[0]!r}.",
            f"Similar names: {near}." if near else "List its nodes and tensors with 'tensortap step'.",
        )
    own = request.nodes is not None and not request.analysis  # an analysis runs the call itself
    pattern = pattern_of(request.nodes or "") if own else None
    chosen = set(request.tensors)
    return lambda candidate: (
        candidate.name in chosen or (pattern is not None and pattern.search(candidate.name) is not None)
    )


def _write(request: Request, recording: Recording, again: CallResult) -> None:
    """Writes the tensors as a run, with the graph of the recorded run, if it is available."""
    facts = {"replay of": request.source, "step": recording.step, "changes": dict(request.changes)}
    with DumpWriter(request.logdir, request.run, info=facts) as writer:
        graph = recorded_graph(Path(request.source), recording)
        graph_id = writer.graph(graph) if graph is not None else ""
        for candidate, visit, array in again.tensors:
            try:
                writer.log(
                    candidate.name, array, step=recording.step, visit=visit, graph=graph_id, keep="value"
                )
            except InvalidValueError:  # a dtype that no dump holds
                continue


def compare_captured(recording: Recording, again: CallResult) -> dict[str, bool]:
    """Whether the tensors captured in the recorded call came out again, bit by bit, by name."""
    proofs = CapturedHashes(recording)
    for candidate, visit, array in again.tensors:
        if candidate.name in recording.tensor_hashes:
            proofs.add(candidate.name, visit, array_hash(array))
    return dict(proofs.all())


def recorded_graph(source: Path, recording: Recording) -> Graph | None:
    """The graph in the recording's run or bundle, or None."""
    if not recording.graph:
        return None
    if is_plain_file(source):
        return read_bundle_graph(source, recording.graph)
    return RunReader(source.parent.parent).graph(recording.graph)
