"""Training loops of one's own, after the guides and tutorials of tensorflow.org."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .capturing import Capture, Program, Results, batches, each_step, floats, integers, state

ROWS = 48  # six batches of eight
STEPS = 6


def clipped_gradients(capture: Capture) -> Results:
    """A `tf.Module` with `tf.nn.dropout`, clipping by global norm, momentum by hand."""
    weights = [tf.Variable(floats(6, 8)), tf.Variable(tf.zeros([8])), tf.Variable(floats(8, 3))]
    momentum = [tf.Variable(tf.zeros_like(weight)) for weight in weights]

    @tf.function
    def train(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            hidden = tf.nn.dropout(tf.nn.relu(x @ weights[0] + weights[1]), 0.3)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, hidden @ weights[2])
            loss = tf.reduce_mean(losses)
        gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, weights), 0.5)
        for weight, average, gradient in zip(weights, momentum, gradients, strict=True):
            average.assign(0.9 * average + gradient)
            weight.assign_sub(0.1 * average)
        return loss, norm

    return {"losses": each_step(capture, train, floats(ROWS, 6), integers(3, ROWS)), "weights": weights}


def dcgan(capture: Capture) -> Results:
    """The tutorial's GAN: two tapes in one function."""
    generator = keras.Sequential(
        [
            layers.Input((5,)),
            layers.Dense(32),
            layers.Reshape((4, 4, 2)),
            layers.Conv2DTranspose(1, 3, 2, "same"),
        ]
    )
    discriminator = keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(4, 3, 2),
            layers.LeakyReLU(),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    optimizers = [keras.optimizers.Adam(1e-2), keras.optimizers.Adam(1e-2)]
    entropy = keras.losses.BinaryCrossentropy(from_logits=True)

    @tf.function
    def train(images: Any) -> Any:
        noise = tf.random.normal([8, 5])
        with tf.GradientTape() as generator_tape, tf.GradientTape() as discriminator_tape:
            real, fake = discriminator(images, training=True), discriminator(generator(noise, training=True))
            losses = (
                entropy(tf.ones_like(fake), fake),
                entropy(tf.ones_like(real), real) + entropy(tf.zeros_like(fake), fake),
            )
        pairs = zip(
            (generator, discriminator), (generator_tape, discriminator_tape), losses, optimizers, strict=True
        )
        for model, tape, loss, optimizer in pairs:
            optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return losses

    losses = each_step(capture, train, floats(ROWS, 8, 8, 1))
    return {"losses": losses, **state(generator, discriminator, *optimizers)}


def gradient_penalty(capture: Capture) -> Results:
    """WGAN-GP: a gradient of a gradient at random points, and a critic that is trained in a Python loop."""
    critic = keras.Sequential([layers.Input((6,)), layers.Dense(8, "tanh"), layers.Dense(1)])
    generator = keras.Sequential([layers.Input((3,)), layers.Dense(6)])
    optimizers = [keras.optimizers.RMSprop(1e-2), keras.optimizers.RMSprop(1e-2)]

    @tf.function
    def train(real: Any) -> Any:
        for _ in range(2):
            with tf.GradientTape() as tape:
                fake = generator(tf.random.normal([8, 3]))
                mixed = real + tf.random.uniform([8, 1]) * (fake - real)
                with tf.GradientTape() as inner:
                    inner.watch(mixed)
                    scores = critic(mixed)
                norms = tf.norm(inner.gradient(scores, mixed), axis=1)
                loss = tf.reduce_mean(critic(fake) - critic(real)) + 10.0 * tf.reduce_mean((norms - 1.0) ** 2)
            optimizers[0].apply(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables)
        with tf.GradientTape() as tape:
            generated = -tf.reduce_mean(critic(generator(tf.random.normal([8, 3]))))
        variables = generator.trainable_variables
        optimizers[1].apply(tape.gradient(generated, variables), variables)
        return loss, generated

    losses = each_step(capture, train, floats(ROWS, 6))
    return {"losses": losses, **state(critic, generator, *optimizers)}


