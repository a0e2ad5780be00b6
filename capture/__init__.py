"""Runs inside the training process: taps TensorFlow and Keras, and writes what it captures into a dump.

The only room that imports TensorFlow. Nothing in it may raise into the user's training.
"""

from .candidates import Candidate
from .errors import TapClosedError, TapWarning, WatchError
from .steps import every
from .tap import Tap
from .watch import Watch

__all__ = ["Candidate", "Tap", "TapClosedError", "TapWarning", "Watch", "WatchError", "every"]
