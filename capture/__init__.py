"""Runs inside the training process: taps TensorFlow and Keras, and writes what it captures into a dump.

The only room that imports TensorFlow. Nothing in it may raise into the user's training.
"""

from tensortap.dump import Sample

from .alone import AloneNodes, not_alone
from .candidates import Candidate
from .errors import TapClosedError, TapWarning, WatchError
from .examined import Examined, StepSummaries
from .firing import Firing, TrainingStoppedError
from .flight_recorder import FlightRecorder
from .override import Change, Reading, changed_names, override
from .random_ops import draws
from .recast import CAST_MARK, recast, with_island
from .record import Record
from .recorded_values import (
    numbered_results,
    recorded_constants,
    result_name,
    told_unlike,
    ulp_of_largest,
    unlike_results,
)
from .rerun import LoadedCall, RecordedInputs, Rerun
from .steps import every, log_spaced
from .tap import Tap
from .tf_private import op_definition
from .triggers import Finding, LossSpike, NonFinite, Trigger
from .watch import Watch, Watches

__all__ = [
    "CAST_MARK",
    "AloneNodes",
    "Candidate",
    "Change",
    "Examined",
    "Finding",
    "Firing",
    "FlightRecorder",
    "LoadedCall",
    "LossSpike",
    "NonFinite",
    "Reading",
    "Record",
    "RecordedInputs",
    "Rerun",
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
    "changed_names",
    "draws",
    "every",
    "log_spaced",
    "not_alone",
    "numbered_results",
    "op_definition",
    "override",
    "recast",
    "recorded_constants",
    "result_name",
    "told_unlike",
    "ulp_of_largest",
    "unlike_results",
    "with_island",
]