def word2vec(capture: Capture) -> Results:
    """Skip-gram with negative sampling: a sampler that draws, and sparse updates of a table."""
    table, context = tf.Variable(floats(20, 4)), tf.Variable(floats(20, 4, seed=5))
    optimizer = keras.optimizers.Adagrad(0.1)

    @tf.function
    def train(target: Any, near: Any) -> Any:
        negative, _, _ = tf.random.log_uniform_candidate_sampler(
            tf.cast(near[:, None], tf.int64), num_true=1, num_sampled=4, unique=True, range_max=20, seed=7
        )
        with tf.GradientTape() as tape:
            words = tf.nn.embedding_lookup(table, target)
            positive = tf.reduce_sum(words * tf.nn.embedding_lookup(context, near), 1, keepdims=True)
            sampled = tf.matmul(words, tf.nn.embedding_lookup(context, negative), transpose_b=True)
            logits = tf.concat([positive, sampled], 1)
            labels = tf.concat([tf.ones_like(positive), tf.zeros_like(sampled)], 1)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
        optimizer.apply(tape.gradient(loss, [table, context]), [table, context])
        return loss

    losses = each_step(capture, train, integers(20, ROWS), integers(20, ROWS, seed=8))
    return {"losses": losses, "tables": [table, context], **state(optimizer)}


def retrieval(capture: Capture) -> Results:
    """Two towers with sampled softmax, rows of tables updated by scatter."""
    users, items = tf.Variable(floats(16, 4)), tf.Variable(floats(24, 4, seed=5))
    bias = tf.Variable(tf.zeros([24]))

    @tf.function
    def train(user: Any, item: Any) -> Any:
        with tf.GradientTape() as tape:
            rows = tf.nn.embedding_lookup(users, user)
            labels = tf.cast(item[:, None], tf.int64)
            loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(items, bias, labels, rows, 5, 24, seed=3))
        for variable, gradient in zip((users, items), tape.gradient(loss, [users, items]), strict=True):
            variable.scatter_sub(tf.IndexedSlices(0.1 * gradient.values, gradient.indices))
        return loss

    return {
        "losses": each_step(capture, train, integers(16, ROWS), integers(24, ROWS)),
        "tables": [users, items],
    }


def actor_critic(capture: Capture) -> Results:
    """The tutorial: an episode in a `tf.range` loop with TensorArrays, its actions drawn in the loop."""
    common = layers.Dense(8, "relu")
    actor, critic = layers.Dense(2), layers.Dense(1)
    optimizer = keras.optimizers.Adam(1e-2)

    def environment(state: Any, action: Any) -> tuple[Any, Any, Any]:
        state = 0.9 * state + 0.1 * np.float32(2 * action - 1)
        return state.astype(np.float32), np.float32(1.0 - abs(state[0])), np.int32(abs(state[1]) > 1.5)

    def episode(start: Any) -> Any:
        chances = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        values = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        rewards = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        state = start
        for t in tf.range(12):
            hidden = common(state[None])
            logits = actor(hidden)
            action = tf.random.categorical(logits, 1)[0, 0]
            chances = chances.write(t, tf.nn.softmax(logits)[0, action])
            values = values.write(t, critic(hidden)[0, 0])
            state, reward, done = tf.numpy_function(
                environment, [state, action], [tf.float32, tf.float32, tf.int32]
            )
            state.set_shape([4])
            rewards = rewards.write(t, reward)
            if tf.cast(done, tf.bool):
                break
        return chances.stack(), values.stack(), rewards.stack()

    def returns(rewards: Any) -> Any:
        total, results = tf.constant(0.0), tf.TensorArray(tf.float32, tf.shape(rewards)[0])
        for t in tf.range(tf.shape(rewards)[0]):
            total = rewards[-1 - t] + 0.99 * total
            total.set_shape([])
            results = results.write(t, total)
        found = results.stack()[::-1]
        return (found - tf.reduce_mean(found)) / (tf.math.reduce_std(found) + 1e-7)

    @tf.function
    def train(start: Any) -> Any:
        with tf.GradientTape() as tape:
            chances, values, rewards = episode(start[0])
            expected = returns(rewards)
            advantage = expected - values
            loss = -tf.reduce_sum(tf.math.log(chances) * advantage) + tf.reduce_sum(tf.square(advantage))
        weights = [weight for layer in (common, actor, critic) for weight in layer.trainable_weights]
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss, tf.reduce_sum(rewards)

    results = []
    for start in floats(STEPS, 1, 4):
        with capture.step():
            results.append(train(tf.constant(start)))
    return {"results": results, **state(optimizer), "weights": [*common.weights, *actor.weights]}


