"""The checks of a recorded step, by the name that `tensortap replay --test` has for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from tensortap.core.errors import NotFoundError
from tensortap.core.records import Graph
from tensortap.dump.recording.recording import Recording

from ..protocol import CheckResult
from .gradient_check import check_gradients
from .independence_checks import check_batch, check_causality, check_padding
from .numeric_checks import check_determinism, check_sensitivity

CHECKS: Mapping[str, Callable[[Recording, Graph | None, Mapping[str, Any]], CheckResult]] = {
    "batch": check_batch,
    "causal": check_causality,
    "padding": check_padding,
    "gradient": check_gradients,
    "determinism": check_determinism,
    "sensitivity": check_sensitivity,
}
"""One row each; what it asks is in `protocol.TESTS`."""


def run_check(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Answers the study `test`: `test`, its name (`options["test"]`), and the fields of its `CheckResult`.

    Raises:
        NotFoundError: no such test, or the step has not what it needs.
    """
    name = str(options.get("test"))
    if name not in CHECKS:
        raise NotFoundError(f"There is no test {name!r}.", f"There are {', '.join(CHECKS)}.")
    return {"test": name, **asdict(CHECKS[name](recording, graph, options))}
