"""`tap.session()`: version 1 graphs, loops and branches."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.errors import TapWarning
from tensortap.capture.pipeline.batch_writer import BatchWriter
from tensortap.capture.tap import Tap
from tensortap.capture.tap_watches import TapWatches
from tensortap.capture.watching.selection import StepWatches
from tensortap.capture.watching.step_budget import StepBudget
from tensortap.capture.watching.watch import Watch

tf1 = tf.compat.v1
ALL = Watch(steps=1, keep="value")
X = np.random.default_rng(0).standard_normal((4, 5, 2)).astype(np.float32)


@pytest.fixture(autouse=True)
def _version_1_control_flow() -> Iterator[None]:
    tf1.disable_control_flow_v2()
    yield
    tf1.enable_control_flow_v2()


def direction(name: str, x: Any, weight: Any, reverse: bool) -> Any:
    """One direction of a recurrent network over [batch, 5, 2]: all states, [batch, 5, 3]."""
    with tf1.name_scope(name):
        x = tf.reverse(x, [1]) if reverse else x
        rows = tf.TensorArray(tf.float32, 5).unstack(tf.transpose(x, [1, 0, 2]))

        def body(time: Any, state: Any, states: Any) -> Any:
            state = tf.tanh(tf.matmul(tf.concat([rows.read(time), state], 1), weight), name="state")
            return time + 1, state, states.write(time, state)

        start = tf.zeros([tf.shape(x)[0], 3])
        loop = [0, start, tf.TensorArray(tf.float32, 5)]
        _, _, states = tf1.while_loop(lambda time, *_: time < 5, body, loop)
        out = tf.transpose(states.stack(), [1, 0, 2])
        return tf.reverse(out, [1]) if reverse else out


@pytest.fixture(scope="module")
def network() -> Any:
    """A bidirectional recurrent network with an optimizer, of single ops."""
    tf1.disable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 5, 2], name="x")
        weights = [
            tf1.get_variable(name, [5, 3], initializer=tf1.glorot_uniform_initializer(1), use_resource=True)
            for name in ("forward_weight", "backward_weight")
        ]
        with tf1.name_scope("bidirectional_rnn"):
            both = [direction("fw", x, weights[0], False), direction("bw", x, weights[1], True)]
        loss = tf.reduce_mean(tf.square(tf.concat(both, 2, name="out")), name="loss")
        tf1.train.AdamOptimizer(0.01).minimize(loss, name="train")
        tf1.global_variables_initializer()
    return graph


def test_a_bidirectional_network_is_captured_and_trains_bit_by_bit_the_same(
    network: Any, tmp_path: Path
) -> None:
    def trained(tap: Tap | None) -> list[Any]:
        with tf1.Session(graph=network) as session:
            session.run("init")
            run = session.run if tap is None else tap.session(session).run
            losses = [run(["loss:0", "train"], {"x:0": X})[0] for _ in range(5)]
            weights = session.run([f"{way}_weight/Read/ReadVariableOp:0" for way in ("forward", "backward")])
        return [losses, *(weight.tobytes() for weight in weights)]

    with Tap(tmp_path / "r", Watch(steps=2, keep="value")) as tap:
        assert trained(tap) == trained(None)

    dumped = Dumped(tmp_path / "r")
    assert dumped.steps == [0, 2, 4]
    np.testing.assert_array_equal(dumped.value("x:0", 2), X)
    states = {
        way: [row.value for row in dumped.at(f"bidirectional_rnn/{way}/while/state:0", 2)]
        for way in ("fw", "bw")
    }
    together = [np.stack(states["fw"], 1), np.stack(states["bw"][::-1], 1)]
    np.testing.assert_array_equal(dumped.value("out:0", 2), np.concatenate(together, 2))
    kinds = {
        (node.attributes["tensortap.kind"], node.attributes["tensortap.variable"])
        for node in dumped.graph().nodes
        if "tensortap.variable" in node.attributes
    }
    assert kinds >= {("gradient", "forward_weight"), ("gradient", "backward_weight")}
    assert dumped.graph().name == "session loss, train"


def test_nested_loops_and_branches(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")

        def inner(j: Any, total: Any) -> Any:
            return j + 1, tf.add(total, tf.cast(j, tf.float32), name="sum")

        def outer(i: Any, value: Any) -> Any:
            doubled = tf.multiply(value, 2.0, name="doubled")
            up, down = lambda: tf.add(doubled, 1.0, name="up"), lambda: tf.subtract(doubled, 1.0, name="down")
            either = tf1.cond(tf.equal(i % 2, 0), up, down)
            _, total = tf1.while_loop(lambda j, _: j <= i, inner, [0, tf.constant(0.0)], name="inner")
            return i + 1, either + total

        _, end = tf1.while_loop(lambda i, _: i < 4, outer, [0, x], name="outer")
        tf.negative(end, name="end")

    with Tap(tmp_path / "r", ALL) as tap, tf1.Session(graph=graph) as session:
        assert tap.session(session).run("end:0", {x: 1.0}) == -37.0

    dumped = Dumped(tmp_path / "r")

    def values(name: str, *visits: int) -> list[float]:
        rows = dumped.at(name)
        assert [row.visit for row in rows] == list(visits or range(len(rows)))
        return [float(row.value) for row in rows]

    assert values("outer/doubled:0") == [2.0, 6.0, 12.0, 32.0]
    assert values("outer/cond/up:0", 0, 2) == [3.0, 13.0]
    assert values("outer/cond/down:0", 1, 3) == [5.0, 31.0]
    assert values("outer/inner/sum:0") == [0.0, 0.0, 1.0, 0.0, 1.0, 3.0, 0.0, 1.0, 3.0, 6.0]
    assert values("outer/Less:0") == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert values("end:0") == [-37.0]


def test_visits_of_branches_in_nested_loops_are_iterations(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.int32, [], name="x")

        def inner(j: Any, total: Any) -> Any:
            odd = tf.equal((x + total) % 2, 1, name="odd")
            more = tf1.cond(odd, lambda: tf.add(total, 1, name="one"), lambda: tf.add(total, 3, name="three"))
            big = tf1.cond(more > 1000, lambda: tf.negative(more, name="never"), lambda: more)
            return j + 1, big + j

        def outer(i: Any, total: Any) -> Any:
            return i + 1, tf1.while_loop(lambda j, _: j < i, inner, [0, total], name="inner")[1]

        _, end = tf1.while_loop(lambda i, _: i < 4, outer, [0, 0], name="outer")
        tf.negative(end, name="end")

    def plain(x: int) -> Iterator[tuple[str, int]]:
        total = 0
        for i in range(4):
            for j in range(i):
                odd = (x + total) % 2 == 1
                total += 1 if odd else 3
                yield "one" if odd else "three", total
                total += j

    with Tap(tmp_path / "r", ALL) as tap, tf1.Session(graph=graph) as session, tap.step(5):
        run = tap.session(session).run
        assert [run("end:0", {x: fed}) for fed in (0, 1)] == [-16, -16]

    ran = [*plain(0), *plain(1)]
    dumped = Dumped(tmp_path / "r")
    for branch in ("one", "three"):
        (name,) = {row.name for row in dumped.rows if row.name.endswith(f"/{branch}:0")}
        seen = [(row.visit, int(row.value)) for row in dumped.at(name, 5)]
        assert seen == [(visit, value) for visit, (taken, value) in enumerate(ran) if taken == branch]


def test_a_branch_outside_of_loops(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        either = tf1.cond(x > 0.0, lambda: tf.multiply(x, 2.0, name="twice"), lambda: x, name="cond")
        tf.negative(either, name="end")

    with Tap(tmp_path / "r", ALL) as tap, tf1.Session(graph=graph) as session:
        assert tap.session(session).run("end:0", {x: 3.0}) == -6.0

    assert not [warning for warning in recwarn if issubclass(warning.category, TapWarning)]
    dumped = Dumped(tmp_path / "r")
    assert (dumped.value("cond/twice:0"), dumped.value("end:0")) == (6.0, -6.0)


def test_what_the_gradient_of_a_branch_reads_is_captured_if_the_branch_runs(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        y = x * 2.0
        either = tf1.cond(tf.reduce_sum(x) > 0.0, lambda: tf.reduce_mean(y, 0), lambda: y[0], name="cond")
        (gradient,) = tf.gradients(tf.reduce_sum(either), x)

    with Tap(tmp_path / "r", ALL) as tap, tf1.Session(graph=graph) as raw:
        session = tap.session(raw)
        assert session.run(gradient, {x: np.ones([4, 2])}).tolist() == [[0.5, 0.5]] * 4
        assert session.run(gradient, {x: -np.ones([2, 2])}).tolist() == [[2.0, 2.0], [0.0, 0.0]]

    shapes = [row for row in Dumped(tmp_path / "r").rows if row.node.endswith("cond/Mean_grad/Shape")]
    assert [(row.step, row.value.tolist()) for row in shapes] == [(0, [4, 2])]


def test_fetches_and_feeds_of_all_kinds(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        sparse = tf1.sparse_placeholder(tf.float32, name="sparse")
        dense = tf.sparse.to_dense(sparse, name="dense")
        text = tf.strings.as_string(dense, name="text", precision=1)
        half = tf.multiply(dense, 0.5, name="half")
        tf.add(half, 1.0, name="more")

    with Tap(tmp_path / "r", ALL) as tap, tap.session(tf1.Session(graph=graph)) as session:
        fed = tf1.SparseTensorValue([[0, 1]], [2.0], [1, 2])
        got = session.run({"all": [text, (dense, sparse)]}, {sparse: fed})
        with tap.step(7):
            assert session.run("more:0", {half: [[5.0]]}) == [[6.0]]
            session.run("more:0", {half: [[6.0]]})
        with pytest.raises(ValueError, match="nowhere"):
            session.run("nowhere:0")
        assert session.graph is graph

    assert got["all"][0].tolist() == [[b"0.0", b"2.0"]]
    np.testing.assert_array_equal(got["all"][1][0], [[0.0, 2.0]])
    dumped = Dumped(tmp_path / "r")
    np.testing.assert_array_equal(dumped.value("sparse/values:0", 0), [2.0])
    np.testing.assert_array_equal(dumped.value("dense:0", 0), [[0.0, 2.0]])
    assert [(row.visit, row.value.item()) for row in dumped.at("half:0", 7)] == [(0, 5.0), (1, 6.0)]
    assert not dumped.at("dense:0", 7)


def test_steps_go_on_in_the_next_session(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:
        for _ in range(2):  # as after a restart from a checkpoint
            with tf.Graph().as_default() as graph:
                end = tf.negative(tf1.placeholder(tf.float32, [], name="x"), name="end")
            with tf1.Session(graph=graph) as session:
                run = tap.session(session).run
                for value in (1.0, 2.0):
                    run(end, {"x:0": value})
        with tap.step(7), tf1.Session(graph=graph) as session:
            tap.session(session).run(end, {"x:0": 3.0})
    assert [(row.step, row.visit) for row in Dumped(tmp_path / "r").at("end:0")] == [
        (0, 0),
        (1, 0),
        (2, 0),
        (3, 0),
        (7, 0),
    ]


def test_a_monitored_session(network: Any, tmp_path: Path) -> None:
    losses: list[float] = []

    class Hook(tf1.train.SessionRunHook):  # type: ignore[misc]
        def before_run(self, run_context: Any) -> Any:
            return tf1.train.SessionRunArgs("loss:0")

        def after_run(self, run_context: Any, run_values: Any) -> None:
            losses.append(float(run_values.results))

    with (
        network.as_default(),
        tf1.train.MonitoredSession(hooks=[Hook()]) as monitored,
        Tap(tmp_path / "r", ALL) as tap,
    ):
        session = tap.session(monitored)
        assert not session.should_stop()
        session.run(["loss:0", "train"], {"x:0": X})

    dumped = Dumped(tmp_path / "r")
    assert float(dumped.value("loss:0")) == losses[0]
    assert len(dumped.at("bidirectional_rnn/fw/while/state:0")) == 5


def test_arrays_of_the_program_may_be_used_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [64], name="x")
        tf.reshape(tf.identity(x, name="y"), [8, 8], name="z")
    written = threading.Event()
    wait = BatchWriter.prepare
    monkeypatch.setattr(BatchWriter, "prepare", lambda writer: (wait(writer), written.wait(60)))

    with Tap(tmp_path / "r", ALL) as tap, tf1.Session(graph=graph) as session:
        memory = np.zeros(64 + 16, np.float32)
        aligned = memory[-memory.ctypes.data % 64 // 4 :][:64]  # TensorFlow takes such memory as it is
        run = tap.session(session).run
        for step in range(3):
            aligned[:] = step
            got = run({"y": "y:0", "z": "z:0"}, {x: aligned})["z"]
            got[:] = -1.0
        written.set()

    dumped = Dumped(tmp_path / "r")
    for name in ("x:0", "y:0", "z:0"):
        assert [row.value.flat[0] for row in dumped.at(name)] == [0.0, 1.0, 2.0], name


def test_a_run_that_fails_by_itself_is_made_once(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    class Refusing(tf1.train.SessionRunHook):  # type: ignore[misc]
        def after_run(self, run_context: Any, run_values: Any) -> None:
            raise ValueError("no good loss")

    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        count = tf1.get_variable("count", initializer=0.0, use_resource=True)
        more, now = count.assign_add(tf.reduce_sum(x), read_value=True), count.read_value()
        with (
            Tap(tmp_path / "r", ALL) as tap,
            tf1.train.MonitoredSession(hooks=[Refusing()]) as monitored,
            pytest.raises(ValueError, match="no good loss"),
        ):
            tap.session(monitored).run(more, {x: [1.0, 1.0]})
        with tf1.Session(graph=graph) as session, Tap(tmp_path / "s", ALL) as tap:
            session.run(count.initializer)
            tapped = tap.session(session)
            with pytest.raises(ValueError, match="Cannot feed value of shape"):
                tapped.run(more, {x: [1.0]})
            tapped.run(more, {x: [1.0, 1.0]})
            assert session.run(now) == 2.0

    assert not [warning for warning in recwarn if issubclass(warning.category, TapWarning)]
    assert Dumped(tmp_path / "s").at("Sum:0")


def test_what_is_not_seen_is_reported(network: Any, tmp_path: Path) -> None:
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(network.as_graph_def(), name="")
    tf1.enable_control_flow_v2()
    with tf.Graph().as_default() as functional:
        tf.identity(tf1.while_loop(lambda i: i < 3, lambda i: (i + 1,), [0]), name="end")

    tap = Tap(tmp_path / "r", ALL)
    with tf1.Session(graph=imported) as session:
        session.run("init")
        with pytest.warns(TapWarning, match="which loop or branch they belong to"):
            tap.session(session).run("loss:0", {"x:0": X})
    with (
        tf1.Session(graph=functional) as session,
        pytest.warns(TapWarning, match="functions called by"),
    ):
        assert tap.session(session).run("end:0") == 3
    tap.close()

    exact = Tap(tmp_path / "exact", ALL, exact=True)
    with (
        tf1.Session(graph=functional) as session,
        pytest.warns(TapWarning, match="session state cannot be copied"),
    ):
        exact.session(session).run("end:0")
    exact.close()
    assert Dumped(tmp_path / "r").value("x:0", 0).shape == (4, 5, 2)


def test_cryptic_names_are_explained(network: Any, tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap, tf1.Session(graph=network) as session:
        session.run("init")
        tap.session(session).run("loss:0", {"x:0": X})
    node = Dumped(tmp_path / "r").node("bw/while/Exit_2")
    text = "bidirectional_rnn/bw · loop variable 2 after the last iteration"
    assert node.attributes["tensortap.meaning"] == text


def test_sizes_and_samples_of_a_watch_hold_in_sessions(tmp_path: Path) -> None:
    """The size of a tensor is known only when it comes."""
    with tf1.Graph().as_default() as graph:
        tf.identity(tf1.placeholder(tf.float32, [None], name="x"), name="y")
    watch = Watch("y", steps=1, keep="value", min_size=3, sample=4)
    with Tap(tmp_path / "r", watch) as tap, tf1.Session(graph=graph) as session:
        for count in (8, 2):
            tap.session(session).run("y:0", {"x:0": np.arange(count)})
    dumped = Dumped(tmp_path / "r")
    assert [(row.name, row.step, row.size) for row in dumped.rows] == [("y:0", 0, 8)]
    assert dumped.value("y:0", 0).tolist() == [0.0, 2.0, 4.0, 6.0]


def test_what_the_optimiser_merges_is_captured_and_stays_merged(tmp_path: Path) -> None:
    """Products with constants become one, and round once, unless the first is read."""
    with tf.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [None], name="x")
        scaled = tf.multiply(tf.multiply(x, 0.1, name="first"), 0.7, name="second")
        total = tf.reduce_sum(tf.multiply(tf.tanh(scaled), 3.0, name="third") + scaled, name="total")
        feed = {x: np.linspace(-3.0, 3.0, 1001, dtype=np.float32)}
        plain = session.run([total, scaled], feed)
        with Tap(tmp_path / "r", Watch(steps=1, keep="value")) as tap:
            tapped = tap.session(session)
            for _ in range(2):
                for got, expected in zip(tapped.run([total, scaled], feed), plain, strict=True):
                    np.testing.assert_array_equal(got, expected)
            assert tapped.run(total, feed) == session.run(total, feed)
    dumped = Dumped(tmp_path / "r")
    np.testing.assert_array_equal(dumped.value("first:0", 1), feed[x] * np.float32(0.1))
    names = {node.name for graph in dumped.graphs() for node in graph.nodes}
    assert names >= {"first", "second"} and not any(name.startswith("tensortap") for name in names)


def test_optimisers_that_are_switched_off_need_no_duplicates(tmp_path: Path) -> None:
    config = tf1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Graph().as_default() as graph, tf1.Session(config=config) as session:
        end = (tf.constant([0.5]) * 0.1) * 0.7
        with Tap(tmp_path / "r", ALL) as tap:
            tap.session(session).run(end)
    assert not any("duplicate" in operation.name for operation in graph.get_operations())


def test_kinds_that_the_budget_chose_are_not_reported(
    network: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a tap that its budget reduces to tensors with a role WHEN a session runs THEN nobody asked for
    these kinds."""

    def reduced(watches: TapWatches, budget: StepBudget, written: tuple[Watch, ...]) -> StepWatches:
        return StepWatches(tuple(filter(None, (watch.of_roles() for watch in written))), only_roles=True)

    monkeypatch.setattr(TapWatches, "_within", reduced)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        tap = Tap(tmp_path / "r", Watch(steps=1), budget=0.1)
        with tf1.Session(graph=network) as session:
            session.run("init")
            tap.session(session).run(["loss:0", "train"], {"x:0": X})
        tap.close()
    assert not [each for each in warned if "selects nothing" in str(each.message)]


def test_kinds_that_a_session_does_not_know_are_reported(network: Any, tmp_path: Path) -> None:
    watch = Watch(kinds=["loss", "gradients of dense", "gradient"], steps=1)
    unknown = r"session kinds='loss', 'gradients of dense' selects nothing: .* input, weight, gradient,"
    with tf1.Session(graph=network) as session, Tap(tmp_path / "r", watch) as tap:
        session.run("init")
        with pytest.warns(TapWarning, match=unknown):
            tap.session(session).run(["loss:0", "train"], {"x:0": X})
    dumped = Dumped(tmp_path / "r")
    assert len(dumped.rows) == 2  # the gradients
    (unseen,) = dumped.events("unseen")
    assert "kinds='loss'" in unseen["text"]


def test_a_session_of_which_nothing_is_selected_is_reported(network: Any, tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch(nodes="absent", steps=1))
    with tf1.Session(graph=network) as session:
        tap.session(session).run("init")
    with pytest.warns(TapWarning, match="nothing was captured: .*'absent'.* no tensor in session"):
        tap.close()
