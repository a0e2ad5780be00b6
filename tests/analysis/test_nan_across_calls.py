"""NaN that one call hands to the next: programs of several functions, eager ops and sessions, as captured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensortap
from tensortap.analysis.nonfinite.nan_report import NanReport, nan_report
from tensortap.analysis.nonfinite.report_text import report_text, summary_text
from tensortap.index.logdir_index import LogIndex

pytestmark = pytest.mark.slow

ALL = tensortap.Watch(keep="value", steps=tensortap.every(1))
ZERO = [1.0, -1.0, 2.0]  # a ReLU makes a zero of it


@tf.function
def relu(x: Any) -> Any:
    return tf.nn.relu(x)


@tf.function
def log(x: Any) -> Any:
    return tf.math.log(x)


@tf.function
def loss(y: Any) -> Any:
    return tf.reduce_mean(y * 2.0)


@tf.function
def error(prediction: Any, labels: Any) -> Any:
    return tf.reduce_mean((prediction - labels) ** 2)


Report = Callable[[Callable[[tensortap.Tap], None]], NanReport]


@pytest.fixture
def report_of(tmp_path: Path) -> Report:
    """Runs a program with a tap; the report on it, whose counts are checked."""

    def report(program: Callable[[tensortap.Tap], None]) -> NanReport:
        with tensortap.Tap(tmp_path / "run", ALL) as tap:
            program(tap)
        logs = LogIndex(tmp_path)
        logs.refresh()
        found = nan_report(logs.runs[0])
        assert found.nonfinite == len(found.origins) + len(found.demoted) + found.propagated
        return found

    return report


def first(report: NanReport) -> tuple[str, str, str]:
    """(op type, verdict, explanation) of the first origin."""
    origin = report.origins[0]
    return origin.op_type, origin.verdict, "" if origin.explanation is None else origin.explanation.text


def test_two_functions_under_an_eager_tape_end_at_the_log(report_of: Report) -> None:
    """GIVEN tfdbg's tutorial: model and loss are functions, gradients and optimizer are eager."""
    random = np.random.RandomState(1)
    kernel = tf.Variable(random.randn(8, 4).astype(np.float32) * 100)
    x = tf.constant(random.rand(6, 8).astype(np.float32))
    labels = tf.one_hot(random.randint(0, 4, 6), 4)

    @tf.function
    def model(x: Any) -> Any:
        return tf.nn.softmax(x @ kernel)

    @tf.function
    def entropy(probabilities: Any, labels: Any) -> Any:
        return tf.reduce_mean(-tf.reduce_sum(labels * tf.math.log(probabilities), 1))

    def program(tap: tensortap.Tap) -> None:
        for _ in range(2):
            with tap.step(), tf.GradientTape() as tape:
                value = entropy(model(x), labels)
                kernel.assign_sub(tape.gradient(value, kernel))

    report = report_of(program)
    op_type, verdict, text = first(report)
    assert (report.step, op_type, verdict) == (0, "Log", "origin")
    assert text.startswith("log(0) = -inf")
    assert not any(origin.verdict == "data" for origin in report.origins)
    assert {"entropy", "model_backward"} <= set(report.graph_names)
    assert report_text(report).goal == "the loss"


def test_the_path_leads_through_three_functions(report_of: Report) -> None:
    def program(tap: tensortap.Tap) -> None:
        with tap.step():
            loss(log(relu(tf.constant(ZERO))))

    report = report_of(program)
    assert first(report)[:2] == ("Log", "origin")
    assert [link.op_type for link in report.chain] == ["Log", "Identity", "_Arg", "Mul", "Mean", "Identity"]
    assert len({link.graph for link in report.chain}) == 2


def test_an_eager_op_between_functions_is_named_with_its_line(report_of: Report) -> None:
    def program(tap: tensortap.Tap) -> None:
        with tap.step():
            values = tf.math.log(relu(tf.constant(ZERO)))
            loss(tf.reshape(values, [3, 1]))

    report = report_of(program)
    origin = report.origins[0]
    assert origin.made_by.startswith("Log (test_nan_across_calls.py:")
    assert first(report)[2].startswith("log(0) = -inf: 1 element of Identity:0 is exactly 0.")
    assert report_text(report).origins[0].title.endswith("outside functions")


