"""Functions that call functions, loops and branches."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.errors import TapWarning
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch

ALL = Watch(steps=1, keep="value")


def values(dumped: Dumped, name: str) -> list[float]:
    return [float(row.value) for row in dumped.at(name)]


def test_iterations_of_a_loop_are_visits_in_order(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def loop(x: Any) -> Any:
            while x < 100.0:
                x = tf.multiply(x, 3.0, name="tripled")
            return x

        assert loop(tf.constant(1.0)) == 243.0

    dumped = Dumped(tmp_path / "r")
    assert values(dumped, "while/tripled:0") == [3.0, 9.0, 27.0, 81.0, 243.0]
    assert [row.visit for row in dumped.at("while/tripled:0")] == [0, 1, 2, 3, 4]
    (compared,) = [node.name for node in dumped.graph().nodes if node.op_type == "Less"]
    assert values(dumped, f"{compared}:0") == [1.0] * 5 + [0.0]
    roles = {function.role for function in dumped.graph().functions.values()}
    assert roles == {"root", "cond", "body"}


def test_the_backward_pass_of_a_loop_is_captured_too(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def loop(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in tf.range(3):
                    y = tf.sin(y)
            return tape.gradient(y, x)

        gradient = loop(tf.constant(0.3))

    dumped = Dumped(tmp_path / "r")
    cosines = [row for row in dumped.rows if row.node.endswith("Cos")]
    assert [row.visit for row in cosines] == [0, 1, 2]
    product = 1.0
    for row in cosines:
        product *= float(row.value)
    assert abs(product - float(gradient)) < 1e-6


def test_only_the_branch_that_runs_is_captured(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def branch(x: Any) -> Any:
            y = tf.cond(x > 0.0, lambda: tf.add(x, 1.0, name="up"), lambda: tf.subtract(x, 1.0, name="down"))
            return tf.switch_case(tf.cast(x, tf.int32), [lambda: y, lambda: tf.negative(y, name="flipped")])

        branch(tf.constant(1.0))
        branch(tf.constant(-1.0))

    dumped = Dumped(tmp_path / "r")
    assert [(row.step, float(row.value)) for row in dumped.at("cond/up:0")] == [(0, 2.0)]
    assert [(row.step, float(row.value)) for row in dumped.at("cond/down:0")] == [(1, -2.0)]
    flipped = [row for row in dumped.rows if row.node.endswith("flipped")]
    assert [(row.step, float(row.value)) for row in flipped] == [(0, -2.0), (1, 2.0)]


def test_visits_of_a_branch_in_a_loop_are_iterations(tmp_path: Path) -> None:
    @tf.function
    def inner(x: Any, i: Any) -> Any:
        return tf.cond(tf.equal(i, 1), lambda: tf.multiply(x, 2.0, name="doubled"), lambda: x)

    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def loop(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for i in tf.range(5):
                    y = tf.add(inner(y, i % 3), 1.0, name="plus")
            return tape.gradient(y, x), y

        with tap.step(0):
            assert loop(tf.constant(1.0))[0] == 4.0
            assert loop(tf.constant(2.0))[0] == 4.0
        with tap.step(3):
            loop(tf.constant(3.0))

    dumped = Dumped(tmp_path / "r")
    plus = {(row.step, row.visit): float(row.value) for row in dumped.rows if row.node.endswith("/plus")}
    assert sorted(plus) == [(0, visit) for visit in range(10)] + [(3, visit) for visit in range(5)]
    doubled = {
        (row.step, row.visit): float(row.value) for row in dumped.rows if row.node.endswith("/doubled")
    }
    assert sorted(doubled) == [(0, 1), (0, 4), (0, 6), (0, 9), (3, 1), (3, 4)]
    assert all(plus[at] == value + 1.0 for at, value in doubled.items())
    # The gradient of a loop runs from its end: iterations 4 and 1 of the forward pass are its visits 0 and 3.
    backward = {row.visit for row in dumped.rows if "doubled_grad" in row.node and row.step == 3}
    assert backward == {0, 3}


def test_calls_of_one_function_are_visits_in_graph_order(tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def heavy(x: Any) -> Any:
        # The first call takes longest, so that without care its tensors would come last.
        return tf.reduce_sum(tf.matmul(x, x, name="square"), name="total")

    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def step(a: Any, b: Any, c: Any) -> Any:
            return heavy(a) + heavy(b) + heavy(c)

        for _ in range(3):
            step(tf.ones([400, 400]), tf.ones([2, 2]), tf.ones([3, 3]))

    dumped = Dumped(tmp_path / "r")
    totals = sorted((row.step, row.visit, float(row.value)) for row in dumped.rows if row.node == "total")
    assert totals == [
        (step, visit, total) for step in range(3) for visit, total in enumerate([64e6, 8.0, 27.0])
    ]


def test_equal_names_in_inner_functions_stay_apart(tmp_path: Path) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return tf.add(x, 1.0, name="sum")

    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def outer(x: Any) -> Any:
            return inner(tf.add(x, 10.0, name="sum"))

        outer(tf.constant(0.0))

    dumped = Dumped(tmp_path / "r")
    assert dumped.value("sum:0") == 10.0
    call = next(node for node in dumped.graph().nodes if "PartitionedCall" in node.op_type)
    assert dumped.value(f"{call.name}/sum:0") == 11.0
    argument = next(
        node for node in dumped.graph().nodes if node.op_type == "_Arg" and node.function == "inner"
    )
    assert list(argument.inputs) == ["sum:0"]
    assert dumped.graph().functions["inner"].caller == call.name


def test_a_long_loop_is_emptied_while_it_runs(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", Watch("while/grown$", steps=1, keep="value", visits=None)) as tap:

        @tap.function
        def loop() -> Any:
            x = tf.zeros([])
            for _ in tf.range(3000):
                x = tf.add(x, 1.0, name="grown")
            return x

        assert loop() == 3000.0

    rows = Dumped(tmp_path / "r").at("while/grown:0")
    assert [row.visit for row in rows] == list(range(3000))
    assert [float(row.value) for row in rows] == [float(number + 1) for number in range(3000)]


def test_a_loop_and_its_tap_do_not_block_each_other(tmp_path: Path) -> None:
    """More bytes than the queue takes, dropped rather than waited for: the loop still ends."""
    watch = Watch("while/grown$", steps=1, visits=None)
    tap = Tap(tmp_path / "r", watch, queue_bytes=1, when_full="drop")

    @tap.function
    def loop() -> Any:
        x = tf.zeros([64])
        for _ in tf.range(2000):
            x = tf.add(x, 1.0, name="grown")
        return x

    started = time.monotonic()
    assert loop()[0] == 2000.0
    assert time.monotonic() - started < 60
    tap.close()
    dumped = Dumped(tmp_path / "r")
    assert len(dumped.rows) + dumped.dropped == 2000


@pytest.mark.parametrize("exact", [False, True])
def test_functions_that_are_called_by_their_names(tmp_path: Path, exact: bool) -> None:
    # ctc_loss scans with functions of TensorFlow's first kind, whose names are the op types of the calls.
    logits = tf.constant([[[0.3, 0.1, 0.6], [0.2, 0.7, 0.1], [0.5, 0.1, 0.4]]])

    def loss(logits: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(logits)
            each = tf.nn.ctc_loss(
                tf.constant([[1, 2]]), logits, [2], [3], logits_time_major=False, blank_index=0
            )
        return each, tape.gradient(each, logits)

    with Tap(tmp_path / "r", ALL, exact=exact) as tap:
        tapped = tap.function(loss)(logits)
    for mine, plain in zip(tapped, tf.function(loss)(logits), strict=True):
        assert (mine.numpy() == plain.numpy()).all()

    dumped = Dumped(tmp_path / "r")
    nodes = {node.name: node for node in dumped.graph().nodes}
    scanned = dumped.at("ReduceLogSumExp/Exp:0")
    assert [row.visit for row in scanned] == [0, 1, 2]  # one a frame
    caller = dumped.graph().functions[nodes[scanned[0].node].function].caller
    assert caller is not None
    assert nodes[caller].op_type == "PartitionedCall"


def test_what_would_change_the_order_of_a_loops_sums_is_not_captured(tmp_path: Path) -> None:
    weight = tf.Variable(tf.ones([2, 2]))

    @tf.function
    def train(x: Any) -> Any:
        def advance(i: Any, x: Any) -> Any:
            a = tf.tanh(x @ weight)
            return i + 1, x + 0.1 * (0.3 * a + tf.tanh((x + 0.1 * a) @ weight))

        with tf.GradientTape() as tape:
            _, end = tf.while_loop(lambda i, _: i < 3, advance, [0, x])
            loss = tf.reduce_sum(end, name="loss")
        return tape.gradient(loss, weight)

    match = r"cannot be captured in-graph .* Use Tap\(exact=True\) to capture them"
    warned = pytest.warns(TapWarning, match=match)
    with warned, Tap(tmp_path / "r", Watch(steps=1)) as tap, tap.step(0):
        train(tf.ones([2, 2]))
    names = {row.name for row in Dumped(tmp_path / "r").rows}
    assert "loss:0" in names
    assert any(name.endswith("Tanh:0") for name in names)
    with Tap(tmp_path / "exact", Watch(steps=1), exact=True) as tap, tap.step(0):
        train(tf.ones([2, 2]))
    assert names < {row.name for row in Dumped(tmp_path / "exact").rows}


def _fails(x: Any, index: Any) -> Any:
    return tf.gather(tf.reshape(x, [1]), index * 7, name="fails")


def _one_loop(x: Any, count: Any) -> Any:
    y, unused = x, x
    for i in tf.range(count):
        y = tf.sin(y, name="sine")
        unused = _fails(unused, i)
    tf.sqrt(unused, name="after")
    return y


def _loop_in_loop(x: Any, count: Any) -> Any:
    y, unused = x, x
    for _ in tf.range(count // 3):
        for j in tf.range(3):
            y = tf.sin(y, name="sine")
            unused = _fails(unused, j)
    return y


def _first_value(x: Any, count: Any) -> Any:
    y, unused = x, _fails(x, count)
    for i in tf.range(count):
        y = tf.sin(y, name="sine")
        unused = _fails(unused, i)
    return y


def _two_loops(x: Any, count: Any) -> Any:
    y, unused = x, x
    for i in tf.range(count - 1):
        y = tf.sin(y, name="sine")
        unused = _fails(unused, i)
    for _ in tf.range(1):
        y = tf.sin(y, name="sine")
        unused = tf.sqrt(unused, name="after")
    return y


@tf.function
def _both(x: Any, count: Any) -> Any:
    y, unused = x, x
    for i in tf.range(count):
        y = tf.sin(y, name="sine")
        unused = _fails(unused, i)
    return y, unused


def _result_of_call(x: Any, count: Any) -> Any:
    y, unused = _both(x, count)
    tf.sqrt(unused, name="after")
    return y


def _first_list(x: Any, count: Any) -> Any:
    shape = tf.reshape(count, [1])  # not that of the rows
    y, unused = x, tf.raw_ops.TensorListFromTensor(tensor=tf.fill([3, 2], x), element_shape=shape)
    for _ in tf.range(count):
        y = tf.sin(y, name="sine")
        unused = tf.raw_ops.TensorListSetItem(input_handle=unused, index=0, item=tf.fill([2], y))
    tf.sqrt(tf.cast(tf.raw_ops.TensorListLength(input_handle=unused), tf.float32), name="after")
    return y


UNUSED = [_one_loop, _loop_in_loop, _first_value, _first_list, _two_loops, _result_of_call]


@pytest.mark.parametrize("visits", [4, None])
@pytest.mark.parametrize("program", UNUSED)
@pytest.mark.filterwarnings("error:.*could not run:tensortap.capture.errors.TapWarning")
def test_variables_that_nothing_needs_do_not_make_a_loop_fail(
    tmp_path: Path, program: Any, visits: int | None
) -> None:
    x, count = tf.constant(0.5), tf.constant(12)
    plain = tf.function(program)(x, count)
    with Tap(tmp_path / "r", Watch(steps=1, keep="value", visits=visits)) as tap:
        function = tf.function(program)
        for _ in range(3):
            with tap.step():
                assert function(x, count).numpy() == plain.numpy()

    dumped = Dumped(tmp_path / "r")
    assert not [row.node for row in dumped.rows if row.node.endswith(("fails", "after"))]
    sines = [row for row in dumped.rows if row.node.endswith("sine")]
    assert {row.step for row in sines} == {0, 1, 2}
    wanted = [x.numpy()]
    for _ in range(12):
        wanted.append(tf.sin(wanted[-1]).numpy())
    assert {row.value.item() for row in sines} <= {float(value) for value in wanted}
