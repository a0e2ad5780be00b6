"""A recorded step's inputs sample by sample, and the same inputs with some values exchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError
from tensortap.dump.recording.recording import Argument, Recording

from ..execution.float_arrays import is_float

Change = Callable[[Array], Array | None]
"""An array -> another one; None: no change."""


@dataclass(frozen=True, slots=True)
class ExchangedInputs:
    """A step's inputs after a change. `unchanged`: names of those that should have changed, but have not."""

    arguments: tuple[Argument, ...]
    unchanged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BatchInputs:
    """The arrays among a step's inputs that have one row a sample.

    Attributes:
        batch: samples.
        length: extent of the second dimension of the first array that has one; 0: none has.
    """

    recording: Recording
    batch: int
    length: int

    @classmethod
    def of(cls, recording: Recording) -> BatchInputs:
        """Raises NotFoundError: no input has samples."""
        arrays = [array for argument in _data_arguments(recording.arguments) for array in argument.arrays]
        ranked = [array for array in arrays if array.ndim]
        if not ranked or ranked[0].shape[0] < 2:
            raise NotFoundError(
                "The batch of this step has fewer than two samples.", "This test needs at least two samples."
            )
        batch = ranked[0].shape[0]
        lengths = [array.shape[1] for array in ranked if array.ndim > 1 and array.shape[0] == batch]
        return cls(recording, batch, lengths[0] if lengths else 0)

    def arrays(self) -> list[Array]:
        """Arrays with one row a sample, in order."""
        given = (array for argument in _data_arguments(self.recording.arguments) for array in argument.arrays)
        return [array for array in given if self._has_rows(array)]

    def exchange(self, change: Change) -> ExchangedInputs:
        """The step's inputs with each of these arrays changed; shapes and dtypes must stay.

        Raises:
            NotFoundError: that left all of them as they were.
        """
        found: list[Argument] = []
        unchanged: list[str] = []
        any_differs = False
        for argument in self.recording.arguments:
            replacements = [self._exchange(argument, array, change) for array in argument.arrays]
            pairs = list(zip(argument.arrays, replacements, strict=True))
            differs = any(new is not None and not _is_same(old, new) for old, new in pairs)
            any_differs = any_differs or differs
            if not differs and any(new is not None for new in replacements):
                unchanged.append(argument.name or "an input")
            found.append(replace(argument, arrays=tuple(old if new is None else new for old, new in pairs)))
        if not any_differs:
            raise NotFoundError(
                "All samples of this batch are identical, so exchanging them has no effect.",
                "Record a step whose samples differ (for causal: in the second half of the sequence).",
            )
        return ExchangedInputs(tuple(found), tuple(unchanged))

    def _exchange(self, argument: Argument, array: Array, change: Change) -> Array | None:
        new = change(array) if _is_data(argument) and self._has_rows(array) else None
        return None if new is None else np.ascontiguousarray(new)

    def exchange_first_sample(self, array: Array) -> Array:
        """Replaces the first sample by a different one, with values that are valid for such inputs."""
        found = array.copy()
        rows = [row for row in array[1:] if not _is_same(row, array[0])]
        if rows:
            found[0] = rows[0]
        elif array.ndim > 1 or is_float(array):
            found[0] = _other_values(array[0])
        return found

    def exchange_future(self, array: Array) -> Array | None:
        """Replaces the second half of each sequence by that of another sample, or by other values if all
        samples are equal."""
        if array.ndim < 2 or array.shape[1] != self.length:
            return None
        found, half = array.copy(), self.half
        found[:, half:] = np.roll(array, 1, axis=0)[:, half:]
        if _is_same(found, array):
            found[:, half:] = _other_values(array[0, half:])
        return found

    @property
    def half(self) -> int:
        """The first position of the future."""
        return self.length // 2

    def _has_rows(self, array: Array) -> bool:
        return array.ndim > 0 and array.shape[0] == self.batch


def _data_arguments(arguments: Sequence[Argument]) -> list[Argument]:
    return [argument for argument in arguments if _is_data(argument)]


def _is_data(argument: Argument) -> bool:
    """Whether it is data: neither a variable nor a random number drawn by the step."""
    return argument.kind != "variable" and not argument.drawn


def _other_values(values: Array) -> Array:
    """Other values for an input with equal samples: other floats, or the same tokens in another order,
    because other tokens may not be in the vocabulary."""
    return np.asarray(1 - values) if is_float(values) else np.flip(values, 0)


def _is_same(one: Array, other: Array) -> bool:
    return bool(np.array_equal(one, other, equal_nan=is_float(one)))
