"""Facts about the process that captures, for `run.json`."""

from __future__ import annotations

import platform
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tensortap.system.redaction import recorded_command


def environment() -> dict[str, Any]:
    """Command, versions and system."""
    return {
        "command": recorded_command(),
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "numpy": np.__version__,
        "system": platform.platform(),
    }