def deep_q_learning(capture: Capture) -> Results:
    """Epsilon-greedy draws in a branch, a target network, a replay buffer that Python draws from."""
    network, target = (
        keras.Sequential([layers.Input((4,)), layers.Dense(8, "relu"), layers.Dense(2)]) for _ in range(2)
    )
    target.set_weights(network.get_weights())
    optimizer = keras.optimizers.Adam(1e-2)

    @tf.function
    def act(state: Any, epsilon: Any) -> Any:
        return tf.cond(
            tf.random.uniform([]) < epsilon,
            lambda: tf.random.uniform([], 0, 2, tf.int64),
            lambda: tf.argmax(network(state[None])[0]),
        )

    @tf.function
    def learn(before: Any, action: Any, reward: Any, after: Any) -> Any:
        best = tf.reduce_max(target(after), 1)
        with tf.GradientTape() as tape:
            values = tf.reduce_sum(network(before) * tf.one_hot(action, 2), 1)
            loss = keras.losses.huber(reward + 0.9 * best, values)
        weights = network.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    random, buffer, losses = np.random.default_rng(0), [], []
    state_now = floats(4)
    for step in range(10):
        with capture.step():
            action = int(act(tf.constant(state_now), tf.constant(0.5)))
            after = (0.9 * state_now + 0.2 * (action - 0.5)).astype(np.float32)
            buffer.append((state_now, action, np.float32(after.sum()), after))
            state_now = after
            picked = [buffer[index] for index in random.integers(0, len(buffer), 4)]
            losses.append(learn(*(tf.constant(np.stack(part)) for part in zip(*picked, strict=True))))
        if step % 4 == 3:
            target.set_weights(network.get_weights())
    return {"losses": losses, "actions": [item[1] for item in buffer], **state(network, target, optimizer)}


def policy_gradient(capture: Capture) -> Results:
    """REINFORCE: actions are drawn eagerly, outside functions; only the update is one."""
    policy = keras.Sequential([layers.Input((4,)), layers.Dense(8, "tanh"), layers.Dense(3)])
    optimizer = keras.optimizers.SGD(0.1)

    @tf.function
    def update(states: Any, actions: Any, rewards: Any) -> Any:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(actions, policy(states))
            loss = tf.reduce_mean(losses * rewards)
        optimizer.apply(tape.gradient(loss, policy.trainable_variables), policy.trainable_variables)
        return loss

    losses, drawn = [], []
    for states in floats(STEPS, 8, 4):
        with capture.step():
            actions = tf.random.categorical(policy(states), 1)[:, 0]
            rewards = tf.random.normal([8]) + tf.cast(actions, tf.float32)
            losses.append(update(tf.constant(states), actions, rewards))
            drawn.append(actions)
    return {"losses": losses, "drawn": drawn, **state(policy)}


def generator_and_stateless(capture: Capture) -> Results:
    """`tf.random.Generator`, and stateless ops whose seed is the step."""
    generator = tf.random.Generator.from_seed(5)
    weight, count = tf.Variable(floats(6, 3)), tf.Variable(0, dtype=tf.int32)

    @tf.function
    def train(x: Any) -> Any:
        noise = generator.normal(tf.shape(x)) + tf.random.stateless_normal(tf.shape(x), tf.stack([count, 3]))
        noise *= tf.cast(tf.random.experimental.stateless_shuffle(x, [count, 1]) > 0.0, tf.float32)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square((x + noise) @ weight - 1.0))
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        count.assign_add(1)
        return loss

    return {"losses": each_step(capture, train, floats(ROWS, 6)), "state": [weight, generator.state]}


