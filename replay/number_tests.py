"""Logic tests of one recorded step: gradients, determinism, sensitivity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensortap.capture import LoadedCall, recast
from tensortap.dump import Argument, Graph, NotFoundError, Recording, array_hash

from .chosen_nodes import visits_of

Array = np.ndarray[Any, Any]
_STEP = 1e-5  # size of a step, in units of the variable's norm
_TOLERANCE = 1e-4  # of a central difference in float64 whose step is 1e-5
_NUDGE = 1e-3
_MOST_RUNS = 1000


def tensors_of_kind(graph: Graph | None, kind: str) -> dict[str, str]:
    """Tensor name -> path of its variable (or empty), of all tensors of one kind.

    Raises:
        NotFoundError: there is none, or the graph is not at hand.
    """
    nodes = graph.nodes if graph is not None else ()
    found = {
        f"{node.name}:0": node.attributes.get("tensortap.variable", "")
        for node in nodes
        if node.attributes.get("tensortap.kind") == kind
    }
    if not found:
        raise NotFoundError(
            f"The recording's graph names no {kind}.",
            "It is known of steps with a GradientTape, out of a run or a bundle that holds the graph.",
        )
    return found


def gradient_test(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """In float64, the recorded gradients against central differences of the loss, along one random direction
    a variable."""
    losses, gradients = tensors_of_kind(graph, "loss"), tensors_of_kind(graph, "gradient")
    with LoadedCall(recording) as plain:
        wide = recast(recording, "float64", plain)
    rows: list[dict[str, Any]] = []
    skipped: list[str] = []
    ambiguous: list[str] = []
    with LoadedCall(wide) as call:
        _finite_loss(call, wide.arguments, list(losses)[-1])
        values = visits_of(call.run(lambda candidate: candidate.name in gradients))
        for tensor, variable in gradients.items():
            gradient = values.get(tensor, [None])[-1]
            numbers = variables_like(wide.arguments, variable, gradient)
            if gradient is None or len(numbers) != 1:
                (ambiguous if numbers else skipped).append(tensor)
                continue
            found = _derivatives(call, wide.arguments, numbers[0], gradient, list(losses)[-1])
            rows.append({"variable": variable, "gradient": tensor, **found})
    rows.sort(key=lambda row: -row["error"])
    wrong = [row for row in rows if not row["error"] <= _TOLERANCE]
    notes = [f"{len(skipped)} of another shape than their variable"] if skipped else []
    notes += [f"{len(ambiguous)} whose variable shares its name and shape with another"] if ambiguous else []
    if not rows:
        raise NotFoundError(
            f"No gradient can be checked: {' and '.join(notes)}.",
            "Sparse ones cannot be; variables of one shape need names of their own: tf.Variable(…, name=…).",
        )
    told = f"{len(wrong)} of {len(rows)} gradients are not" if wrong else f"{len(rows)} gradients are"
    left_out = f"; left out: {' and '.join(notes)}" if notes else ""
    return {
        "passed": not wrong,
        "summary": f"{told} the derivative of the loss, within {_TOLERANCE:g}{left_out}",
        "columns": ["variable", "gradient", "analytic", "numeric", "error"],
        "rows": rows,
    }


def variables_like(arguments: Sequence[Argument], name: str, gradient: Array | None) -> list[int]:
    """Numbers of the variables that a gradient may belong to: the graph knows only the name of its own, which
    others may have, too."""
    return [
        number
        for number, argument in enumerate(arguments)
        if argument.kind == "variable" and argument.name == name and argument.arrays
        if gradient is not None and argument.arrays[0].shape == gradient.shape
    ]


def _derivatives(
    call: LoadedCall, arguments: Sequence[Argument], number: int, gradient: Array, loss: str
) -> dict[str, float]:
    value = arguments[number].arrays[0]
    direction = np.random.default_rng(0).standard_normal(value.shape)
    direction /= np.linalg.norm(direction) or 1.0
    step = _STEP * max(float(np.linalg.norm(value)), 1.0)
    ahead, behind = (
        _loss(call, _with(arguments, number, value + sign * step * direction), loss) for sign in (1, -1)
    )
    numeric, analytic = (ahead - behind) / (2 * step), float(np.sum(gradient * direction))
    # Rounding of the loss alone gives that much.
    floor = 1e-15 * max(abs(ahead), 1e-300) / step / _TOLERANCE
    error = abs(numeric - analytic) / max(abs(numeric), abs(analytic), floor)
    return {"analytic": analytic, "numeric": numeric, "error": float(error)}


def _with(arguments: Sequence[Argument], number: int, value: Array) -> list[Argument]:
    found = list(arguments)
    found[number] = replace(found[number], arrays=(value.astype(found[number].arrays[0].dtype),))
    return found


def _loss(call: LoadedCall, arguments: Sequence[Argument], name: str) -> float:
    again = call.run(lambda candidate: candidate.name == name, arguments)
    return float(np.sum(again.tensors[-1][2].astype(np.float64))) if again.tensors else float("nan")


def _finite_loss(call: LoadedCall, arguments: Sequence[Argument], name: str) -> float:
    loss = _loss(call, arguments, name)
    if not np.isfinite(loss):
        raise NotFoundError(
            f"The loss is {loss}, in float64, too: nobody can say how it changes.",
            "Test a step whose loss is finite; --list shows those that were recorded.",
        )
    return loss


def determinism_test(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The step runs `options["runs"]` times (5): every bit of every tensor must be the same."""
    runs = min(max(int(options.get("runs") or 5), 2), _MOST_RUNS)
    different: dict[str, int] = {}
    with LoadedCall(recording) as call:
        first = dict(_hashes(call))
        for _ in range(runs - 1):
            for name, digest in _hashes(call):
                if first.get(name) != digest:
                    different[name] = different.get(name, 0) + 1
    order = [name for name in first if name in different]
    return {
        "passed": not different,
        "summary": f"{len(different)} of {len(first)} tensors differ between {runs} replays",
        "columns": ["tensor", "replays"],
        "rows": [{"tensor": name, "replays": different[name]} for name in order],
    }


