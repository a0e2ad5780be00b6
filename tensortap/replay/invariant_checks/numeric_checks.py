"""Checks of a recorded step by its numbers: determinism, and sensitivity of the loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tensortap.core.records import Graph
from tensortap.dump.recording.recording import Recording, array_hash

from ..protocol import CheckResult
from ..run.dtype_change import change_dtype
from ..run.loaded_call import LoadedCall
from .loss_values import Losses, replace_array, tensors_of_kind

_NUDGE = 1e-3
_MOST_RUNS = 1000


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
        yield f"{candidate.name}{f' visit {visit}' if visit else ''}", array_hash(array)


def check_sensitivity(recording: Recording, graph: Graph | None, options: Mapping[str, Any]) -> CheckResult:
    """Each variable and input moves at random by 1/1000 of its norm, in float64: how much the loss moves, in
    units of that. It has no right answer, and never fails. Of several losses it is the last one."""
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
        summary=f"the loss{named} is {plain_loss:.6g}; 1 means that it moves as much as the input, in"
        " proportion",
        columns=["input", "size", "amplification"],
        rows=rows,
    )