def many_distributions(capture: Capture) -> Results:
    """Each kind of random op that keeps a state, some with a seed of their own."""

    @tf.function
    def draw(x: Any) -> Any:
        return (
            tf.random.normal([3], seed=1) + tf.random.normal([3]),
            tf.random.truncated_normal([3], seed=2),
            tf.random.uniform([3], 0, 100, tf.int32),
            tf.random.gamma([3], tf.abs(x[0]) + 0.5),
            tf.random.poisson([3], 4.0, seed=3),
            tf.random.shuffle(x),
            tf.random.categorical(x, 2),
            tf.compat.v1.random.multinomial(x, 2, seed=9),
            tf.random.uniform_candidate_sampler(tf.constant([[1]], tf.int64), 1, 3, True, 20),
            tf.raw_ops.ParameterizedTruncatedNormal(
                shape=[3], means=0.0, stdevs=1.0, minvals=-1.0, maxvals=1.0, seed=4, seed2=4
            ),
            tf.raw_ops.RandomStandardNormal(shape=[2], dtype=tf.float32, seed=0, seed2=3),
        )

    return {"drawn": each_step(capture, draw, floats(ROWS, 4))}


def draws_in_branches(capture: Capture) -> Results:
    """Random augmentation by `tf.cond` and `tf.switch_case`."""
    weight = tf.Variable(floats(6, 3))

    def noisy(x: Any) -> Any:
        return x + 0.1 * tf.random.normal(tf.shape(x))

    @tf.function
    def train(x: Any) -> Any:
        x = tf.cond(tf.random.uniform([]) < 0.5, lambda: noisy(x), lambda: x)
        kind = tf.random.uniform([], 0, 3, tf.int32)
        x = tf.switch_case(kind, [lambda: noisy(x), lambda: tf.random.shuffle(x), lambda: 2.0 * x])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ weight - 1.0))
        weight.assign_sub(0.05 * tape.gradient(loss, weight))
        return loss, kind

    return {"losses": each_step(capture, train, floats(2 * ROWS, 6)), "weight": weight}


def draws_in_loops(capture: Capture) -> Results:
    """Langevin sampling in `tf.while_loop`, `tf.map_fn` and `tf.scan` over rows, all of them drawing."""
    weight = tf.Variable(floats(4, 4))

    @tf.function
    def train(x: Any) -> Any:
        def sample(i: Any, x: Any) -> Any:
            return i + 1, 0.9 * x - 0.1 * tf.tanh(x @ weight) + 0.1 * tf.random.normal([8, 4])

        # One iteration at a time: otherwise iterations draw in another order in each run of the program.
        _, x = tf.while_loop(lambda i, _: i < 5, sample, [0, x], parallel_iterations=1)
        x = tf.map_fn(lambda row: row * tf.random.uniform([4]), x, parallel_iterations=1)
        total = tf.scan(
            lambda total, row: 0.5 * total + row + tf.random.normal([4], seed=3), x, parallel_iterations=1
        )
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(total @ weight - x))
        weight.assign_sub(0.05 * tape.gradient(loss, weight))
        return loss

    return {"losses": each_step(capture, train, floats(ROWS, 4)), "weight": weight}


def draws_in_inner_functions(capture: Capture) -> Results:
    """One function that draws is called three times by another, and once by Python."""
    weight = tf.Variable(floats(6))

    @tf.function
    def noise(scale: Any) -> Any:
        return scale * tf.random.normal([6], seed=11)

    @tf.function
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x * (weight + noise(0.1)) + noise(x[0, 0]) - noise(0.1)))
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        return loss

    losses = each_step(capture, train, floats(ROWS, 6))
    with capture.step():
        return {"losses": losses, "weight": weight, "drawn": noise(tf.constant(1.0))}


def eager_tape(capture: Capture) -> Results:
    """A tape outside of functions: forward and backward functions of model and loss."""
    first, last = tf.Variable(floats(6, 8)), tf.Variable(floats(8, 3))
    optimizer = keras.optimizers.Adam(1e-2)

    @tf.function
    def model(x: Any) -> Any:
        hidden = tf.nn.gelu(x @ first) * 0.5
        return tf.nn.dropout(hidden, 0.2) @ last

    @tf.function
    def loss_of(logits: Any, y: Any) -> Any:
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))

    losses = []
    for x, y in batches(floats(ROWS, 6), integers(3, ROWS)):
        with capture.step():
            with tf.GradientTape() as tape:
                loss = loss_of(model(tf.constant(x)), tf.constant(y))
            optimizer.apply(tape.gradient(loss, [first, last]), [first, last])
            losses.append(loss)
    return {"losses": losses, "weights": [first, last], **state(optimizer)}


