"""Runs recorded calls again: the same, in part, or with tensors changed; in a process of its own.

`python -m tensortap.replay` is that process; `run_apart` starts it.
"""

from .apart import Limits, ReplayError, run_apart
from .request import Request
from .source import locate, open_recording, recordings_in

__all__ = ["Limits", "ReplayError", "Request", "locate", "open_recording", "recordings_in", "run_apart"]
