"""Check of a recorded step: whether its gradients are the derivatives of its losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError
from tensortap.core.records import Graph
from tensortap.dump.recording.recording import Argument, Recording

from ..protocol import CheckResult
from ..run.dtype_change import change_dtype
from ..run.forward_pass import READ, ForwardPass
from ..run.loaded_call import LoadedCall
from ..run.node_selection import SelectedNodes, pattern_of, visits_of
from .loss_values import Losses, loss_readings, replace_array, tensors_of_kind

_STEP = 1e-5  # size of a step, in units of the variable's norm
_TOLERANCE = 1e-4  # of a central difference in float64 whose step is 1e-5
_SPARSE = "of another shape than their variable"
_AMBIGUOUS = "whose variable shares its name and shape with another"
_MOVED = "of a loss that depends on a variable which the step had changed before"


def check_gradients(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> CheckResult:
    """In float64, the recorded gradients against central differences of the losses, along one random
    direction a variable. Of several losses a gradient is that of the one that it fits best."""
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
            "Sparse ones cannot be; variables of one shape need names of their own: tf.Variable(…, name=…).",
        )
    wrong = [row for row in rows if not row["error"] <= _TOLERANCE]
    several = len({row["loss"] for row in rows}) > 1
    count = f"{len(wrong)} of {len(rows)} gradients are not" if wrong else f"{len(rows)} gradients are"
    skipped = f"; left out: {' and '.join(notes)}" if notes else ""
    of = "a loss of the step" if several else "the loss"
    loss = ["loss"] if several else []
    return CheckResult(
        passed=not wrong,
        summary=f"{count} the derivative of {of}, within {_TOLERANCE:g}{skipped}",
        columns=["variable", "gradient", *loss, "analytic", "numeric", "error"],
        rows=rows,
    )


def variables_matching(arguments: Sequence[Argument], name: str, gradient: Array | None) -> list[int]:
    """Numbers of the variables that a gradient may belong to: the graph knows only the name of its own, which
    others may have, too."""
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
        """Whether a loss reads a variable that the step had written before: it depends on the moved one in
        another way, too, which the gradient leaves out."""
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
