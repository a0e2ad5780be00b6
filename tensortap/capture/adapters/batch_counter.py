"""How many batches a call of several steps draws: fewer than it could, where the data end."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tensortap.tf import internals


class BatchCounter:
    """Counts what the calls of a model's train (test, predict) function draw from their iterator."""

    def __init__(self) -> None:
        self._iterator: Any = None
        self._left = -1  # batches; negative if that is not known
        self._before = 0  # batches drawn from the iterator by earlier calls

    def expected(self, source: Any, most: int, epoch: int) -> int:
        """Batches that the next call draws, from 1 to `most`, as far as that is known before it.

        Args:
            source: what it is given: an iterator, or batches that were drawn already.
            most: the model's `steps_per_execution`; taken where the size of the data is not known.
            epoch: batches of an epoch, as far as Keras knows; negative if it does not.
        """
        if most == 1:
            return 1
        if isinstance(source, list | tuple):
            return min(max(len(source), 1), most)
        if source is not self._iterator:
            self._iterator, self._left = source, _size_of(source, epoch)
            self._before = _drawn_from(source) or 0
        return min(self._left, most) if self._left > 0 else most

    def by_call(self, source: Any, expected: int) -> int:
        """Batches that the call has drawn: by TensorFlow's own count, or as expected if it keeps none."""
        if source is not self._iterator:
            return expected
        total = _drawn_from(source)
        count = expected if total is None else total - self._before
        self._before += count
        self._left -= count
        return count


def _drawn_from(iterator: Any) -> int | None:
    """Elements that an iterator has given so far; None if that is not counted, as without autotuning."""
    try:
        with internals.not_recorded():
            model = tf.data.experimental.get_model_proto(internals.local_iterator(iterator))
        return int(model.nodes[model.output].num_elements)
    except Exception:
        return None


def _size_of(iterator: Any, epoch: int) -> int:
    """Batches of the dataset that an iterator reads; negative if there is no end, or none known."""
    try:
        with internals.not_recorded():
            datasets = list(internals.upstream_datasets(iterator))
            size, first = (int(datasets[at].cardinality()) for at in (0, -1))
    except Exception:  # an iterator of another kind, as those of distribution strategies
        return -1
    # Keras cuts arrays into batches behind Dataset.range(1), which hides how many there are.
    arrays = first == 1 and "Range" in type(datasets[-1]).__name__
    return epoch if arrays and size == tf.data.UNKNOWN_CARDINALITY else size
