"""Runs recorded calls again: the same, in part, or with tensors changed; in a process of its own.

`python -m tensortap.replay` is that process; `run_apart` starts it.
"""

from .apart import Limits, ReplayError, run_apart
from .request import Request
from .source import locate, open_recording, recordings_in
from .stepper_process import StepperProcess
from .stepper_request import StepperAnswer, StepperRequest, TensorFacts

__all__ = [
    "Limits",
    "ReplayError",
    "Request",
    "StepperAnswer",
    "StepperProcess",
    "StepperRequest",
    "TensorFacts",
    "locate",
    "open_recording",
    "recordings_in",
    "run_apart",
]
