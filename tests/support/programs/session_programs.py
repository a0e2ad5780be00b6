"""Programs of TensorFlow 1: a graph, and a session that runs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from .capturing import Capture, Program, Results, batches, floats, integers

v1 = tf.compat.v1
ROWS = 48


def _trained(capture: Capture, fetches: Any, feeds: Any) -> Results:
    """What `fetches` are in each run, and the variables at the end."""
    with v1.Session(config=v1.ConfigProto(inter_op_parallelism_threads=1)) as session:
        tapped = capture.session(session)
        session.run(v1.global_variables_initializer())
        results = [tapped.run(fetches, feed) for feed in feeds]
        return {"results": results, "variables": session.run(v1.global_variables())}


def session_mlp(capture: Capture) -> Results:
    """A classifier with dropout, decayed learning rate and Adam."""
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        x, y = v1.placeholder(tf.float32, [None, 6]), v1.placeholder(tf.int32, [None])
        first = v1.get_variable("first", [6, 8], initializer=v1.glorot_uniform_initializer())
        last = v1.get_variable("last", [8, 3], initializer=v1.truncated_normal_initializer(stddev=0.5))
        hidden = v1.nn.dropout(tf.nn.gelu(x @ first) * 0.5, rate=0.3)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, hidden @ last))
        step = v1.train.get_or_create_global_step()
        rate = v1.train.exponential_decay(0.05, step, 2, 0.9)
        train = v1.train.AdamOptimizer(rate).minimize(loss, step)
        data = batches(floats(ROWS, 6), integers(3, ROWS))
        return _trained(capture, [train, loss, rate], [{x: a, y: b} for a, b in data])


def session_loop(capture: Capture) -> Results:
    """A recurrent network in a `while_loop`, with gradients through it, clipped; momentum."""
    with tf.Graph().as_default():
        v1.disable_control_flow_v2()
        try:
            v1.set_random_seed(3)
            x = v1.placeholder(tf.float32, [8, 5, 3])
            weight = v1.get_variable("weight", [7, 4])
            last = v1.get_variable("last", [4, 1])

            def body(t: Any, hidden: Any) -> Any:
                hidden = tf.tanh(tf.concat([x[:, t], hidden], 1) @ weight)
                return t + 1, hidden + 0.01 * tf.random.normal([8, 4], seed=4)

            _, hidden = v1.while_loop(lambda t, _: t < 5, body, [0, tf.zeros([8, 4])], parallel_iterations=1)
            hidden = v1.cond(tf.random.uniform([]) < 0.5, lambda: hidden * 0.5, lambda: hidden)
            loss = tf.reduce_mean(tf.square(hidden @ last - 1.0))
            optimizer = v1.train.MomentumOptimizer(0.1, 0.9)
            gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
            gradients, norm = tf.clip_by_global_norm(gradients, 1.0)
            train = optimizer.apply_gradients(zip(gradients, variables, strict=True))
            return _trained(
                capture, [train, loss, norm], [{x: batch} for (batch,) in batches(floats(ROWS, 5, 3))]
            )
        finally:
            v1.enable_control_flow_v2()


def session_word2vec(capture: Capture) -> Results:
    """NCE loss over a table that is updated sparsely, from a dataset of version 1."""
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        pairs = np.stack([integers(20, ROWS), integers(20, ROWS, seed=8)], 1)
        rows = v1.data.Dataset.from_tensor_slices(pairs).shuffle(16, seed=2).batch(8)
        pair = v1.data.make_one_shot_iterator(rows).get_next()
        table = v1.get_variable("table", [20, 4], initializer=v1.random_uniform_initializer(-1.0, 1.0))
        weight, bias = v1.get_variable("weight", [20, 4]), v1.get_variable("bias", [20])
        words = tf.nn.embedding_lookup(table, pair[:, 0])
        loss = tf.reduce_mean(
            v1.nn.nce_loss(weight, bias, tf.cast(pair[:, 1:], tf.int64), words, num_sampled=4, num_classes=20)
        )
        train = v1.train.AdagradOptimizer(0.5).minimize(loss)
        return _trained(capture, [train, loss], [{}] * 6)


def session_batch_norm(capture: Capture) -> Results:
    """Batch normalization whose branch for training is chosen by a placeholder, with gradients through it."""
    with tf.Graph().as_default():
        v1.disable_control_flow_v2()
        try:
            v1.set_random_seed(3)
            x, training = v1.placeholder(tf.float32, [None, 6]), v1.placeholder(tf.bool, [])
            weight = v1.get_variable("weight", [6, 4])
            moving = v1.get_variable("moving", [4], trainable=False, initializer=v1.zeros_initializer())
            hidden = x @ weight
            mean = v1.cond(training, lambda: tf.reduce_mean(hidden, 0), lambda: tf.identity(moving))
            update = v1.assign(moving, 0.9 * moving + 0.1 * mean)
            loss = tf.reduce_mean(tf.square(tf.nn.relu(hidden - mean)))
            with v1.control_dependencies([update]):
                train = v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True).minimize(loss)
            data = enumerate(batches(floats(ROWS, 6)))
            feeds = [{x: batch, training: number % 2 == 0} for number, (batch,) in data]
            return _trained(capture, [train, loss], feeds)
        finally:
            v1.enable_control_flow_v2()


PROGRAMS: list[Program] = [session_mlp, session_loop, session_word2vec, session_batch_norm]
