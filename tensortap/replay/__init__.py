"""Runs recorded calls again: the same, in part, or with tensors changed; in a process of its own.

`python -m tensortap.replay` is that process; `run_apart` starts it.
"""

from .apart import Limits, ReplayError, run_apart
from .locate import locate, open_recording, recordings_in
from .request import Request
from .restore_weights import restore_variables
from .run.expression_grammar import check_changes
from .stepper.cursor import Stepper
from .stepper.session import StepperSession
from .stepper.stepper_births import stepper_births
from .stepper.stepper_nodes import StepperNode, stepper_nodes
from .stepper.what_if_file import read_what_ifs, write_what_ifs
from .stepper.what_ifs import AS_RECORDED, Change, WhatIfs
from .stepper_process import StepperProcess
from .stepper_request import StepperAnswer, StepperRequest, TensorFacts

__all__ = [
    "AS_RECORDED",
    "Change",
    "Limits",
    "ReplayError",
    "Request",
    "Stepper",
    "StepperAnswer",
    "StepperNode",
    "StepperProcess",
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
    "run_apart",
    "stepper_births",
    "stepper_nodes",
    "write_what_ifs",
]
