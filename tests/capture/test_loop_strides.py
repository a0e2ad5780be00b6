"""Steps that capture some iterations of a loop only, and run the others without taps."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.analysis.nonfinite.nan_report import nan_report
from tensortap.capture.instrument import liveness
from tensortap.capture.instrument.loop_iterations import LoopStride
from tensortap.capture.instrument.summed_terms import SummedTerms
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch
from tensortap.index.logdir_index import LogIndex
from tensortap.tf.function_library import closure

WATCHED = (0, 2, 4)


def branching(x: Any, count: Any) -> Any:
    """A loop with a branch, and its gradient."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for i in tf.range(count):
            y = tf.sin(y, name="sine")
            if i % 3 == 1:
                y = tf.multiply(y, 1.1, name="odd")
    return y, tape.gradient(y, x)


def drawing(x: Any, count: Any) -> Any:
    """A loop that draws from streams of nodes, one number depending on the one before."""
    noise = tf.fill([40], x)
    for _ in tf.range(count):
        tf.autograph.experimental.set_loop_options(parallel_iterations=1)
        logits = tf.reshape(tf.stack([x, -x, x * 2.0]), [1, 3])
        drawn = tf.random.categorical(logits, 1)[0, 0]
        x = tf.sin(x, name="sine") + 0.01 * tf.cast(drawn, tf.float32)
        noise = tf.sin(noise * tf.random.normal([40], 1.3, 0.7) * 0.3 + 0.1)  # factors are merged
    return x, noise


def failing(x: Any, count: Any) -> Any:
    """A loop whose condition counts, and whose body raises in iteration 13 if the count is odd."""

    def go_on(i: Any, _: Any) -> Any:
        return tf.multiply(i, 1000, name="thousands") < count * 1000

    def body(i: Any, x: Any) -> Any:
        tf.debugging.Assert(tf.logical_or(count % 2 == 0, i < 13), [i])
        return i + 1, tf.sin(x, name="sine")

    return tf.while_loop(go_on, body, [0, x], parallel_iterations=1)


def run(program: Any, lengths: list[int], path: Path | None, **watch: Any) -> list[Any]:
    """The results of a step for each length; some steps are captured if there is a path."""
    tf.random.set_seed(5)
    function, results = tf.function(program), []
    if path is None:
        return [[part.numpy() for part in function(tf.constant(0.5), tf.constant(n))] for n in lengths]
    with Tap(path, Watch(steps=lambda step: step in WATCHED, keep="value", **watch)) as tap:
        for step, length in enumerate(lengths):
            with tap.step(step):
                results.append(function(tf.constant(0.5), tf.constant(length)))
    return [[part.numpy() for part in result] for result in results]


def visits(dumped: Dumped, step: int, name: str) -> list[int]:
    return [row.visit for row in dumped.rows if row.step == step and row.name == name]


def test_captured_iterations_are_those_of_a_full_capture(tmp_path: Path) -> None:
    lengths = [20, 20, 20, 30, 30]
    plain = run(branching, lengths, None)
    assert run(branching, lengths, tmp_path / "some", visits=8) == plain
    assert run(branching, lengths, tmp_path / "all", visits=None) == plain

    some, everything = Dumped(tmp_path / "some"), Dumped(tmp_path / "all")
    expected = {(row.step, row.name, row.visit): row.value for row in everything.rows}
    for row in some.rows:
        np.testing.assert_array_equal(row.value, expected[row.step, row.name, row.visit])
    assert {row.name for row in some.rows} == {row.name for row in everything.rows}
    assert visits(some, 2, "while/sine:0") == [0, 4, 8, 12, 16, 19]
    assert visits(some, 2, "while/Less:0") == [0, 4, 8, 12, 16, 19, 20]  # of the condition
    assert visits(some, 2, "while/cond/odd:0") == [4, 16, 19]
    assert visits(some, 2, "gradient_tape/while/gradients/while/sine_grad/Cos:0") == [0, 4, 8, 12, 16, 19]
    assert visits(some, 4, "while/sine:0") == [0, 8, 16, 20, 28]  # longer than expected


@pytest.mark.parametrize("visits", [8, None])
def test_a_loop_that_draws_is_not_changed(tmp_path: Path, visits: int | None) -> None:
    lengths = [20, 20, 20, 30, 30]
    plain = run(drawing, lengths, None)
    tapped = run(drawing, lengths, tmp_path / "r", visits=visits, nodes="sine")
    np.testing.assert_equal(tapped, plain)


def test_a_loop_that_draws_delivers_only_the_iterations_that_are_stored(tmp_path: Path) -> None:
    lengths = [20, 20, 20, 30, 30]
    run(drawing, lengths, tmp_path / "some", visits=8)
    run(drawing, lengths, tmp_path / "all", visits=None)
    some, everything = Dumped(tmp_path / "some"), Dumped(tmp_path / "all")
    expected = {(row.step, row.name, row.visit): row.value for row in everything.rows}
    for row in some.rows:
        np.testing.assert_array_equal(row.value, expected[row.step, row.name, row.visit])
    assert {row.name for row in some.rows} == {row.name for row in everything.rows}
    assert visits(some, 2, "while/sine:0") == [0, 4, 8, 12, 16, 19]
    assert visits(some, 2, "while/Less:0") == [0, 4, 8, 12, 16, 19, 20]
    assert visits(some, 4, "while/sine:0") == [0, 8, 16, 20, 28]


