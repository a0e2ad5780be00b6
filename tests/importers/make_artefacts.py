"""Makes one of everything that is imported, with the programs themselves; runs as a process of its own.

    python make_artefacts.py FOLDER

`expected.npz` holds the values that must come back.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "0"

import keras
import numpy as np
import safetensors.numpy
import tensorflow as tf

MODES = ("NO_TENSOR", "CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "SHAPE", "FULL_TENSOR")
X = np.array([[1, -2, 0], [np.nan, np.inf, 4]], np.float32)
W = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


class Toy(tf.Module):
    """A matrix, a loop and a branch: what control flow makes of names shows."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(W, name="w")
        self.steps = tf.Variable(0, dtype=tf.int64, name="steps")

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def run(self, x: Any) -> Any:
        y = tf.nn.relu(tf.matmul(x, self.w, name="product"), name="positive")
        top, _ = tf.math.top_k(y, 2, name="top")
        total = tf.constant(0.0)
        for i in tf.range(3):
            total += tf.cast(i, tf.float32, name="counted")
        return tf.reduce_sum(top) + total


def tfdbg2(folder: Path) -> None:
    for mode in MODES:
        writer = tf.debugging.experimental.enable_dump_debug_info(
            str(folder / mode.lower()), tensor_debug_mode=mode, circular_buffer_size=-1
        )
        toy = Toy()
        toy.run(tf.constant(X))
        toy.run(tf.constant(X[:1]))
        tf.abs(tf.constant(X))
        tf.strings.join(["a", "b"])
        writer.FlushNonExecutionFiles()
        writer.FlushExecutionFiles()
        tf.debugging.experimental.disable_dump_debug_info()
    writer = tf.debugging.experimental.enable_dump_debug_info(
        str(folder / "eager"), tensor_debug_mode="FULL_TENSOR", circular_buffer_size=-1
    )
    for number in range(3):
        tf.square(tf.constant([float(number), 2.0]))
    writer.FlushNonExecutionFiles()
    writer.FlushExecutionFiles()
    tf.debugging.experimental.disable_dump_debug_info()


def tfdbg1(folder: Path) -> None:
    from tensorflow.python.debug.wrappers import dumping_wrapper, framework

    for name, debug_op in (("values", "DebugIdentity"), ("numeric", "DebugNumericSummary")):
        with tf.Graph().as_default():
            x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
            w = tf.compat.v1.get_variable("w", initializer=tf.constant(W), use_resource=False)
            y = tf.nn.relu(tf.matmul(x, w, name="layer/product"), name="layer/positive")
            start = [tf.constant(0)]
            i = tf.compat.v1.while_loop(lambda i: i < 3, lambda i: tf.add(i, 1, name="next"), start)
            session = tf.compat.v1.Session()
            session.run(tf.compat.v1.global_variables_initializer())

            def watch(fetches: Any, feeds: Any, debug_op: str = debug_op) -> Any:
                return framework.WatchOptions(debug_ops=[debug_op], node_name_regex_allowlist=None)

            (folder / name).mkdir(parents=True)
            wrapped = dumping_wrapper.DumpingDebugWrapperSession(session, str(folder / name), watch_fn=watch)
            for _ in range(2):
                wrapped.run([y, i], {x: X})


def event_files(folder: Path) -> None:
    writer = tf.summary.create_file_writer(str(folder / "v2" / "train"))
    with writer.as_default():
        for step in range(3):
            tf.summary.histogram("weights", W * (step + 1), step=step)
            tf.summary.scalar("loss", 1.0 / (step + 1), step=step)
        tf.summary.text("words", "hello", step=0)
        tf.summary.image("picture", np.zeros((1, 2, 2, 3), np.float32), step=0)
        tf.summary.write("any/tensor", tf.constant(W), step=7)
        toy = Toy()  # functions hold their object weakly
        tf.summary.graph(toy.run.get_concrete_function().graph)
    writer.close()
    with tf.summary.create_file_writer(str(folder / "v2" / "validation")).as_default():
        tf.summary.scalar("loss", 3.0, step=1)
        tf.summary.trace_on(graph=True)
        toy.run(X)
        tf.summary.trace_export("traced", step=1)
    with tf.Graph().as_default() as graph:
        data = tf.constant(W, name="data")
        tf.compat.v1.summary.histogram("old", data)
        tf.compat.v1.summary.scalar("mean", tf.reduce_mean(data))
        merged = tf.compat.v1.summary.merge_all()
        with tf.compat.v1.Session() as session:
            old = tf.compat.v1.summary.FileWriter(str(folder / "v1"), graph)
            old.add_summary(session.run(merged), 5)
            old.close()


