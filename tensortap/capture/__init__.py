"""Runs inside the training process: taps TensorFlow and Keras, and writes what it captures into a dump.

The only room that imports TensorFlow. Nothing in it may raise into the user's training.
"""

from tensortap.core.sampling import Sample
from tensortap.tf.internals import op_definition
from tensortap.tf.random_ops import draws

from .errors import TapClosedError, TapWarning, WatchError
from .record_options import Record
from .steps import every, log_spaced
from .tap import Tap
from .tracing.candidate import Candidate
from .triggers.firing import Firing, TrainingStoppedError
from .triggers.flight_recorder import FlightRecorder
from .triggers.step_summaries import Examined, StepSummaries
from .triggers.triggers import Finding, LossSpike, NonFinite, Trigger
from .watch import Watch, Watches

__all__ = [
    "Candidate",
    "Examined",
    "Finding",
    "Firing",
    "FlightRecorder",
    "LossSpike",
    "NonFinite",
    "Record",
    "Sample",
    "StepSummaries",
    "Tap",
    "TapClosedError",
    "TapWarning",
    "TrainingStoppedError",
    "Trigger",
    "Watch",
    "WatchError",
    "Watches",
    "draws",
    "every",
    "log_spaced",
    "op_definition",
]
