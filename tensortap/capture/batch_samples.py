"""Which samples fed which step: noted by the program, or by a traced dataset."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tensortap.tf import internals

from .capture_warnings import OneTimeWarnings
from .errors import WatchError
from .tracing.context_stack import Opened, TaskStack

MAX_SAMPLES = 16_384  # of one step that are written
MAX_TEXT = 400_000  # bytes of their ids, and as many of their files

# Datasets allowed between the traced dataset and the iterator, because they keep the order of batches.
_KEEP_ORDER = ("Prefetch", "Options", "Map", "Repeat", "Take", "AssertCardinality")


class _Note(NamedTuple):
    samples: BatchSamples
    noted: SampleIds


_NOTES: TaskStack[_Note] = TaskStack("tensortap batches")


class BatchSamples:
    """Batches of one tap: which samples feed which step."""

    def __init__(self, warnings: OneTimeWarnings) -> None:
        self._warnings = warnings
        self._traced: list[TracedDataset] = []
        self._waiting: set[Opened[_Note]] = set()  # noted, but their step has not run yet

    def note(self, ids: Any, files: Any) -> None:
        """Records which samples feed the current step of this thread, or its next one.

        Raises:
            WatchError: neither ids nor files are given, or one is not a list.
        """
        if ids is None and files is None:
            raise WatchError("batch() needs an argument.", "Pass ids=, files=, or both.")
        noted = SampleIds(*(None if each is None else _as_list(each) for each in (ids, files)))
        before = self._take_note()
        if before is not None:
            if any(new is not None and old is not None for new, old in zip(noted, before, strict=True)):
                self._warn_of_unused()
            # One call may say the ids, and another the files.
            noted = SampleIds(*(old if new is None else new for new, old in zip(noted, before, strict=True)))
        self._waiting.add(_NOTES.push(_Note(self, noted)))

    def _take_note(self) -> SampleIds | None:
        """Take the samples that this thread, or task, noted last."""
        for opened in _NOTES.opened():
            note = opened.item
            if note is not None and note.samples is self:
                opened.end()
                self._waiting.discard(opened)
                return note.noted
        return None

    def close(self) -> None:
        """Closes: no step will use the samples recorded last."""
        if self._waiting:
            self._warn_of_unused()
        while self._waiting:
            self._waiting.pop().end()

    def _warn_of_unused(self) -> None:
        self._warnings.warn(
            "unused batch",
            "no step used the batch passed to tap.batch(…)",
            "Call tap.batch(…) before or inside its step; a call after the step counts for the next one.",
        )

    def trace(self, dataset: Any, ids: Choose | None, files: Choose | None, feed: Choose | None) -> Any:
        """See `Tap.trace_batches`."""
        if ids is None and files is None:
            raise WatchError("trace_batches() has nothing to record.", "Pass ids=, files=, or both.")
        if not isinstance(dataset, tf.data.Dataset):
            raise WatchError(
                f"{type(dataset).__name__} is not a tf.data.Dataset.", "Use tap.batch(…) in a loop."
            )
        traced = TracedDataset(dataset, ids, files, feed)
        self._traced.append(traced)
        return traced.dataset

    def take(self, first: int, count: int, source: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        """(step, facts of its event) of steps that have run, numbered from `first`."""
        try:
            batch_note = self._take_note()
            if batch_note is not None:
                yield first, _facts(batch_note)
                return
            traced = self._feeding(source) if self._traced else None
            for index, noted in enumerate(traced.take(count, source) if traced is not None else ()):
                yield first + index, _facts(noted)
        except Exception as error:
            self._warnings.warn(
                "samples", "the samples of a step were not recorded", "Use tap.batch(…).", error
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
                f"the samples of each step are not recorded: {other[0].strip('_')} comes after "
                "trace_batches()",
                "Call tap.trace_batches(…) last, after shuffle() and batch().",
            )
        return not other


def _as_list(given: Any) -> Any:
    if isinstance(given, str | bytes | int):
        return [given]
    if tf.is_tensor(given):
        return given.numpy()
    if isinstance(given, Iterable):
        return given if isinstance(given, np.ndarray) else list(given)
    raise WatchError(f"{given!r} is not a list of samples.", "Use a list, an array or a tensor.")


def _facts(noted: SampleIds) -> dict[str, Any]:
    texts = [None if each is None else [_text(item) for item in _flat(each)] for each in noted]
    count = max(len(each) for each in texts if each is not None)
    ids, files = (None if each is None else _cut(each) for each in texts)
    return {"ids": ids, "files": files, "count": count}


def _flat(given: Any) -> list[Any]:
    """Its elements, of lists of any lengths: an array of them would round large integers beside floats."""
    if isinstance(given, list | tuple):
        return [item for each in given for item in _flat(each)]
    flat: list[Any] = [given] if isinstance(given, str | bytes | int) else np.ravel(given).tolist()
    return flat


def _text(item: Any) -> str:
    return item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else str(item)


def _cut(texts: list[str]) -> list[str]:
    """Cut a list to the length that an event may have."""
    kept: list[str] = []
    room = MAX_TEXT
    for text in texts[:MAX_SAMPLES]:
        room -= 2 * len(text.encode("utf-8", "backslashreplace")) + 4
        if room < 0:
            break
        kept.append(text)
    return kept


MAX_WAITING = 100_000  # batches that were made, but fed no step

Choose = Callable[[Any], Any]


class SampleIds(NamedTuple):
    """Ids and files of one batch, as arrays; None if not recorded."""

    ids: Any
    files: Any


class TracedDataset:
    """Wraps a dataset of batches. Every iterator produces its batches in order of use (however far ahead), so
    each has its own list, which the steps read from the front.

    Args:
        dataset: yields batches.
        ids, files: element -> a tensor of them.
        feed: element -> the part of it for the model; all of it by default.

    Attributes:
        dataset: what to train on. started: grows with each iterator that is begun anywhere.
    """

    _starts = 0

    def __init__(self, dataset: Any, ids: Choose | None, files: Choose | None, feed: Choose | None) -> None:
        self._choose = ids, files
        self._feed = feed or (lambda element: element)
        self._lock = threading.Lock()
        self._lists: dict[int, deque[SampleIds]] = {}  # by number of the iterator
        self._ended: set[int] = set()
        self._newest = self._current = -1
        self._source: Any = None  # the iterator that the last step read from
        self.started = 0
        self.dataset = self._wrap(dataset)

    def take(self, count: int, source: Any) -> list[SampleIds]:
        """The next `count` batches that were used, or as many as there are.

        Args:
            source: the iterator that the step read from; None if that is unknown.
        """
        with self._lock:
            if source is not None and source is not self._source:
                self._current = self._newest
            elif source is None and self._current not in self._ended:
                self._current = self._newest  # the loop was left early, and a new one begun
            self._source = source
            taken: list[SampleIds] = []
            while len(taken) < count and self._move_on():
                taken.append(self._lists[self._current].popleft())
            for number in [number for number in self._lists if number < self._current]:
                del self._lists[number]
            return taken

    def _move_on(self) -> bool:
        """Moves to the next list while the current one is empty; False if none is left."""
        while not self._lists.get(self._current):
            later = [number for number in self._lists if number > self._current]
            if not later:
                return False
            self._current = min(later)
        return True

    def _wrap(self, dataset: Any) -> Any:
        def of_iterator(_: Any) -> Any:
            number = tf.numpy_function(self._start, [], tf.int64)
            number.set_shape(())
            noted = dataset.map(lambda *parts: self._noted(number, parts))

            def end(_: Any) -> Any:
                nothing = tf.numpy_function(self._end, [number], tf.int64)
                nothing.set_shape(())
                return noted.take(nothing)

            return noted.concatenate(tf.data.Dataset.range(1).flat_map(end))

        wrapped = tf.data.Dataset.range(1).flat_map(of_iterator)
        cardinality = dataset.cardinality()
        if int(cardinality) != tf.data.UNKNOWN_CARDINALITY:
            wrapped = wrapped.apply(tf.data.experimental.assert_cardinality(cardinality))
        return wrapped.with_options(dataset.options())

    def _noted(self, number: Any, parts: tuple[Any, ...]) -> Any:
        element = parts[0] if len(parts) == 1 else parts
        given = [tf.constant(0) if choose is None else choose(element) for choose in self._choose]
        done = tf.numpy_function(self._add, [number, *given], tf.int64)
        with tf.control_dependencies([done]):
            return tf.nest.map_structure(tf.identity, self._feed(element), expand_composites=True)

    def _start(self) -> np.int64:
        with self._lock:
            self._newest += 1
            self._lists[self._newest] = deque(maxlen=MAX_WAITING)
            TracedDataset._starts += 1
            self.started = TracedDataset._starts
            return np.int64(self._newest)

    def _add(self, number: Any, ids: Any, files: Any) -> Any:
        values = [
            None if choose is None else value
            for choose, value in zip(self._choose, (ids, files), strict=True)
        ]
        with self._lock:
            waiting = self._lists.get(int(number))
            if waiting is not None:
                waiting.append(SampleIds(*values))
        return number

    def _end(self, number: Any) -> Any:
        with self._lock:
            self._ended.add(int(number))
        return number * 0