def bayesian_network(capture: Capture) -> Results:
    """Bayes by backprop: each weight is drawn, by inner calls with seeds of their own."""
    means = [tf.Variable(floats(6, 5)), tf.Variable(floats(5, 1))]
    spreads = [tf.Variable(tf.fill(mean.shape, -3.0)) for mean in means]
    optimizer = keras.optimizers.Lion(1e-2)

    @tf.function
    def train(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            drawn = [
                mean + tf.nn.softplus(spread) * tf.random.normal(mean.shape, seed=number)
                for number, (mean, spread) in enumerate(zip(means, spreads, strict=True))
            ]
            error = tf.reduce_mean(tf.square(tf.nn.elu(x @ drawn[0]) @ drawn[1] - y))
            loss = error + 1e-3 * tf.add_n([tf.reduce_sum(tf.square(weight)) for weight in drawn])
        optimizer.apply(tape.gradient(loss, means + spreads), means + spreads)
        return loss

    losses = each_step(capture, train, floats(ROWS, 6), floats(ROWS, 1, seed=9))
    return {"losses": losses, "means": means, "spreads": spreads}


def recurrent_by_hand(capture: Capture) -> Results:
    """An RNN in a `tf.range` loop with a TensorArray and teacher forcing drawn in each step of time."""
    cell, head = layers.GRUCell(6), layers.Dense(3)
    optimizer = keras.optimizers.Adam(1e-2, clipvalue=0.5)
    cell.build((8, 3))
    head.build((8, 6))
    weights = cell.trainable_weights + head.trainable_weights

    @tf.function
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            outputs = tf.TensorArray(tf.float32, 5)
            hidden, output = tf.zeros([8, 6]), x[:, 0]
            for t in tf.range(5):
                with tf.control_dependencies([hidden]):  # or iterations, which overlap, draw in any order
                    forced = tf.random.uniform([]) < 0.5
                hidden = cell(tf.where(forced, x[:, t], output), [hidden])[0]
                output = head(hidden)
                outputs = outputs.write(t, output)
            loss = tf.reduce_mean(tf.square(tf.transpose(outputs.stack(), [1, 0, 2]) - x[:, 1:]))
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    return {"losses": each_step(capture, train, floats(ROWS, 6, 3)), "weights": weights, **state(optimizer)}


def neural_ode(capture: Capture) -> Results:
    """A differential equation solved by Runge-Kutta in a loop, and a gradient through it."""
    weight = tf.Variable(0.3 * floats(4, 4))

    @tf.function
    def train(x: Any) -> Any:
        def field(x: Any) -> Any:
            return tf.tanh(x @ weight) - 0.1 * x

        def advance(i: Any, x: Any) -> Any:
            a = field(x)
            b = field(x + 0.05 * a)
            return i + 1, x + 0.1 * (0.25 * a + 0.75 * b)

        with tf.GradientTape() as tape:
            _, end = tf.while_loop(lambda i, _: i < 8, advance, [0, x])
            loss = tf.reduce_mean(tf.square(end - 1.0))
        weight.assign_sub(0.5 * tape.gradient(loss, weight))
        return loss

    return {"losses": each_step(capture, train, floats(ROWS, 4)), "weight": weight}


def physics_informed(capture: Capture) -> Results:
    """Second derivatives of a network at points that are drawn in each step."""
    network = keras.Sequential([layers.Input((1,)), layers.Dense(8, "tanh"), layers.Dense(1)])
    optimizer = keras.optimizers.Adam(1e-2)

    @tf.function
    def train(origin: Any) -> Any:
        x = tf.random.uniform([16, 1], -1.0, 1.0)
        with tf.GradientTape() as tape:
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch(x)
                    u = network(x)
                slope = first.gradient(u, x)
            curvature = second.gradient(slope, x)
            loss = tf.reduce_mean(tf.square(curvature + u)) + tf.square(network(origin[:1])[0, 0] - 1.0)
        weights = network.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    return {"losses": each_step(capture, train, floats(ROWS, 1)), **state(network, optimizer)}


def shuffled_dataset(capture: Capture) -> Results:
    """The loop over the dataset is inside the function, and the dataset shuffles and draws."""
    weight = tf.Variable(floats(6, 3))
    rows = tf.data.Dataset.from_tensor_slices((floats(ROWS, 6), integers(3, ROWS)))
    rows = rows.shuffle(16).map(lambda x, y: (x + tf.random.normal([6]), y)).batch(8).repeat()

    @tf.function
    def train(iterator: Any) -> Any:
        total = tf.constant(0.0)
        for _ in tf.range(2):
            with tf.control_dependencies([total]):  # or iterations, which overlap, draw in any order
                x, y = next(iterator)
                dropped = tf.nn.dropout(x, 0.1)
            with tf.GradientTape() as tape:
                logits = dropped @ weight
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
            weight.assign_sub(0.1 * tape.gradient(loss, weight))
            total += loss
        return total

    iterator, losses = iter(rows), []
    for _ in range(STEPS):
        with capture.step():
            losses.append(train(iterator))
    return {"losses": losses, "weight": weight}


def compiled_step(capture: Capture) -> Results:
    """`jit_compile=True` with stateless draws."""
    weight, count = tf.Variable(floats(6, 3)), tf.Variable(0)

    @tf.function(jit_compile=True)
    def train(x: Any) -> Any:
        x += 0.1 * tf.random.stateless_normal([8, 6], tf.stack([count, 1]))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.nn.relu(x @ weight) - 1.0))
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        count.assign_add(1)
        return loss

    return {"losses": each_step(capture, train, floats(ROWS, 6)), "weight": weight}


