"""tensortap: see every tensor of a TensorFlow program.

    import tensortap

    tap = tensortap.Tap("logs/run")           # capture; needs TensorFlow
    log = tensortap.open("logs")              # read a dump; does not
    writer = tensortap.DumpWriter("logs")     # write one without TensorFlow

Names are resolved when they are first used, so that `import tensortap` costs next to nothing in a program
that has not loaded Keras.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensortap.api.logdir import open_any as open
    from tensortap.api.notebook import notebook, show
    from tensortap.capture.recording.record_options import Record
    from tensortap.capture.tap import Tap
    from tensortap.capture.triggers.firing import TrainingStoppedError
    from tensortap.capture.triggers.flight_recorder import FlightRecorder
    from tensortap.capture.triggers.step_summaries import StepSummaries
    from tensortap.capture.triggers.triggers import Finding, LossSpike, NonFinite, Trigger
    from tensortap.capture.watching.step_schedule import every, log_spaced
    from tensortap.capture.watching.watch import Watch, Watches
    from tensortap.core.errors import TensortapError
    from tensortap.core.sampling import Sample
    from tensortap.dump.write.writer import DumpWriter

    __version__: str

__all__ = [
    "DumpWriter",
    "Finding",
    "FlightRecorder",
    "LossSpike",
    "NonFinite",
    "Record",
    "Sample",
    "StepSummaries",
    "Tap",
    "TensortapError",
    "TrainingStoppedError",
    "Trigger",
    "Watch",
    "Watches",
    "__version__",
    "every",
    "log_spaced",
    "notebook",
    "open",
    "show",
]

_HOMES = {
    "Finding": ("tensortap.capture", "Finding"),
    "StepSummaries": ("tensortap.capture", "StepSummaries"),
    "Trigger": ("tensortap.capture", "Trigger"),
    "TrainingStoppedError": ("tensortap.capture", "TrainingStoppedError"),
    "NonFinite": ("tensortap.capture", "NonFinite"),
    "LossSpike": ("tensortap.capture", "LossSpike"),
    "FlightRecorder": ("tensortap.capture", "FlightRecorder"),
    "DumpWriter": ("tensortap.dump.write.writer", "DumpWriter"),
    "Record": ("tensortap.capture", "Record"),
    "Sample": ("tensortap.core.sampling", "Sample"),
    "Tap": ("tensortap.capture", "Tap"),
    "TensortapError": ("tensortap.core.errors", "TensortapError"),
    "Watch": ("tensortap.capture", "Watch"),
    "Watches": ("tensortap.capture", "Watches"),
    "every": ("tensortap.capture", "every"),
    "log_spaced": ("tensortap.capture", "log_spaced"),
    "notebook": ("tensortap.api.notebook", "notebook"),
    "open": ("tensortap.api.logdir", "open_any"),
    "show": ("tensortap.api.notebook", "show"),
}

# In a checkout, `server/` and `plugin/` are next to this folder. They must be this checkout's, even if
# another tensortap is installed, to avoid mixing two versions.
_CHECKOUT = Path(__file__).parent.parent
if (_CHECKOUT / "server" / "app.py").is_file() and (_CHECKOUT / "setup.py").is_file():
    __path__.append(str(_CHECKOUT))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = import_module("importlib.metadata").version("tensortap")
    elif name in _HOMES:
        module, attribute = _HOMES[name]
        value = getattr(import_module(module), attribute)
    else:
        raise AttributeError(f"module 'tensortap' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# Layers know the line that built them only if capture is loaded by then. Where the program has loaded Keras
# with TensorFlow already, this costs some 0.1 s; errors wait for the first use of `Tap`.
if {"keras", "tensorflow"} <= sys.modules.keys():
    with suppress(Exception):
        import_module("tensortap.capture")