def test_an_eager_scope_between_functions_holds_the_origin(report_of: Report) -> None:
    def program(tap: tensortap.Tap) -> None:
        with tap.step(), tap.eager():
            loss(tf.math.log(relu(tf.constant(ZERO))))

    report = report_of(program)
    assert first(report)[:2] == ("Log", "origin") and report.graph_name == "eager"
    assert [link.op_type for link in report.chain][:4] == ["Log", "_Arg", "Mul", "Mean"]


def test_several_eager_ops_are_not_taken_for_the_data(report_of: Report) -> None:
    def program(tap: tensortap.Tap) -> None:
        with tap.step():
            loss(tf.math.log(relu(tf.constant(ZERO))) * 3.0 + 1.0)

    report = report_of(program)
    op_type, verdict, text = first(report)
    assert (op_type, verdict) == ("_Arg", "suspected")
    assert "comes from Log (test_nan_across_calls.py:" in text and "which were not captured" in text
    assert report.origins[0].explanation is not None and "tap.eager()" in report.origins[0].explanation.help


def test_nan_in_the_labels_is_the_cause(report_of: Report) -> None:
    """GIVEN labels of a dataset, one of them NaN: there the data is to blame."""
    labels = np.ones((8, 1), np.float32)
    labels[5] = np.nan
    data = tf.data.Dataset.from_tensor_slices((np.ones((8, 1), np.float32), labels)).batch(4)

    def program(tap: tensortap.Tap) -> None:
        for x, y in data:
            with tap.step():
                error(relu(x), y)

    report = report_of(program)
    assert (report.step, *first(report)[:2]) == (1, "_Arg", "data")
    assert report.origins[0].tensor == "labels:0" and first(report)[2].startswith("The input data contain")


def test_numpy_values_are_named_as_such(report_of: Report) -> None:
    def program(tap: tensortap.Tap) -> None:
        with tap.step():
            values = relu(tf.constant(ZERO)).numpy()
            with np.errstate(divide="ignore"):
                loss(tf.constant(np.log(values)))

    assert "from Python or NumPy values" in first(report_of(program))[2]


def test_a_variable_that_a_function_assigned_leads_to_it(report_of: Report) -> None:
    state = tf.Variable([1.0, 2.0])

    @tf.function
    def assign(x: Any) -> None:
        state.assign(tf.math.log(x))

    @tf.function
    def read() -> Any:
        return tf.reduce_sum(state)

    def program(tap: tensortap.Tap) -> None:
        with tap.step():
            assign(tf.constant([0.0, 1.0]))
            read()

    report = report_of(program)
    assert first(report)[:2] == ("Log", "origin") and len(report.origins) == 1


def test_a_variable_that_eager_code_assigned_is_no_earlier_step(report_of: Report) -> None:
    state = tf.Variable([1.0, 2.0])

    @tf.function
    def read() -> Any:
        return tf.reduce_sum(state)

    def program(tap: tensortap.Tap) -> None:
        with tap.step():
            read()
            state.assign(tf.math.log([0.0, 1.0]))
            read()

    op_type, verdict, text = first(report_of(program))
    assert (op_type, verdict) == ("ReadVariableOp", "suspected")
    assert "was finite in an earlier call of the step" in text


def test_code_between_steps_that_changes_a_variable_is_told_apart(report_of: Report) -> None:
    weight = tf.Variable([1.0, 2.0])

    @tf.function
    def train(x: Any) -> Any:
        weight.assign_sub(0.1 * x)
        return weight + x

    def program(tap: tensortap.Tap) -> None:
        for number in range(3):
            with tap.step():
                train(tf.constant([1.0, 2.0]))
            if number == 1:
                weight.assign([np.nan, 1.0])  # as a callback does

    report = report_of(program)
    assert (report.step, report.origins[0].verdict) == (2, "from_variable")
    assert report_text(report).origins[0].reason == (
        "What step 1 assigned to it was finite, so other code changed it before step 2: a callback, "
        "assign(), set_weights() or load_weights()."
    )
    assert not report.notes


def test_a_variable_that_an_eager_scope_assigned_is_no_earlier_step(report_of: Report) -> None:
    weight, average = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])

    def program(tap: tensortap.Tap) -> None:
        with tap.step(), tap.eager():
            mask = tf.identity([1.0, 0.0])
            change = mask / mask  # 0/0
            average.assign_add(0.1 * change)
            weight.assign_sub(0.5 * average)

    report = report_of(program)
    assert [(origin.tensor, origin.verdict) for origin in report.origins] == [("RealDiv:0", "origin")]


