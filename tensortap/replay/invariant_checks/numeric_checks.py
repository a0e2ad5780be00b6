"""Checks of a recorded step by its numbers: gradients, determinism, sensitivity of the loss.

Each runs the step again, gradients and sensitivity in float64, and looks at its losses (`Losses`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError
from tensortap.core.records import Graph
from tensortap.core.text import number_text
from tensortap.dump.recording.recording import Argument, Recording, array_hash

from ..execution.dtype_change import change_dtype
from ..execution.forward_pass import READ, ForwardPass
from ..execution.loaded_call import LoadedCall
from ..execution.node_selection import SelectedNodes, pattern_of, visits_of
from ..protocol import CheckResult

_STEP = 1e-5  # size of a step, in units of the variable's norm
_TOLERANCE = 1e-4  # of a central difference in float64 with step 1e-5
_SPARSE = "with a different shape than their variable"
_AMBIGUOUS = "of variables with the same name and shape"
_MOVED = "of a loss that depends on a changed variable"
_NUDGE = 1e-3
_MOST_RUNS = 1000


def check_gradients(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> CheckResult:
    """Compares, in float64, the recorded gradients with central differences of the losses, along one random
    direction per variable. With several losses, a gradient is compared with the best match."""
    names, gradients = tensors_of_kind(graph, "loss"), tensors_of_kind(graph, "gradient")
    with LoadedCall(recording) as plain:
        wide = change_dtype(recording, "float64", plain)
    rows: list[dict[str, Any]] = []
    skipped: dict[str, int] = {}
    with LoadedCall(wide) as call:
        losses = Losses(call, list(names))
        losses.finite(wide.arguments)
        values = visits_of(call.run(lambda candidate: candidate.name in gradients))
        for tensor, variable in gradients.items():
            visits = values.get(tensor, [])
            numbers = variables_matching(wide.arguments, variable, visits[0] if visits else None)
            if len(numbers) != 1:
                why = _AMBIGUOUS if numbers else _SPARSE
            else:
                derivative = _DirectionalDerivative(losses, wide.arguments, numbers[0], visits)
                found = derivative.compare()
                why = _MOVED if found["error"] > _TOLERANCE and derivative.depends_on_written() else ""
                if not why:
                    rows.append({"variable": variable, "gradient": tensor, **found})
            if why:
                skipped[why] = skipped.get(why, 0) + 1
    rows.sort(key=lambda row: -row["error"])
    return _result(rows, [f"{count} {why}" for why, count in skipped.items()])


def _result(rows: list[dict[str, Any]], notes: Sequence[str]) -> CheckResult:
    if not rows:
        raise NotFoundError(
            f"No gradient can be checked: {' and '.join(notes)}.",
            "Sparse gradients cannot be checked. Variables of the same shape need different names:"
            " tf.Variable(…, name=…).",
        )
    wrong = [row for row in rows if not row["error"] <= _TOLERANCE]
    several = len({row["loss"] for row in rows}) > 1
    count = f"{len(wrong)} of {len(rows)} gradients are not" if wrong else f"{len(rows)} gradients are"
    skipped = f"; skipped: {' and '.join(notes)}" if notes else ""
    of = "a loss of the step" if several else "the loss"
    loss = ["loss"] if several else []
    return CheckResult(
        passed=not wrong,
        summary=f"{count} the derivative of {of}, within {_TOLERANCE:g}{skipped}",
        columns=["variable", "gradient", *loss, "analytic", "numeric", "error"],
        rows=rows,
    )


def variables_matching(arguments: Sequence[Argument], name: str, gradient: Array | None) -> list[int]:
    """Numbers of the variables that a gradient may belong to: the graph only has its name, which others may
    share."""
    return [
        number
        for number, argument in enumerate(arguments)
        if argument.kind == "variable" and argument.name == name and argument.arrays
        if gradient is not None and argument.arrays[0].shape == gradient.shape
    ]


class _DirectionalDerivative:
    """Of the losses, as one variable moves in a random direction. `gradient`: its gradient at each visit."""

    def __init__(
        self, losses: Losses, arguments: Sequence[Argument], number: int, gradient: Sequence[Array]
    ) -> None:
        self._losses, self._arguments, self._number, self._gradient = losses, arguments, number, gradient
        value = arguments[number].arrays[0]
        direction = np.random.default_rng(0).standard_normal(value.shape)
        self._direction = direction / (np.linalg.norm(direction) or 1.0)
        self._step = _STEP * max(float(np.linalg.norm(value)), 1.0)

    def _moved(self, sign: int) -> list[Argument]:
        value = self._arguments[self._number].arrays[0]
        return replace_array(self._arguments, self._number, value + sign * self._step * self._direction)

    def compare(self) -> dict[str, Any]:
        """`loss` (the reading that fits best), `analytic`, `numeric`, `error` (relative)."""
        ahead, behind = (
            loss_readings(self._losses.at(self._moved(sign)), len(self._gradient)) for sign in (1, -1)
        )
        analytic = float(np.sum(self._gradient[0] * self._direction))
        found = []
        for name in ahead.keys() & behind.keys():
            numeric = (ahead[name] - behind[name]) / (2 * self._step)
            # Rounding of the loss alone gives that much.
            floor = 1e-15 * max(abs(ahead[name]), 1e-300) / self._step / _TOLERANCE
            error = abs(numeric - analytic) / max(abs(numeric), abs(analytic), floor)
            found.append({"loss": name, "analytic": analytic, "numeric": numeric, "error": float(error)})
        return min(found, key=lambda each: (not np.isfinite(each["error"]), each["error"], each["loss"]))

    def depends_on_written(self) -> bool:
        """Whether a loss reads a variable that the step wrote earlier. The loss then also depends on it in a
        way that the gradient does not include."""
        call = self._losses.call
        chosen = SelectedNodes(call, pattern_of(""))
        operations = chosen.operations.items()
        names = {name for key, each in operations if each.type == READ for name in chosen.outputs(key)}
        moved = self._moved(1)
        before, after = (
            visits_of(call.run(lambda candidate: candidate.name in names, arguments))
            for arguments in (self._arguments, moved)
        )
        own = moved[self._number].arrays[0]

        def share(function: str, operation: Any) -> Fraction:
            name = chosen.name(function, operation.outputs[0])
            if name not in before or name not in after:
                return Fraction(1)
            one, other = before[name][0], after[name][0]
            return Fraction(int(np.array_equal(one, other) or np.array_equal(other, own)))

        forward = ForwardPass(call, share)
        return any(
            not forward.of(key).share for key in chosen.operations if self._is_loss(chosen.outputs(key))
        )

    def _is_loss(self, names: Sequence[str]) -> bool:
        return any(name in self._losses.names for name in names)


def tensors_of_kind(graph: Graph | None, kind: str) -> dict[str, str]:
    """Tensor name -> path of its variable (or empty), of all tensors of one kind.

    Raises:
        NotFoundError: there is none, or the graph is unavailable.
    """
    nodes = graph.nodes if graph is not None else ()
    found = {
        f"{node.name}:0": node.attributes.get("tensortap.variable", "")
        for node in nodes
        if node.attributes.get("tensortap.kind") == kind
    }
    if not found:
        raise NotFoundError(
            f"The graph of the recording does not mark a {kind}.",
            "Record a step with a GradientTape, and replay it from a run or a bundle with its graph.",
        )
    return found


def replace_array(arguments: Sequence[Argument], number: int, value: Array) -> list[Argument]:
    """The arguments, one of them holding another array; its dtype stays."""
    found = list(arguments)
    found[number] = replace(found[number], arrays=(value.astype(found[number].arrays[0].dtype),))
    return found


@dataclass(frozen=True, slots=True)
class Losses:
    """The losses of a loaded call. `names`: candidate tensors; those that ran are losses."""

    call: LoadedCall
    names: Sequence[str]

    def at(self, arguments: Sequence[Argument]) -> dict[str, list[float]]:
        """Name -> value at each visit, in the order of `names`; of a tensor, the sum of its elements."""
        values = visits_of(self.call.run(lambda candidate: candidate.name in self.names, arguments))
        return {
            name: [float(np.sum(array.astype(np.float64))) for array in values[name]]
            for name in self.names
            if name in values
        }

    def finite(self, arguments: Sequence[Argument]) -> dict[str, list[float]]:
        """The values of `at`, all of which must be finite.

        Raises:
            NotFoundError: none ran, or one is not finite.
        """
        found = self.at(arguments)
        numbers = [number for visits in found.values() for number in visits]
        bad = next((number for number in numbers if not np.isfinite(number)), None)
        if bad is not None or not numbers:
            state = "not computed" if bad is None else f"{bad}, also in float64"
            raise NotFoundError(
                f"The loss is {state}, so its change is undefined.",
                "Choose a step with a finite loss; --list shows the recorded steps.",
            )
        return found


def loss_readings(losses: Mapping[str, Sequence[float]], visits: int) -> dict[str, float]:
    """Candidate functions for a gradient with a number of visits, by name: each loss at its first visit
    (later visits see updated variables), the sum of all, and, for a loss with more visits than the gradient,
    its sum and mean."""
    found = {name: values[0] for name, values in losses.items()}
    if len(found) > 1:
        found["all losses together"] = sum(found.values())
    for name, values in losses.items():
        if len(values) > visits:
            found[f"{name}, {len(values)} iterations together"] = sum(values)
            found[f"{name}, mean of {len(values)} iterations"] = sum(values) / len(values)
    return found


def check_determinism(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> CheckResult:
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
    return CheckResult(
        passed=not different,
        summary=f"{len(different)} of {len(first)} tensors differ between {runs} replays",
        columns=["tensor", "replays"],
        rows=[{"tensor": name, "replays": different[name]} for name in order],
    )


def _hashes(call: LoadedCall) -> Iterator[tuple[str, str]]:
    for candidate, visit, array in call.run(lambda candidate: True).tensors:
        yield f"{candidate.name}{f' iteration {visit}' if visit else ''}", array_hash(array)


def check_sensitivity(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> CheckResult:
    """Moves each variable and input randomly by 1/1000 of its norm, in float64, and reports the relative
    change of the loss divided by 1/1000. There is no expected result, so this check never fails. With
    several losses the last one is used."""
    names = list(tensors_of_kind(graph, "loss"))
    with LoadedCall(recording) as plain:
        wide = change_dtype(recording, "float64", plain)
    rows: list[dict[str, Any]] = []
    with LoadedCall(wide) as call:
        losses = Losses(call, names)
        loss, (plain_loss, *_) = list(losses.finite(wide.arguments).items())[-1]
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
                moved = losses.at(replace_array(wide.arguments, number, value + noise))[loss][0] - plain_loss
                ratio = abs(moved) / abs(plain_loss) / _NUDGE if plain_loss and size else 0.0
                rows.append({"input": argument.name, "size": size, "amplification": ratio})
    rows.sort(key=lambda row: -row["amplification"])
    named = f" {loss}" if len(names) > 1 else ""
    return CheckResult(
        passed=True,
        summary=f"the loss{named} is {number_text(plain_loss)}; "
        "1 means that it changes in proportion to the input",
        columns=["input", "size", "amplification"],
        rows=rows,
    )