def test_variables_of_a_loop_that_nothing_needs_are_not_computed_for_taps(tmp_path: Path) -> None:
    def program(x: Any, count: Any) -> Any:
        y, unused = x, x
        for _ in tf.range(count):
            y = tf.sin(y, name="sine")
            unused = tf.sqrt(unused, name="unused")
        return y, y

    lengths = [20] * 3
    assert run(program, lengths, tmp_path / "r", visits=8) == run(program, lengths, None)
    names = {row.name for row in Dumped(tmp_path / "r").rows}
    assert "while/sine:0" in names
    assert "while/unused:0" not in names


def test_the_condition_of_a_loop_that_raises_has_the_iterations_of_its_body(tmp_path: Path) -> None:
    function = tf.function(failing)
    with Tap(tmp_path / "r", Watch(steps=1, keep="value", visits=5)) as tap:
        for step, length in enumerate([20, 21, 20]):
            with suppress(tf.errors.InvalidArgumentError), tap.step(step):
                function(tf.constant(0.5), tf.constant(length))
    dumped = Dumped(tmp_path / "r")
    found = [(row.step, row.visit, row.value) for row in dumped.rows if row.name == "while/thousands:0"]
    assert {step for step, _, _ in found} == {0, 1, 2}
    for _, visit, value in found:
        assert value == 1000 * visit


def test_a_nan_of_a_skipped_iteration_is_not_ascribed_to_the_next_captured_one(tmp_path: Path) -> None:
    @tf.function
    def function(bad: Any) -> Any:
        x = tf.constant(0.5)
        for i in tf.range(20):
            x = tf.sin(x, name="sine") + tf.math.log(tf.cast(i != bad, tf.float32)) * 0.0
        return x

    with Tap(tmp_path / "r", Watch(steps=1, visits=5)) as tap:
        for step, bad in enumerate([-1, 5]):
            with tap.step(step):
                function(tf.constant(bad))
    log = LogIndex(tmp_path)
    log.refresh()
    report = nan_report(log.runs[0])
    assert report.step == 1
    assert report.origins[0].node == "while/sine"
    assert report.origins[0].verdict == "suspected"
    assert any("Watch(visits=None)" in note for note in report.notes)


def test_each_iteration_is_captured_where_a_watch_needs_it(tmp_path: Path) -> None:
    run(branching, [20] * 3, tmp_path / "r", visits=None)
    assert visits(Dumped(tmp_path / "r"), 2, "while/sine:0") == list(range(20))


def test_the_first_and_the_last_iteration_are_captured_of_two(tmp_path: Path) -> None:
    lengths = [20] * 3
    assert run(branching, lengths, tmp_path / "r", visits=2) == run(branching, lengths, None)
    dumped = Dumped(tmp_path / "r")
    assert visits(dumped, 2, "while/sine:0") == visits(dumped, 0, "while/sine:0") == [0, 19]


def test_nested_loops_are_captured_as_before(tmp_path: Path) -> None:
    def nested(x: Any, count: Any) -> Any:
        for _ in tf.range(count):
            for _ in tf.range(3):
                x = tf.sin(x, name="sine")
        return x, x

    run(nested, [4] * 3, tmp_path / "r", visits=4)
    dumped = Dumped(tmp_path / "r")
    (name,) = {row.name for row in dumped.rows if row.name.endswith("sine:0")}
    assert visits(dumped, 0, name) == visits(dumped, 2, name)


@pytest.mark.parametrize("budget", [2, 3, 8])
@pytest.mark.parametrize("length", range(1, 70))
def test_the_runs_of_a_stride(length: int, budget: int) -> None:
    stride = LoopStride(f"stride_{length}_{budget}")
    stride.open()
    stride.begin(budget)
    assert stride.captures_all
    stride.counter._set(length)
    stride.end()
    stride.begin(budget)
    interval = stride._plan[0]
    runs = [number for number in range(length) if number % interval == 0 or number == length - 1]
    assert [stride.iteration(run) for run in range(len(runs))] == runs
    assert len(runs) <= budget or interval == 1
    assert stride.iteration(len(runs)) >= length
    stride.destroy()


def test_a_loop_with_many_variables_is_looked_into_once(monkeypatch: pytest.MonkeyPatch) -> None:
    @tf.function
    def sums(x: Any) -> Any:
        return tf.while_loop(lambda *x: x[0] < 9.0, lambda *x: [each + 1.0 for each in x], [x] * 30)

    root = sums.get_concrete_function(tf.TensorSpec([])).name.decode()
    functions, found = closure(root), list[set[int]]()
    original = liveness.Livenesses._needed_variables
    monkeypatch.setattr(
        liveness.Livenesses, "_needed_variables", lambda *args: found.append(original(*args)) or found[-1]
    )
    live = liveness.Livenesses(functions).of(root).live
    assert [len(variables) for variables in found] == [30]
    assert live.keys() >= {
        node.name for node in functions[root].definition.node_def if node.op == "StatelessWhile"
    }


def test_each_result_of_nested_loops_is_followed_to_its_arguments_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN loops in loops with many variables, and their gradient THEN the work does not grow with each
    level."""

    def turning(x: Any, count: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            turned = [x + float(number) for number in range(8)]
            for _ in tf.range(count):
                for _ in tf.range(count):
                    for _ in tf.range(count):
                        turned = [tf.sin(a) * b for a, b in zip(turned, turned[1:] + turned[:1], strict=True)]
            total = tf.add_n(turned)
        return tape.gradient(total, x)

    followed: list[object] = []
    behind = SummedTerms.behind
    monkeypatch.setattr(SummedTerms, "behind", lambda *args: followed.append(args) or behind(*args))
    with Tap(tmp_path / "r", Watch(steps=1)) as tap:
        function = tf.function(turning)
        with tap.step():
            function(tf.constant(0.5), tf.constant(2))
    assert 0 < len(followed) < 5_000  # 771; 41,060 without a cache
