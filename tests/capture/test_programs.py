"""Tapping programs like Keras' and TensorFlow's examples changes no bit of their training.

Each runs plain and tapped, from the same seeds, with all tensors captured at every third step.
`make test` runs one of each idiom, `make nightly` all of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from dumped import Dumped
from programs import eager_programs, keras_programs, loop_programs, session_programs, sum_programs
from programs.capturing import Capture, Program

from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch

PROGRAMS = {
    program.__name__: program
    for module in (eager_programs, keras_programs, loop_programs, session_programs, sum_programs)
    for program in module.PROGRAMS
}

# One of each idiom.
ALWAYS = {
    *("gpt", "mixed_precision", "xla", "vae", "gan", "wasserstein", "actor_critic", "draws_in_loops"),
    *("eager_tape", "recurrent_by_hand", "compiled_layers", "session_mlp", "session_loop"),
    *("weight_shared_by_loops", "weight_shared_after_noise", "optimizer_by_hand", "eager_newton"),
}
assert PROGRAMS.keys() >= ALWAYS

DRAWING = {"vae", "gan", "wasserstein", "draws_in_loops", "draws_in_sums"}  # by ops with streams of their own
CALLS_PYTHON = {"actor_critic"}  # whose effects would come twice in a shadow: it is not captured
FUNCTIONS = [
    program.__name__
    for module in (keras_programs, loop_programs, sum_programs)
    for program in module.PROGRAMS
]


def run(program: Program, tap: Tap | None = None) -> dict[str, bytes]:
    """The bytes of all results of a program, by their place in the results."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(0)
    return dict(flat(program(Capture(tap))))


def flat(results: Any, path: str = "") -> Iterator[tuple[str, bytes]]:
    """The arrays in a nest."""
    if isinstance(results, dict | list | tuple):
        items = results.items() if isinstance(results, dict) else enumerate(results)
        for key, value in items:
            yield from flat(value, f"{path}/{key}")
    elif results is not None:
        yield path, np.asarray(results).tobytes()


@cache
def plain(name: str) -> dict[str, bytes]:
    """The results without a tap."""
    return run(PROGRAMS[name])


def marked(name: str) -> Any:
    """A program, as one of the night unless it is in `ALWAYS`."""
    return pytest.param(name, marks=[] if name in ALWAYS else [pytest.mark.nightly])


@pytest.mark.parametrize("name", [marked(name) for name in PROGRAMS])
def test_training_is_bit_identical(tmp_path: Path, name: str) -> None:
    check_identical(tmp_path, name)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in DRAWING else [pytest.mark.nightly]) for name in FUNCTIONS]
)
def test_a_shadow_changes_no_training_either(tmp_path: Path, name: str) -> None:
    check_identical(tmp_path, name, exact=True)


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("program", sum_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_a_sum_begins_with_the_same_term_if_some_are_tapped(
    tmp_path: Path, program: Program, part: int
) -> None:
    """If all terms are held, the first is taken again."""
    name = program.__name__
    some = Watch(nodes=lambda candidate: zlib.crc32(candidate.node.encode()) % 3 == part, steps=1)
    with Tap(tmp_path / "r", some, record=every(2)) as tap:
        tapped = run(program, tap)
    assert [path for path, value in plain(name).items() if tapped[path] != value] == []


def check_identical(directory: Path, name: str, *, exact: bool = False) -> None:
    with Tap(directory / "r", Watch(steps=3), exact=exact) as tap:
        tapped = run(PROGRAMS[name], tap)
    assert [path for path, value in plain(name).items() if tapped[path] != value] == []
    assert tapped.keys() == plain(name).keys()
    if not (exact and name in CALLS_PYTHON):
        assert len(Dumped(directory / "r").steps) >= 2
