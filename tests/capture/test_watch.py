"""Watches: what they select, how they look, what they refuse."""

from __future__ import annotations

import pickle
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tensortap.capture.errors import ChoiceFailedError, WatchError
from tensortap.capture.tracing.candidate import Candidate
from tensortap.capture.watching.step_schedule import every, log_spaced
from tensortap.capture.watching.watch import Watch, Watches
from tensortap.core.sampling import Sample

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
        (Watch(kinds="activations"), [RELU]),
        (Watch(kinds=["gradients of fc", "Inputs"]), [GRADIENT, INPUT]),
        (Watch(kinds="gradients of cnn"), [GRADIENT]),
        (Watch(kinds="gradients of f"), []),
        (Watch(min_size=10, max_size=20), [RELU, GRADIENT, INPUT]),  # sizes that are not known yet may fit
        (Watch(max_size=8), [RELU, GRADIENT]),
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
        ([range(2, 4), every(10), 7], [0, 2, 3, 7, 10, 20]),
        (log_spaced(3), [0, 1, 2, 5, 10, 22]),
        (log_spaced(1000), list(range(25))),
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
        ({"steps": 0}, "every.0. has an invalid interval"),
        ({"steps": -1}, "has an invalid interval"),
        ({"steps": "all"}, "Invalid step selection steps='all'.*every"),
        ({"steps": [1.5]}, "Invalid step selection"),
        ({"steps": True}, "Invalid step selection"),
        ({"steps": []}, "Invalid step selection steps="),
        ({"steps": range(3, 3)}, "Invalid step selection"),
        ({"steps": every}, "Invalid step selection.*every.100"),
        ({"ops": 5}, "ops=5 is not an op type.*'MatMul'"),
        ({"keep": "values"}, "keep='values' is unknown.*'value'"),
        ({"kinds": "gradiants"}, "kinds='gradiants' is unknown.*gradient.*gradients of dense_2"),
        ({"kinds": "slopes of dense"}, "kinds='slopes of dense' is unknown"),
        ({"kinds": 3}, "kinds=3 is unknown"),
        ({"kinds": []}, r"kinds=\[\] selects nothing.*remove kinds"),
        ({"ops": []}, r"ops=\[\] selects nothing"),
        ({"dtypes": ()}, "selects nothing"),
        ({"min_size": -1}, "min_size=-1 is not a number of elements"),
        ({"max_size": 1.5}, "max_size=1.5 is not a number of elements"),
        ({"min_size": 5, "max_size": 2}, "min_size=5 is above max_size=2"),
        ({"sample": 0, "keep": "value"}, "sample=0 is not a valid number of elements"),
        ({"sample": 10}, "sample=10 needs values, but keep='summary'.*keep='value'"),
        ({"steps": [range(3, 3)]}, "Invalid step selection"),
        ({"steps": [3, "x"]}, "Invalid step selection"),
        ({"dtypes": "flaot32"}, "flaot32"),
        ({"dtypes": object()}, "is not a dtype"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(WatchError, match=message):
        Watch(**arguments)


@pytest.mark.parametrize(
    "watch",
    [
        Watch("a", ops=["MatMul", "Relu"], steps=[1, every(5)], keep="value", sample=10, dtypes=tf.bfloat16),
        Watch(kinds="loss") | Watch(re.compile("b", re.IGNORECASE), steps=log_spaced(3)),
    ],
)
def test_a_watch_can_be_handed_to_another_process(watch: Watch | Watches) -> None:
    again = pickle.loads(pickle.dumps(watch))
    assert again == watch
    assert repr(again) == repr(watch)


def test_every_needs_a_start_that_exists() -> None:
    with pytest.raises(WatchError, match="numbered from 0"):
        every(2, start=-1)
    with pytest.raises(WatchError, match=r"stop='x'.*has an invalid end"):
        every(2, stop="x")  # type: ignore[arg-type]


def test_a_callable_that_fails_is_named_with_its_node() -> None:
    def ratio(candidate: Candidate) -> bool:
        return 1 / candidate.slot > 0

    failed = "layers=ratio of a Watch failed on node 'cnn/relu/Relu'"
    with pytest.raises(ChoiceFailedError, match=failed) as error:
        Watch(layers=ratio).selects(RELU)
    assert "a Candidate (.node, .op_type, .layer" in error.value.hint


def test_repr_shows_what_was_given() -> None:
    assert repr(Watch()) == "Watch()"
    assert repr(Watch("Relu$", ops="Relu", steps=every(5, start=1), keep="value")) == (
        "Watch(nodes='Relu$', ops='Relu', steps=every(5, start=1), keep='value')"
    )
    assert repr(Watch(steps=test_steps)) == "Watch(steps=test_steps)"


def test_a_watch_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Watch().keep = "value"  # type: ignore[misc]


def test_watches_are_composed() -> None:
    gradients, values = Watch(kinds="gradient"), Watch("Relu", keep="value", steps=[3])

    both = gradients | values | Watch(ops="Const")

    assert both == Watches((gradients, values, Watch(ops="Const")))
    assert gradients | (values | gradients) == (gradients | values) | gradients
    assert repr(gradients | values) == f"{gradients!r} | {values!r}"
    with pytest.raises(WatchError, match="selects nothing"):
        Watches(())
    with pytest.raises(TypeError):
        gradients | 3  # type: ignore[operator]


@pytest.mark.parametrize(
    "watch",
    [
        Watch(),
        Watch("dense", ops=["MatMul"], layers="cnn", dtypes=["float32"], kinds="gradients of fc"),
        Watch(exclude="x", min_size=3, max_size=9, steps=[4, 7], keep="value"),
        Watch(steps=range(3, 30, 2), keep="value", sample=Sample(100, "random", 7)),
        Watch(steps=[range(3), every(10, 5, 100), log_spaced(4), 77]),
        Watch(steps=3, dtypes=np.float64, nodes=re.compile("a"), exclude=re.compile("b", re.IGNORECASE)),
        Watch(steps=frozenset({5, 2}), dtypes=[tf.bfloat16, "float32"]),
        Watch(steps=[every(3)]),
        Watch(steps=np.arange(3)),
    ],
)
def test_a_watch_survives_json(watch: Watch) -> None:
    assert Watch.from_json(watch.to_json()) == watch
    assert Watch.from_json((watch | Watch("b")).to_json()) == watch | Watch("b")


def test_json_holds_what_other_spellings_mean() -> None:
    back = Watch.from_json(
        Watch(re.compile("RELU", re.IGNORECASE), dtypes=[np.float32, tf.bfloat16], steps={5, 2}).to_json()
    )
    assert isinstance(back, Watch)
    assert (back.nodes, back.dtypes, back.steps) == ("(?i)RELU", ("float32", "bfloat16"), (2, 5))
    assert Watch.from_json(Watch(steps=7).to_json()) == Watch(steps=every(7))
    assert Watch.from_json('{"steps": {"next": 3}}', step=50) == Watch(steps=range(50, 53))


@pytest.mark.parametrize("argument", ["nodes", "layers", "exclude", "steps"])
def test_a_callable_is_no_json(argument: str) -> None:
    def only_small(_: Any) -> bool:
        return True

    with pytest.raises(
        WatchError, match=f"{argument}=only_small is a callable, which cannot be written as JSON"
    ):
        Watch(**{argument: only_small}).to_json()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "It is not JSON"),
        ("[" * 100_000, "It is not JSON"),
        ("3", "It has no rules"),
        ('{"rules": []}', "It has no rules"),
        ('{"rules": [{"node": "x"}]}', "In rule 1: 'node' is unknown.*nodes, layers"),
        ('[{}, {"nodes": "("}]', r"In rule 2: nodes='\(' is not a regular expression"),
        ('{"nodes": 3}', "In rule 1: nodes=3 is not a string"),
        ('{"steps": {"evry": 3}}', "In rule 1: Invalid step selection steps="),
        ('{"steps": {"range": ["a"]}}', "In rule 1: "),
        ('{"steps": {"every": 0}}', "In rule 1: every.0. has an invalid interval"),
        ('{"keep": "value", "sample": {"number": 3}}', "In rule 1: sample=.* is unknown"),
        ('{"keep": "all"}', "In rule 1: keep='all' is unknown"),
        (" " * (5 << 20), "characters"),
    ],
)
def test_json_that_is_no_watch(text: str, message: str) -> None:
    with pytest.raises(WatchError, match=message):
        Watch.from_json(text)
