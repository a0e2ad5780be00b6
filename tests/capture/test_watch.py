"""Watches: what they select, how they look, what they refuse."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tensortap.capture import Candidate, Watch, WatchError, every
from tensortap.capture.errors import ChoiceFailedError

RELU = Candidate("cnn/relu/Relu", 0, "Relu", "float32", (None, 8), "cnn/relu", "output")
GRADIENT = Candidate(
    "gradient_tape/cnn/fc/MatMul", 1, "MatMul", "bfloat16", None, "cnn/fc", "gradient", "cnn/fc/kernel"
)
CONSTANT = Candidate("cnn/Const", 0, "Const", "int32", ())
INPUT = Candidate("x", 0, "_Arg", "float32", (8, 2), "", "input")
INNER = Candidate("data", 0, "_Arg", "float32", (8, 2))
EVERYTHING = [RELU, GRADIENT, CONSTANT, INPUT, INNER]


@pytest.mark.parametrize(
    ("watch", "selected"),
    [
        (Watch(), [RELU, GRADIENT, INPUT]),
        (Watch("Relu"), [RELU]),
        (Watch("^cnn/"), [RELU, CONSTANT]),
        (Watch(re.compile("RELU", re.IGNORECASE)), [RELU]),
        (Watch(lambda candidate: candidate.slot == 1), [GRADIENT]),
        (Watch(ops="Const"), [CONSTANT]),
        (Watch(ops=["Relu", "MatMul"]), [RELU, GRADIENT]),
        (Watch(layers="fc$"), [GRADIENT]),
        (Watch(layers=lambda candidate: not candidate.layer), [INPUT]),
        (Watch(dtypes="bfloat16"), [GRADIENT]),
        (Watch(dtypes=[np.float32, tf.int64]), [RELU, INPUT]),
        (Watch(dtypes=ml_dtypes.bfloat16), [GRADIENT]),
        (Watch(kinds="gradient"), [GRADIENT]),
        (Watch(kinds=["output", "input"]), [RELU, INPUT]),
        (Watch(exclude="gradient_tape/"), [RELU, INPUT]),
        (Watch(".", exclude=lambda candidate: candidate.op_type == "_Arg"), [RELU, GRADIENT, CONSTANT]),
        (Watch("cnn", layers="relu", dtypes="float32"), [RELU]),
    ],
)
def test_selection(watch: Watch, selected: list[Candidate]) -> None:
    assert [candidate for candidate in EVERYTHING if watch.selects(candidate)] == selected


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        (every(10), [0, 10, 20]),
        (every(10, start=3), [3, 13, 23]),
        (every(4, start=4, stop=12), [4, 8]),
        (10, [0, 10, 20]),
        (range(5, 8), [5, 6, 7]),
        ([7, 3], [3, 7]),
        ({2}, [2]),
        (np.array([1, 4]), [1, 4]),
        (lambda step: step in (9, 11), [9, 11]),
    ],
)
def test_steps(steps: Any, wanted: list[int]) -> None:
    watch = Watch(steps=steps)
    assert [step for step in range(25) if watch.wants_step(step)] == wanted
    assert len({watch, watch}) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nodes": "dense("}, r"nodes='dense\(' is not a regular expression: missing \).*Escape"),
        ({"exclude": "*"}, r"exclude='\*' is not a regular expression"),
        ({"layers": 3}, "layers=3 selects nothing.*callable"),
        ({"steps": 0}, "every.0. has no interval"),
        ({"steps": -1}, "has no interval"),
        ({"steps": "all"}, "steps='all' says no steps.*every"),
        ({"steps": [1.5]}, "says no steps"),
        ({"steps": True}, "says no steps"),
        ({"steps": []}, "steps=.* says no steps"),
        ({"steps": range(3, 3)}, "says no steps"),
        ({"steps": every}, "says no steps.*every.100"),
        ({"ops": 5}, "ops=5 is no op type.*'MatMul'"),
        ({"keep": "values"}, "keep='values' keeps nothing.*'value'"),
        ({"kinds": "gradients"}, "kinds='gradients' is unknown.*gradient"),
        ({"dtypes": "flaot32"}, "flaot32"),
        ({"dtypes": object()}, "is no dtype"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(WatchError, match=message):
        Watch(**arguments)


def test_every_needs_a_start_that_exists() -> None:
    with pytest.raises(WatchError, match="numbered from 0"):
        every(2, start=-1)
    with pytest.raises(WatchError, match=r"stop='x'.*ends nowhere"):
        every(2, stop="x")  # type: ignore[arg-type]


def test_a_callable_that_fails_is_named_with_its_node() -> None:
    def ratio(candidate: Candidate) -> bool:
        return 1 / candidate.slot > 0

    with pytest.raises(ChoiceFailedError, match="layers=ratio of a Watch failed on node 'cnn/relu/Relu'"):
        Watch(layers=ratio).selects(RELU)


def test_repr_shows_what_was_given() -> None:
    assert repr(Watch()) == "Watch()"
    assert repr(Watch("Relu$", ops="Relu", steps=every(5, start=1), keep="value")) == (
        "Watch(nodes='Relu$', ops='Relu', steps=every(5, start=1), keep='value')"
    )
    assert repr(Watch(steps=test_steps)) == "Watch(steps=test_steps)"


def test_a_watch_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Watch().keep = "value"  # type: ignore[misc]
