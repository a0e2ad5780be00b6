"""A dataset that notes which samples each of its batches holds, as they are made."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

MAX_WAITING = 100_000  # batches that were made, but fed no step

Choose = Callable[[Any], Any]


class SampleIds(NamedTuple):
    """Ids and files of one batch, as arrays; None where they are not noted."""

    ids: Any
    files: Any


class TracedDataset:
    """Wraps a dataset of batches. Every iterator makes its batches in the order in which they are used
    (however far ahead), so each has a list of its own, which the steps read from the front.

    Args:
        dataset: yields batches.
        ids, files: element -> a tensor of them.
        feed: element -> what of it goes on to the model; all of it by default.

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
            source: the iterator that the step read from; None if that is not known.
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
        """To the next list while the current one is empty; False if nothing is left."""
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
