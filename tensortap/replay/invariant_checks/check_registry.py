"""The logic tests of `tensortap replay --test`, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tensortap.core.errors import NotFoundError
from tensortap.core.model import Graph
from tensortap.dump.recording.recording import Recording

from ..run.program_lines import ProgramLines
from .gradient_check import gradient_test
from .independence_checks import batch_test, causal_test, padding_test
from .numeric_checks import determinism_test, sensitivity_test

_LEAKS: Mapping[str, Callable[[Recording, ProgramLines, Mapping[str, Any]], dict[str, Any]]] = {
    "batch": batch_test,
    "causal": causal_test,
    "padding": padding_test,
}
_NUMBERS: Mapping[str, Callable[[Recording, Graph | None, Mapping[str, Any]], dict[str, Any]]] = {
    "determinism": determinism_test,
    "gradient": gradient_test,
    "sensitivity": sensitivity_test,
}


def run_check(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Answers the study `test`; `options["test"]` names it.

    Returns:
        `test`, `passed`, `summary` (a sentence), `columns`, `rows` (the most telling first).

    Raises:
        NotFoundError: no such test, or the step has not what it needs.
    """
    name = str(options.get("test"))
    if name in _LEAKS:
        return {"test": name, **_LEAKS[name](recording, ProgramLines(graph), options)}
    if name in _NUMBERS:
        return {"test": name, **_NUMBERS[name](recording, graph, options)}
    raise NotFoundError(f"There is no test {name!r}.", f"There are {', '.join([*_LEAKS, *_NUMBERS])}.")
