"""Recorded calls run again: the same, in part, or with tensors changed.

Running a call needs TensorFlow, and happens in a separate process (`python -m tensortap.replay`), without
network and with a limit of memory; the server and the command line talk to it and import no TensorFlow.
`execution` loads and runs a call, `analyses` finds out more about it, `invariant_checks` tests the step's
logic, `stepper` goes through its nodes. Begin reading at `replayer.py`. Public are the names in `__all__`:
docs/replay.md and the scripts of `tensortap bundle --script` use nothing else.
"""

from typing import TYPE_CHECKING, Any

from .locate import locate, open_recording
from .restore_weights import restore_variables

if TYPE_CHECKING:
    from .script_runtime import RecordedInputs, read_bundle, recorded_constants, report_differences

__all__ = [
    "RecordedInputs",
    "locate",
    "open_recording",
    "read_bundle",
    "recorded_constants",
    "report_differences",
    "restore_variables",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import script_runtime  # imports TensorFlow

    return getattr(script_runtime, name)
