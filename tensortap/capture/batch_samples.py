"""Which samples fed which step: noted by the program, or by a traced dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tensortap.tf import internals

from .adapters.traced_dataset import Choose, SampleIds, TracedDataset
from .errors import WatchError
from .instrument.context_stack import Opened, TaskStack
from .warnings_once import OneTimeWarnings

MAX_SAMPLES = 16_384  # of one step that are written
MAX_TEXT = 400_000  # bytes of their ids, and as many of their files

# What may lie between the traced dataset and the iterator without changing which batch comes when.
_KEEP_ORDER = ("Prefetch", "Options", "Map", "Repeat", "Take", "AssertCardinality")


class _Note(NamedTuple):
    samples: BatchSamples
    noted: SampleIds


_NOTES: TaskStack[_Note] = TaskStack("tensortap batches")


class BatchSamples:
    """What is known of one tap's batches."""

    def __init__(self, warnings: OneTimeWarnings) -> None:
        self._warnings = warnings
        self._traced: list[TracedDataset] = []
        self._waiting: set[Opened[_Note]] = set()  # noted, but their step has not run yet

    def note(self, ids: Any, files: Any) -> None:
        """Says what feeds the step that this thread is in, or its next one.

        Raises:
            WatchError: neither ids nor files are given, or they are no list.
        """
        if ids is None and files is None:
            raise WatchError("batch() says nothing.", "Give ids=, files=, or both.")
        noted = SampleIds(*(None if each is None else _listed(each) for each in (ids, files)))
        before = self._take_note()
        if before is not None:
            if any(new is not None and old is not None for new, old in zip(noted, before, strict=True)):
                self._warn_of_unused()
            # One call may say the ids, and another the files.
            noted = SampleIds(*(old if new is None else new for new, old in zip(noted, before, strict=True)))
        self._waiting.add(_NOTES.push(_Note(self, noted)))

    def _take_note(self) -> SampleIds | None:
        """What this thread, or task, has noted last."""
        for opened in _NOTES.opened():
            note = opened.item
            if note is not None and note.samples is self:
                opened.end()
                self._waiting.discard(opened)
                return note.noted
        return None

    def close(self) -> None:
        """The tap is closed: no step will come for what was noted last."""
        if self._waiting:
            self._warn_of_unused()
        while self._waiting:
            self._waiting.pop().end()

    def _warn_of_unused(self) -> None:
        self._warnings.warn(
            "unused batch",
            "a batch that was noted by tap.batch(…) fed no step",
            "Call it before the step or in it: called after its step, it is noted with the next one.",
        )

    def trace(self, dataset: Any, ids: Choose | None, files: Choose | None, feed: Choose | None) -> Any:
        """See `Tap.trace_batches`."""
        if ids is None and files is None:
            raise WatchError("trace_batches() notes nothing.", "Give ids=, files=, or both.")
        if not isinstance(dataset, tf.data.Dataset):
            raise WatchError(
                f"{type(dataset).__name__} is no tf.data.Dataset.", "Use tap.batch(…) in a loop."
            )
        traced = TracedDataset(dataset, ids, files, feed)
        self._traced.append(traced)
        return traced.dataset

    def take(self, first: int, count: int, source: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        """(step, facts of its event) of steps that have run, numbered from `first`."""
        told = self._take_note()
        if told is not None:
            yield first, _facts(told)
            return
        if not self._traced:
            return
        try:
            traced = self._feeding(source)
            for index, noted in enumerate(traced.take(count, source) if traced is not None else ()):
                yield first + index, _facts(noted)
        except Exception as error:
            self._warnings.warn(
                "samples", "which samples fed a step was not noted", "Use tap.batch(…).", error
            )

    def _feeding(self, source: Any) -> TracedDataset | None:
        """The traced dataset that a step read from."""
        above = [] if source is None else list(internals.upstream_datasets(source))
        for traced in self._traced:
            for at, dataset in enumerate(above):
                if dataset is traced.dataset:
                    return traced if self._keeps_order(above[:at]) else None
        if above:
            return None  # another dataset, as in the evaluation of a model
        return max(self._traced, key=lambda traced: traced.started)

    def _keeps_order(self, between: Iterable[Any]) -> bool:
        names = [type(dataset).__name__ for dataset in between]
        other = [name for name in names if not any(word in name for word in _KEEP_ORDER)]
        if other:
            self._warnings.warn(
                "order",
                f"which samples feed a step is not noted, because {other[0].strip('_')} comes behind"
                " trace_batches()",
                "Call tap.trace_batches(…) last, behind shuffle() and batch().",
            )
        return not other


def _listed(given: Any) -> Any:
    if isinstance(given, str | bytes | int):
        return [given]
    if tf.is_tensor(given):
        return given.numpy()
    if isinstance(given, Iterable):
        return given if isinstance(given, np.ndarray) else list(given)
    raise WatchError(f"{given!r} is no list of samples.", "Use a list, an array or a tensor.")


def _facts(noted: SampleIds) -> dict[str, Any]:
    texts = [None if each is None else [_text(item) for item in _flat(each)] for each in noted]
    count = max(len(each) for each in texts if each is not None)
    ids, files = (None if each is None else _cut(each) for each in texts)
    return {"ids": ids, "files": files, "count": count}


def _flat(given: Any) -> list[Any]:
    return given.reshape(-1).tolist() if isinstance(given, np.ndarray) else np.atleast_1d(given).tolist()


def _text(item: Any) -> str:
    return item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else str(item)


def _cut(texts: list[str]) -> list[str]:
    """As many as fit into an event."""
    kept: list[str] = []
    room = MAX_TEXT
    for text in texts[:MAX_SAMPLES]:
        room -= 2 * len(text.encode("utf-8", "backslashreplace")) + 4
        if room < 0:
            break
        kept.append(text)
    return kept
