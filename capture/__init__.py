"""Runs inside the training process: taps TensorFlow and Keras, and writes what it captures into a dump.

The only room that imports TensorFlow. Nothing in it may raise into the user's training.
"""

from tensortap.dump import Sample

from .candidates import Candidate
from .errors import TapClosedError, TapWarning, WatchError
from .record import Record
from .rerun import LoadedCall, Rerun
from .steps import every, log_spaced
from .tap import Tap
from .watch import Watch, Watches

__all__ = [
    "Candidate",
    "LoadedCall",
    "Record",
    "Rerun",
    "Sample",
    "Tap",
    "TapClosedError",
    "TapWarning",
    "Watch",
    "WatchError",
    "Watches",
    "every",
    "log_spaced",
]