def test_functions_that_are_steps_of_their_own_are_joined(report_of: Report) -> None:
    def program(tap: tensortap.Tap) -> None:
        tapped = [tap.function(each) for each in (relu, log, loss)]
        for _ in range(2):
            value = tf.constant(ZERO)
            for each in tapped:
                value = each(value)

    report = report_of(program)
    assert (report.step, *first(report)[:2]) == (0, "Log", "origin")
    assert len(report.origins) == 1 and "Mean" in {link.op_type for link in report.chain}


def test_a_function_of_which_nothing_is_captured_is_named(tmp_path: Path) -> None:
    with tensortap.Tap(tmp_path / "run", tensortap.Watch(nodes="^y$|Mean")) as tap, tap.step():
        loss(log(relu(tf.constant(ZERO))))
    logs = LogIndex(tmp_path)
    logs.refresh()
    _, verdict, text = first(nan_report(logs.runs[0]))
    assert verdict == "suspected" and "comes from the function log, which was not captured" in text


@contextmanager
def _session(tap: tensortap.Tap) -> Iterator[tuple[Any, dict[str, Any]]]:
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [3], name="x")
        y = tf.compat.v1.placeholder(tf.float32, [3], name="y")
        tensors = {"x": x, "relu": tf.nn.relu(x), "y": y, "log": tf.math.log(y), "double": y * 2.0}
    with tap.session(tf.compat.v1.Session(graph=graph)) as session:
        yield session, tensors


def test_runs_of_a_session_are_joined_by_what_is_fed(report_of: Report) -> None:
    def program(tap: tensortap.Tap) -> None:
        with _session(tap) as (session, t), tap.step():
            values = session.run(t["relu"], {t["x"]: ZERO})
            session.run(t["double"], {t["y"]: session.run(t["log"], {t["y"]: values})})

    report = report_of(program)
    assert first(report)[:2] == ("Log", "origin") and len(report.origins) == 1


def test_what_numpy_made_between_runs_is_not_captured(report_of: Report) -> None:
    def program(tap: tensortap.Tap) -> None:
        with _session(tap) as (session, t), tap.step():
            values = session.run(t["relu"], {t["x"]: ZERO})
            with np.errstate(divide="ignore"):
                session.run(t["double"], {t["y"]: np.log(values)})

    op_type, verdict, text = first(report_of(program))
    assert (op_type, verdict) == ("Placeholder", "suspected")
    assert "uncaptured code between runs" in text


def test_saved_values_have_their_name_of_the_forward_pass(report_of: Report) -> None:
    """GIVEN a function under an eager tape THEN its backward function takes the root as an argument."""
    x = tf.Variable([4.0, 0.0])

    @tf.function
    def root() -> Any:
        return tf.sqrt(x)

    def program(tap: tensortap.Tap) -> None:
        with tap.step():
            with tf.GradientTape() as tape:
                value = loss(root())
            tape.gradient(value, x)

    report = report_of(program)
    (origin, *_) = report.origins
    assert origin.op_type == "SqrtGrad"
    saved = origin.inputs[0]
    assert (saved.tensor, saved.graph.rpartition("-")[0]) == ("Sqrt:0", "root")
    assert origin.explanation is not None
    assert "1 element of Sqrt:0 is exactly 0." in origin.explanation.text
    cause = origin.elements[0].trail[1]
    assert (cause.tensor, cause.node, cause.graph, cause.index) == ("Sqrt:0", "Sqrt", saved.graph, (1,))


def test_a_step_at_which_the_origin_was_not_captured_is_named(tmp_path: Path) -> None:
    """As within a budget, some steps have fewer tensors than others."""

    @tf.function
    def step(x: Any) -> Any:
        return tf.reduce_sum(tf.math.log(x, name="log"), name="loss")

    watches = [tensortap.Watch(steps=1, nodes="loss"), tensortap.Watch(steps=[0, 3], nodes="log")]
    with tensortap.Tap(tmp_path / "r", watches) as tap:
        for number in range(4):
            with tap.step(number):
                step(tf.constant([1.0, float(number < 3)]))
    log = LogIndex(tmp_path)
    log.refresh()
    report = nan_report(log.runs[0])
    assert (report.step, report.origins[0].tensor, report.previous) == (3, "log:0", 0)
    note = "log:0 was not captured at step 2, so it may have become non-finite earlier."
    assert note in report.notes
    assert summary_text(report).endswith("The previous captured step of log:0 is 0.")
