"""Facts of the process for `run.json`, and whether an earlier job wrote to the run."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tensortap.core.names import is_worker_name
from tensortap.dump.format.frames import EOS
from tensortap.system.redaction import recorded_command

from .capture_warnings import OneTimeWarnings


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


def warn_of_earlier_job(run_dir: Path, warnings: OneTimeWarnings) -> None:
    """Warns if a worker of the run has closed its files: the same script run twice would show as one run.

    Workers that still write belong to this job.
    """
    try:
        workers = sorted(path for path in run_dir.iterdir() if is_worker_name(path.name))
        closed = [path.name for path in workers if _has_closed(path)]
    except OSError:  # there is no readable run yet
        return
    if closed:
        warnings.warn(
            "earlier job",
            f"the run already exists, closed by {closed[-1]}; this capture extends it",
            "Use a separate run for each job, e.g. Tap('logs/run-2').",
        )


def _has_closed(folder: Path) -> bool:
    files = sorted(folder.glob("stats-*.arrows"))
    if not files or files[-1].stat().st_size < len(EOS):
        return False
    with files[-1].open("rb") as file:
        file.seek(-len(EOS), os.SEEK_END)
        return file.read() == EOS