def checkpoints(folder: Path) -> None:
    toy = Toy()
    half = tf.Variable(tf.constant([1.5, 2.5], tf.bfloat16))
    text = tf.Variable(["a", "longer"])
    checkpoint = tf.train.Checkpoint(toy=toy, half=half, text=text)
    for step in (10, 20):
        toy.steps.assign(step)
        checkpoint.write(str(folder / "tf2" / f"ckpt-{step}"))
    with tf.Graph().as_default():
        tf.compat.v1.get_variable("layer/w", initializer=tf.constant(W))
        halves = tf.compat.v1.fixed_size_partitioner(2)
        parts = tf.convert_to_tensor(tf.compat.v1.get_variable("parts", [5, 2], partitioner=halves))
        (folder / "tf1").mkdir(parents=True)
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            tf.compat.v1.train.Saver().save(session, str(folder / "tf1" / "model.ckpt"), global_step=100)
            np.save(folder / "parts.npy", session.run(parts))
    policy = tf.train.experimental.MaxShardSizePolicy(max_shard_size=1000)
    options = tf.train.CheckpointOptions(experimental_sharding_callback=policy)
    wide = tf.Variable(np.arange(1200, dtype=np.float32).reshape(300, 4))
    tf.train.Checkpoint(wide=wide).write(str(folder / "sliced" / "ckpt-1"), options)


def keras_models(folder: Path) -> None:
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, name="hidden"), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    folder.mkdir()
    model.save(folder / "model.keras")
    model.save_weights(folder / "model.weights.h5")
    model.save(folder / "whole.h5")
    (folder / "shards").mkdir()
    model.save_weights(folder / "shards" / "m.weights.json", max_shard_size=1e-7)
    np.save(folder / "hidden.npy", model.layers[0].kernel.numpy())
    half = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, name="half", dtype="bfloat16")])
    half.save_weights(folder / "half.weights.h5")


def graphs(folder: Path) -> None:
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    toy = Toy()
    tf.saved_model.save(toy, str(folder / "saved"))
    frozen = convert_variables_to_constants_v2(toy.run.get_concrete_function(), lower_control_flow=False)
    (folder / "frozen.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())


def arrays(folder: Path) -> None:
    folder.mkdir()
    np.save(folder / "one.npy", np.asfortranarray(W))
    np.savez_compressed(folder / "many.npz", w=W, text=np.array(["a", "bc"]), scalar=np.float64(3))
    np.save(folder / "objects.npy", np.array([{}, []], object), allow_pickle=True)
    safetensors.numpy.save_file({"w": W, "ids": np.arange(4)}, folder / "all.safetensors")
    shards = folder / "shards"
    shards.mkdir()
    for number, name in enumerate(("w", "v")):
        shard = shards / f"model-0000{number + 1}-of-00002.safetensors"
        safetensors.numpy.save_file({name: W + number}, shard)
    (shards / "model.safetensors.index.json").write_text(
        '{"weight_map": {"w": "model-00001-of-00002.safetensors", "v": "model-00002-of-00002.safetensors"}}'
    )
    for step in (0, 5):
        below = folder / "named" / f"step_{step}" / "dense"
        below.mkdir(parents=True)
        np.save(below / "kernel.npy", W * step)
        np.save(folder / "named" / f"loss@{step}.npy", np.float32(step))
        (folder / "steps").mkdir(exist_ok=True)
        np.savez(folder / "steps" / f"state-{step}.npz", w=W * step)


def op_outputs(path: Path) -> None:
    """What `tensortap/importers/tf_formats/ops.txt` must be: op types and their outputs."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    from tensortap.tfproto.tensor_proto import data_type_name

    def default(op: Any, name: str) -> str:
        attribute = next(found for found in op.attr if found.name == name)
        known = attribute.HasField("default_value")
        return f"/{data_type_name(attribute.default_value.type)}" if known else ""

    def kind(op: Any, output: Any) -> str:
        if output.type_list_attr:
            return f"[{output.type_list_attr}"
        attribute = output.type_attr
        one = attribute + default(op, attribute) if attribute else f"={data_type_name(output.type)}"
        return f"{output.number_attr}*{one}" if output.number_attr else one

    ops = op_def_pb2.OpList()
    ops.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    lines = []
    for op in sorted(ops.op, key=lambda op: op.name):
        lines.append(" ".join([op.name, *(f"{out.name}:{kind(op, out)}" for out in op.output_arg)]))
    path.write_text("\n".join(lines) + "\n")


def main(folder: Path) -> None:
    op_outputs(folder / "ops.txt")  # first: some of what follows registers ops
    np.savez(folder / "expected.npz", x=X, w=W, product=X @ W)
    arrays(folder / "arrays")
    keras_models(folder / "keras")
    graphs(folder / "graphs")
    checkpoints(folder / "checkpoints")
    event_files(folder / "events")
    tfdbg1(folder / "tfdbg1")
    tfdbg2(folder / "tfdbg2")  # last: it stays in the process's callbacks


if __name__ == "__main__":
    main(Path(sys.argv[1]))
