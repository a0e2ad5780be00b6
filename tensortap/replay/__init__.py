"""Recorded calls run again: the same, in part, or with tensors changed.

What runs a call needs TensorFlow, and does so in a process of its own (`python -m tensortap.replay`), without
network and with a limit of memory; the server and the command line talk to it and import no TensorFlow.
`run` loads and runs a call, `analyses` finds out more about it, `invariant_checks` tests the step's logic,
`stepper` goes through its nodes. Begin reading at `engine.py`. Below are the names that docs/replay.md uses.
"""

from .locate import locate, open_recording
from .restore_weights import restore_variables

__all__ = ["locate", "open_recording", "restore_variables"]