@tf.function(jit_compile=True)
def _gated(x: Any, weight: Any) -> Any:
    """A normalized, gated layer: many ops that XLA fuses."""
    hidden = x @ weight
    hidden -= tf.reduce_mean(hidden, -1, keepdims=True)
    hidden *= tf.math.rsqrt(tf.reduce_mean(tf.square(hidden), -1, keepdims=True) + 1e-5)
    hidden = hidden * tf.nn.gelu(hidden) * 1.3 + tf.tanh(hidden) * 0.7
    return tf.reduce_mean(hidden * tf.nn.sigmoid(hidden))


def compiled_layers(capture: Capture) -> Results:
    """Layers that XLA compiles inside a step that it does not, after noise with a seed; and under an eager
    tape."""
    weight = tf.Variable(floats(24, 24))

    @tf.function
    def train(x: Any) -> Any:
        x += 0.1 * tf.random.normal(tf.shape(x), seed=1)
        with tf.GradientTape() as tape:
            loss = _gated(x, weight)
        weight.assign_sub(0.3 * tape.gradient(loss, weight))
        return loss

    losses = each_step(capture, train, floats(ROWS, 24))
    for (x,) in batches(floats(ROWS, 24)):
        with capture.step():
            with tf.GradientTape() as tape:
                loss = _gated(x, weight)
            weight.assign_sub(0.3 * tape.gradient(loss, weight))
            losses.append(loss)
    return {"losses": losses, "weight": weight}


def changing_shapes(capture: Capture) -> Results:
    """Traced for batches of two sizes, each trace with draws of its own."""
    weight = tf.Variable(floats(6, 3))

    @tf.function
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.nn.dropout(x, 0.4) @ weight - 1.0))
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        return loss

    losses = []
    for step in range(12):
        with capture.step():
            losses.append(train(tf.constant(floats(4 + step % 2, 6, seed=step))))
    return {"losses": losses, "weight": weight}


PROGRAMS: list[Program] = [
    clipped_gradients,
    dcgan,
    gradient_penalty,
    word2vec,
    retrieval,
    actor_critic,
    deep_q_learning,
    policy_gradient,
    generator_and_stateless,
    many_distributions,
    draws_in_branches,
    draws_in_loops,
    draws_in_inner_functions,
    eager_tape,
    bayesian_network,
    recurrent_by_hand,
    neural_ode,
    physics_informed,
    shuffled_dataset,
    compiled_step,
    compiled_layers,
    changing_shapes,
]