def _hashes(call: LoadedCall) -> Iterator[tuple[str, str]]:
    for candidate, visit, array in call.run(lambda candidate: True).tensors:
        yield f"{candidate.name}{f' visit {visit}' if visit else ''}", array_hash(array)


def sensitivity_test(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Each variable and input moves at random by 1/1000 of its norm, in float64: how much the loss moves, in
    units of that. It has no right answer, and never fails."""
    loss = list(tensors_of_kind(graph, "loss"))[-1]
    with LoadedCall(recording) as plain:
        wide = recast(recording, "float64", plain)
    rows: list[dict[str, Any]] = []
    with LoadedCall(wide) as call:
        plain_loss = _finite_loss(call, wide.arguments, loss)
        for number, argument in enumerate(wide.arguments):
            if (
                len(argument.arrays) == 1
                and argument.arrays[0].dtype == np.float64
                and argument.arrays[0].size
            ):
                value = argument.arrays[0]
                noise = np.random.default_rng(0).standard_normal(value.shape)
                size = float(np.linalg.norm(value))
                noise *= _NUDGE * size / (float(np.linalg.norm(noise)) or 1.0)
                moved = _loss(call, _with(wide.arguments, number, value + noise), loss) - plain_loss
                ratio = abs(moved) / abs(plain_loss) / _NUDGE if plain_loss and size else 0.0
                rows.append({"input": argument.name, "size": size, "amplification": ratio})
    rows.sort(key=lambda row: -row["amplification"])
    return {
        "passed": True,
        "summary": f"the loss is {plain_loss:.6g}; 1 means that it moves as much as the input, in proportion",
        "columns": ["input", "size", "amplification"],
        "rows": rows,
    }
