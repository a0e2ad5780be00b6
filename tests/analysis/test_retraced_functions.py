"""A function that is traced again, for inputs of other shapes, gives each finding once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensortap.analysis.rules.runner import check_rules
from tensortap.index.logdir_index import LogIndex

tf = pytest.importorskip("tensorflow")


def test_a_function_that_is_traced_again_gives_each_finding_once(tmp_path: Path) -> None:
    from tensortap.capture import Tap, Watch

    weight = tf.Variable(tf.ones([3, 3]), name="weight")

    @tf.function
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.relu(tf.matmul(x, weight) - 100.0))
        weight.assign_sub(tape.gradient(loss, weight))
        return loss

    with Tap(tmp_path / "r", Watch(steps=1)) as tap:
        for step, rows in enumerate([2, 3, 4, 5] * 5):
            with tap.step(step):
                train(tf.ones([rows, 3]))
    log = LogIndex(tmp_path)
    log.refresh()
    (run,) = log.runs
    found = check_rules(run).findings
    assert len(run.graphs) == 4
    assert "DeadRelu" in {finding.rule for finding in found}
    assert len({(finding.rule, finding.tensor) for finding in found}) == len(found)
    (dead,) = (finding for finding in found if finding.rule == "DeadRelu")
    assert (dead.first_step, dead.last_step, dead.steps, dead.of) == (0, 19, 20, 20)


def test_a_smaller_batch_at_the_end_makes_no_relu_dead(tmp_path: Path) -> None:
    """GIVEN a last batch of one sample, for which no unit is active."""
    from tensortap.capture import Tap, Watch

    weight = tf.Variable(tf.ones([3, 3]), name="weight")

    @tf.function
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.relu(tf.matmul(x, weight)))
        weight.assign_sub(0.001 * tape.gradient(loss, weight))
        return loss

    with Tap(tmp_path / "r", Watch(steps=1)) as tap:
        for step, batch in enumerate([tf.ones([4, 3])] * 9 + [-tf.ones([1, 3])]):
            with tap.step(step):
                train(batch)
    log = LogIndex(tmp_path)
    log.refresh()
    found = [each for each in check_rules(log.runs[0]).findings if "Dead" in each.rule]
    assert {each.rule for each in found} == {"DeadRelu", "DeadGradient"}
    assert {(each.severity, each.steps, each.of) for each in found} == {("low", 1, 10)}


def test_functions_of_one_name_keep_their_findings(tmp_path: Path) -> None:
    from tensortap.capture import Tap, Watch

    class First:
        @tf.function
        def step(self, x: Any) -> Any:
            return tf.nn.relu(x - 100.0)

    class Second:
        @tf.function
        def step(self, x: Any) -> Any:
            return tf.nn.relu(x - 100.0)

    steps = [First().step, Second().step]
    with Tap(tmp_path / "r", Watch(steps=1)) as tap:
        for step in range(20):
            with tap.step(step):
                steps[step % 2](tf.ones([2 + step % 2, 3]))
    log = LogIndex(tmp_path)
    log.refresh()
    (run,) = log.runs
    dead = [finding for finding in check_rules(run).findings if finding.rule == "DeadRelu"]
    assert sorted((each.first_step, each.last_step, each.steps, each.of) for each in dead) == [
        (step, 18 + step, 10, 10) for step in range(2)
    ]
    assert len({finding.graph for finding in dead}) == 2


def test_nan_of_the_data_counts_in_all_traces(tmp_path: Path) -> None:
    from tensortap.capture import Tap, Watch

    weight = tf.Variable(tf.ones([3, 1]), name="weight")

    @tf.function
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.matmul(x, weight))
        return tape.gradient(loss, weight), loss

    with Tap(tmp_path / "r", Watch(steps=1)) as tap:
        for step in range(10):
            with tap.step(step):
                train(tf.fill([2 if step == 9 else 4, 3], float("nan")))
    log = LogIndex(tmp_path)
    log.refresh()
    found = [each for each in check_rules(log.runs[0]).findings if each.rule == "ExplodingTensor"]
    assert [(each.steps, each.of) for each in found] == [(10, 10)]
