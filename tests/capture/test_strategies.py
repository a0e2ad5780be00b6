"""Distribution strategies: nothing crashes, and every replica's nodes are captured under their own names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dumped import Dumped

PROGRAM = """
import sys, numpy as np, keras, tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from tensortap.capture import Tap, Watch

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
