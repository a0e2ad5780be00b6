"""Distribution strategies: nothing crashes, and every replica's nodes are captured under their own names."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import tensorflow as tf
from dumped import Dumped

import tensortap
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch

PROGRAM = """
import sys, numpy as np, keras, tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(2, name="dense")], name="m")
    model.compile("sgd", "mse", jit_compile=False)
data = tf.data.Dataset.from_tensor_slices((np.ones((16, 3), "f4"), np.ones((16, 2), "f4"))).batch(8)
tap = Tap(sys.argv[1], Watch(steps=1, keep="value"))
model.fit(data, verbose=0, callbacks=[tap.callback()])

@tap.function
def step(x):
    return strategy.run(lambda x: tf.multiply(x, 2.0, name="twice"), args=(x,))

step(tf.constant(1.0))
tap.close()

def trained(callbacks):
    with strategy.scope():
        model.set_weights([np.full((3, 2), 0.1, "f4"), np.zeros(2, "f4")])
    model.fit(data, verbose=0, callbacks=callbacks)
    return [weight.tobytes() for weight in model.get_weights()]

numbers = np.arange(16)
rows = np.repeat(numbers[:, None], 3, 1).astype("f4")
numbered = tf.data.Dataset.from_tensor_slices((rows, np.ones((16, 2), "f4"), numbers))
fed = Tap(sys.argv[1] + "-fed", Watch("dense_1/MatMul$|^Arg|total|IteratorGetNext", steps=1, keep="value"))
batches = numbered.shuffle(16, seed=1).batch(4)
batches = fed.trace_batches(batches, ids=lambda element: element[2], feed=lambda element: element[:2])
model.fit(batches, verbose=0, shuffle=False, callbacks=[fed.callback()])

@fed.function
def own(batch):
    return strategy.run(lambda batch: tf.reduce_sum(batch[0][:, 0], name="total"), args=(batch,))

for number, batch in enumerate(strategy.experimental_distribute_dataset(batches)):
    with fed.step(100 + number):
        own(batch)
fed.close()

exact = Tap(sys.argv[1] + "-exact", Watch(steps=1), exact=True)
in_place = Tap(sys.argv[1] + "-place", Watch(kinds=["output", "gradient", "weight"], steps=1))
for tap in (exact, in_place):
    assert trained([tap.callback()]) == trained([])
    tap.close()
"""


def test_mirrored_strategy(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "r")], check=True, timeout=240)

    dumped = Dumped(tmp_path / "r")
    assert dumped.steps == [0, 1]
    products = {row.node: row for row in dumped.rows if row.node.endswith("dense_1/MatMul") and row.step == 0}
    assert {"replica_1" in name for name in products} == {True, False}
    assert {row.device[-5:] for row in products.values()} == {"CPU:0", "CPU:1"}
    assert all(row.value.shape == (4, 2) for row in products.values())
    assert {float(row.value) for row in dumped.rows if row.node.endswith("twice")} == {2.0}
    replicas = {
        node.name: node.attributes.get("tensortap.replica") for node in dumped.graph("train_step").nodes
    }
    assert {(replicas[name], row.device[-5:]) for name, row in products.items() if name in replicas} == {
        ("0", "CPU:0"),
        ("1", "CPU:1"),
    }
    run = tensortap.open(tmp_path).runs["r"]
    assert {(run.tensor(row.name, step=0).replica, row.device[-5:]) for row in products.values()} == {
        (0, "CPU:0"),
        (1, "CPU:1"),
    }
    logs = dumped.events("logs")
    assert logs
    assert all(set(noted["values"]) == {"loss", "learning_rate"} for noted in logs)
    check_traced_batches(tmp_path)
    exact = Dumped(tmp_path / "r-exact")
    assert {graph.way for graph in exact.graphs()} == {"shadow"}
    assert {row.device[-5:] for row in exact.rows} >= {"CPU:0", "CPU:1"}


def test_a_strategy_runs_a_tapped_function_as_one_step(tmp_path: Path) -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with Tap(tmp_path / "r", Watch(steps=1, keep="value")) as tap:
        double = tap.function(lambda x: tf.multiply(x, 2.0, name="twice"))
        for step in range(2):
            assert strategy.run(double, args=(tf.constant(float(step)),)) == 2.0 * step
    dumped = Dumped(tmp_path / "r")
    assert [dumped.value("twice:0", step) for step in range(2)] == [0.0, 2.0]


def check_traced_batches(logdir: Path) -> None:
    """A step's batch is that of all replicas together, for `fit` and for a distributed dataset."""
    run = tensortap.open(logdir).runs["r-fed"]
    assert run.steps_of() == [0, 1, 2, 3, 100, 101, 102, 103]
    reported = {step: sorted(map(int, run.batch(step)[0].ids)) for step in run.steps_of()}
    assert sorted(number for step in range(4) for number in reported[step]) == list(range(16))
    totals: dict[int, list[float]] = {}
    for tensor in run.find("total:0$"):
        totals.setdefault(tensor.step, []).append(float(tensor.numpy()))
    assert {step: sum(parts) for step, parts in totals.items()} == {
        step: sum(reported[step]) for step in range(100, 104)
    }
    assert {len(parts) for parts in totals.values()} == {2}


WORKER = """
import json, os, sys
rank = int(sys.argv[2])
os.environ["TF_CONFIG"] = json.dumps(
    {"cluster": {"worker": sys.argv[3:5]}, "task": {"type": "worker", "index": rank}}
)
import keras, numpy as np, tensorflow as tf
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch

strategy = tf.distribute.MultiWorkerMirroredStrategy()
weight = None
with strategy.scope():
    weight = tf.Variable(1.0, name="weight")

def step(x):
    with tf.GradientTape() as tape:
        loss = tf.square(weight * x)
    gradient = tf.identity(tape.gradient(loss, weight), name="own_gradient")
    total = tf.distribute.get_replica_context().all_reduce("sum", gradient)
    weight.assign_sub(0.01 * tf.identity(total, name="total"))

with Tap(sys.argv[1], Watch("own_gradient|total$", steps=1, keep="value")) as tap:
    train = tap.function(lambda x: strategy.run(step, args=(x,)))
    for _ in range(2):
        train(tf.constant(float(rank + 1)))
"""


def test_two_workers_write_side_by_side(tmp_path: Path) -> None:
    ports = []
    for _ in range(2):
        with socket.socket() as free:
            free.bind(("localhost", 0))
            ports.append(f"localhost:{free.getsockname()[1]}")
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path / "r"), str(rank), *ports])
        for rank in range(2)
    ]
    try:
        assert [worker.wait(timeout=240) for worker in workers] == [0, 0]
    finally:
        for worker in workers:
            worker.kill()

    run = tensortap.open(tmp_path).runs["r"]
    assert sorted(worker.rank for worker in run.workers) == [0, 1]
    (graph,) = run.graphs  # of both: their devices are named without the task
    assert len(graph.workers) == 2
    grid = run.by_worker("total")
    assert (grid.rank, grid.differing.tolist()) == ([0, 1], [0, 0])
    assert run.by_worker("own_gradient", steps=0).value.tolist() == [[8.0], [2.0]]
    dumped = Dumped(tmp_path / "r")
    gradients = sorted(
        float(row.value) for row in dumped.rows if "own_gradient" in row.node and row.step == 0
    )
    assert gradients == [2.0, 8.0]
    totals = [float(row.value) for row in dumped.rows if row.node.endswith("total") and row.step == 0]
    assert totals == [10.0, 10.0]
