"""tensortap: see every tensor of a TensorFlow program.

    import tensortap

    tap = tensortap.Tap("logs/run")           # capture; needs TensorFlow
    log = tensortap.open("logs")              # read a dump; does not
    writer = tensortap.DumpWriter("logs")     # write one without TensorFlow

Names are resolved when they are first used, so that `import tensortap` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensortap.capture import (
        Finding,
        FlightRecorder,
        LossSpike,
        NonFinite,
        Record,
        StepSummaries,
        Tap,
        TrainingStoppedError,
        Trigger,
        Watch,
        Watches,
        every,
        log_spaced,
    )
    from tensortap.dump import DumpWriter, Sample, TensortapError

    from .sources import open_any as open
    from .viewer import notebook, show

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
    "DumpWriter": ("tensortap.dump", "DumpWriter"),
    "Record": ("tensortap.capture", "Record"),
    "Sample": ("tensortap.dump", "Sample"),
    "Tap": ("tensortap.capture", "Tap"),
    "TensortapError": ("tensortap.dump", "TensortapError"),
    "Watch": ("tensortap.capture", "Watch"),
    "Watches": ("tensortap.capture", "Watches"),
    "every": ("tensortap.capture", "every"),
    "log_spaced": ("tensortap.capture", "log_spaced"),
    "notebook": ("tensortap.viewer", "notebook"),
    "open": ("tensortap.sources", "open_any"),
    "show": ("tensortap.viewer", "show"),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = import_module("importlib.metadata").version("tensortap")
    elif name in _HOMES:
        room, attribute = _HOMES[name]
        value = getattr(import_module(room), attribute)
    else:
        raise AttributeError(f"module 'tensortap' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
