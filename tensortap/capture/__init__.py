"""Runs in the training process: taps TensorFlow and Keras, and writes the captured tensors into a dump.

Nothing here may raise in the user's training. `tap.Tap` is the user's object, `tap_state.TapState` the
state shared by all its steps, `step.Step` one step, which `tap_steps.TapSteps` creates and ends for the
`adapters`. `call_hook` sees every call of a function, `function_copies` makes its tapped copy,
`tap_watches` says what is selected, `place_selection` which tensors that are. From the program to the dump:
`adapters`, `instrument` (taps in functions), `step`, `pipeline`; beside them `watching`, `tracing`,
`exact`, `triggers`, `recording`. May import `tensortap.dump` and all below it. Begin with `tap_steps`.
"""

from tensortap.core.sampling import Sample

from .errors import TapClosedError, TapWarning, WatchError
from .recording.record_options import Record
from .tap import Tap
from .tracing.candidate import Candidate
from .triggers.firing import Firing, TrainingStoppedError
from .triggers.flight_recorder import FlightRecorder
from .triggers.step_summaries import Examined, StepSummaries
from .triggers.triggers import Finding, LossSpike, NonFinite, Trigger
from .watching.step_schedule import every, log_spaced
from .watching.watch import Watch, Watches

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
    "every",
    "log_spaced",
]
