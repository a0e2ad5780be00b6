"""The same tensor in another recording, for `step(100)` in an expression."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.core.errors import InvalidValueError, NotFoundError

from ..locate import locate_beside, open_recording
from .expression import Elsewhere
from .rerun import LoadedCall


def elsewhere(source: Path, tensor: str) -> Elsewhere:
    """The value of a tensor in other recordings, of the run of `source` or of one beside it.

    What it gives raises NotFoundError where there is no such recording or value, and InvalidValueError where
    the tensor has several: in a loop, one value would stand for all visits.
    """

    def value(step: int, run: str) -> np.ndarray[Any, Any]:
        recording = open_recording(locate_beside(source, step, run))
        with tf.init_scope(), LoadedCall(recording) as call:  # out of the function that is being traced
            again = call.run(lambda candidate: candidate.name == tensor)
        if not again.tensors:
            raise NotFoundError(f"{tensor!r} has no value at step {step}.", "Name another step.")
        if len(again.tensors) > 1:
            raise InvalidValueError(
                f"{tensor!r} is in a loop: it has {len(again.tensors)} values at step {step}.",
                "Take one that the step computes once.",
            )
        return again.tensors[0][2]

    return value
