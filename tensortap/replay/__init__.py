"""Runs recorded calls again: the same, in part, or with tensors changed; in a process of its own.

`python -m tensortap.replay` is that process; `run_replay` starts it.
"""

from .client import Limits, ReplayError, ReplayProcess, run_replay
from .locate import locate, open_recording, recordings_in
from .protocol import Request, StepperAnswer, StepperRequest, TensorFacts
from .restore_weights import restore_variables
from .run.expression_grammar import check_changes
from .stepper.cursor import Stepper
from .stepper.session import StepperSession
from .stepper.stepper_births import stepper_births
from .stepper.stepper_nodes import StepperNode, stepper_nodes
from .stepper.what_if_file import read_what_ifs, write_what_ifs
from .stepper.what_ifs import AS_RECORDED, Change, WhatIfs

__all__ = [
    "AS_RECORDED",
    "Change",
    "Limits",
    "ReplayError",
    "ReplayProcess",
    "Request",
    "Stepper",
    "StepperAnswer",
    "StepperNode",
    "StepperRequest",
    "StepperSession",
    "TensorFacts",
    "WhatIfs",
    "check_changes",
    "locate",
    "open_recording",
    "read_what_ifs",
    "recordings_in",
    "restore_variables",
    "run_replay",
    "stepper_births",
    "stepper_nodes",
    "write_what_ifs",
]
