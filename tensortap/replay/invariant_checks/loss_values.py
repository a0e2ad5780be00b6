"""The losses of a recorded step, as numbers that follow its variables and inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError
from tensortap.core.records import Graph
from tensortap.dump.recording.recording import Argument

from ..run.loaded_call import LoadedCall
from ..run.node_selection import visits_of


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


def replace_array(arguments: Sequence[Argument], number: int, value: Array) -> list[Argument]:
    """The arguments, one of them holding another array; its dtype stays."""
    found = list(arguments)
    found[number] = replace(found[number], arrays=(value.astype(found[number].arrays[0].dtype),))
    return found


@dataclass(frozen=True, slots=True)
class Losses:
    """The losses of a loaded call. `names`: tensors, of which those are losses that ran."""

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
        """The same.

        Raises:
            NotFoundError: none ran, or one is not finite.
        """
        found = self.at(arguments)
        numbers = [number for visits in found.values() for number in visits]
        bad = next((number for number in numbers if not np.isfinite(number)), None)
        if bad is not None or not numbers:
            state = "not computed" if bad is None else f"{bad}, in float64, too"
            raise NotFoundError(
                f"The loss is {state}: nobody can say how it changes.",
                "Test a step whose loss is finite; --list shows those that were recorded.",
            )
        return found


def loss_readings(losses: Mapping[str, Sequence[float]], visits: int) -> dict[str, float]:
    """What a gradient with so many visits may be the derivative of, by name: each loss at its first visit (a
    later one depends on what the step did to the variables), all of them together, and of a loss with more
    visits than the gradient their sum and mean."""
    found = {name: values[0] for name, values in losses.items()}
    if len(found) > 1:
        found["all losses together"] = sum(found.values())
    for name, values in losses.items():
        if len(values) > visits:
            found[f"{name}, {len(values)} visits together"] = sum(values)
            found[f"{name}, mean of {len(values)} visits"] = sum(values) / len(values)
    return found
