"""Tensors of a recorded call, perhaps with changes: computed, and written as a run."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.capture.tracing.candidate import Candidate
from tensortap.core.dtypes import Array, dtype_name
from tensortap.core.errors import InvalidValueError, NotFoundError
from tensortap.core.progress import Advance, ignore_advance
from tensortap.core.records import Graph, Keep
from tensortap.dump.recording.recording import Recording, array_hash
from tensortap.dump.write.writer import DumpWriter

from ..execution.comparison import CapturedHashes, UntappedRun, compare_results
from ..execution.float_arrays import is_float
from ..execution.loaded_call import LoadedCall
from ..execution.override import changed_names, override
from ..execution.tensor_expression import parse_changes, value_at_step
from ..locate import open_recording
from ..protocol import ResultComparison, StepperAnswer, StepperRequest, TensorFacts
from ..replayer import recorded_graph

_FETCH_BYTES = 512 << 20  # bytes of tensors that are fetched by one run of the call, by their static shapes
_ASSUMED_EXTENT = 64  # what an unknown dimension is taken for


def compute_run(request: StepperRequest, advance: Advance = ignore_advance) -> dict[str, Any]:
    """Answers a request; see `StepperAnswer`.

    Raises:
        TensortapError: the recording cannot be read or run, or the request does not fit it.
    """
    advance(0, 0, "loading the recording")
    source = Path(request.source)
    recording = open_recording(source)
    texts = _by_tensor(request.changes)
    changes = {name: parse_changes(text, value_at_step(source, name)) for name, text in texts.items()}
    changed = override(recording, changes) if changes else recording
    facts = {"replay of": recording.function, "step": recording.step, "changes": list(request.changes)}
    with (
        LoadedCall(changed) as call,
        DumpWriter(request.logdir, request.run, info=facts, compression=None) as writer,
    ):
        graph = recorded_graph(source, recording) or _graph(recording)
        names = changed_names(call, texts)
        proofs = CapturedHashes(changed)  # which has no hashes if it was changed
        wanted = _wanted(call, names, request.tensors)
        out = _ComputedRunWriter(
            writer, writer.graph(graph), recording.step, request.value_bytes, names, proofs
        )
        untapped = UntappedRun(recording, call)
        results = []
        for group in _groups(wanted):
            advance(len(out), len(wanted), "running the step")
            again = call.run(partial(_is_among, {candidate.name for candidate in group}))
            for candidate, visit, array in again.tensors:
                out.add(candidate.name, visit, array)
                advance(len(out), len(wanted), "reading tensors")
            advance(len(out), len(wanted), "comparing results")
            found = compare_results(recording, again, bool(changes))
            results.append(found if changes else untapped.explain(found, again))
    return asdict(StepperAnswer.extend(_merged(results), step=recording.step, tensors=out.facts()))


def _by_tensor(changes: Sequence[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, text in changes:
        found[name] = f"{found[name]};{text}" if name in found else text
    return found


def _graph(recording: Recording) -> Graph:
    """Graph of a bundle without its run."""
    with LoadedCall(recording) as call:
        return call.recorded.graph


def _wanted(call: LoadedCall, names: Mapping[str, str], tensors: Sequence[str] | None) -> list[Candidate]:
    """By the names that the tensors have in the recording."""
    known = [(names.get(each.name, each.name), each) for each in call.candidates]
    if tensors is None:
        return [each for name, each in known if name]
    missing = set(tensors) - {name for name, _ in known}
    if missing:
        raise NotFoundError(f"The recorded step has no tensor {min(missing)!r}.", "Its graph lists them.")
    return [each for name, each in known if name in tensors]


def _groups(candidates: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    """Splits tensors into groups that fit into memory at once, by their static shapes."""
    group: list[Candidate] = []
    size = 0
    for candidate in candidates:
        shape = candidate.shape or (_ASSUMED_EXTENT,)
        own = 8 * math.prod(_ASSUMED_EXTENT if extent is None else extent for extent in shape)
        if group and size + own > _FETCH_BYTES:
            yield group
            group, size = [], 0
        group.append(candidate)
        size += own
    yield group


def _is_among(names: Set[str], candidate: Candidate) -> bool:
    return candidate.name in names


def _merged(results: Sequence[ResultComparison]) -> ResultComparison:
    """Merge runs of one call with taps on different tensors."""
    last = results[-1]
    ulp: dict[str, int] = {}
    for each in results:
        ulp |= {name: max(distance, ulp.get(name, 0)) for name, distance in each.ulp.items()}
    return replace(
        last,
        identical=None if last.identical is None else all(each.identical for each in results),
        differing=list(dict.fromkeys(name for each in results for name in each.differing)),
        untapped=next((each.untapped for each in results if each.untapped is not None), None),
        ulp=ulp,
    )


@dataclass(slots=True)
class _Tally:
    """One tensor over its visits."""

    dtype: str
    shape: tuple[int, ...]
    kept: bool
    nan: int = 0
    inf: int = 0
    bad_visit: int = -1
    visits: int = 0
    digest: Any = field(default_factory=hashlib.sha256)


class _ComputedRunWriter:
    """Writes tensors into a run, and counts them. `names`: of candidates that go by another, see
    `changed_names`."""

    def __init__(
        self,
        writer: DumpWriter,
        graph: str,
        step: int,
        budget: int,
        names: Mapping[str, str],
        proofs: CapturedHashes,
    ) -> None:
        self._writer, self._graph, self._step, self._budget = writer, graph, step, budget
        self._names, self._proofs = names, proofs
        self._tallies: dict[str, _Tally] = {}

    def add(self, candidate: str, visit: int, array: Array) -> None:
        """Writes one visit of a tensor; its value only while there is room for it."""
        name = self._names.get(candidate, candidate)
        fits = array.nbytes <= self._budget
        keep: Keep = "value" if fits else "summary"
        try:
            self._writer.log(name, array, step=self._step, visit=visit, graph=self._graph, keep=keep)
        except InvalidValueError:  # a dtype that no dump holds
            return
        self._budget -= array.nbytes if fits else 0
        self._count(name, visit, array, fits)

    def _count(self, name: str, visit: int, array: Array, fits: bool) -> None:
        tally = self._tallies.get(name)
        if tally is None:
            tally = self._tallies[name] = _Tally(dtype_name(array.dtype), array.shape, fits)
        if array.dtype.kind == "c" or is_float(array):
            tally.nan += int(np.isnan(array).sum())
            tally.inf += int(np.isinf(array).sum())
            if tally.bad_visit < 0 < tally.nan + tally.inf:
                tally.bad_visit = visit
        tally.visits += 1
        tally.kept &= fits
        digest = array_hash(array)
        tally.digest.update(digest.encode())
        self._proofs.add(name, visit, digest)

    def __len__(self) -> int:
        """How many tensors it has seen."""
        return len(self._tallies)

    def facts(self) -> dict[str, TensorFacts]:
        """Facts of each tensor."""
        return {
            name: TensorFacts(
                tally.dtype,
                tally.shape,
                tally.nan,
                tally.inf,
                tally.bad_visit,
                tally.visits,
                tally.digest.hexdigest(),
                tally.kept,
                self._proofs.of(name),
            )
            for name, tally in self._tallies.items()
        }
