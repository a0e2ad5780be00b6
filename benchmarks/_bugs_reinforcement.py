"""Steps of reinforcement learning with one common mistake each, and the same without it.

A walker on a line, whose reward is its position: a column of its state. Lines that hold the mistake end in
`# bug`.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from _bugs import BATCH, STEPS, Array, bug, feed, layers

from tensortap import Tap


def walk() -> tuple[Array, Array, Array, Array]:
    """States (position, speed, sine, 1), actions, rewards and next states."""
    random = np.random.default_rng(0)
    actions = random.integers(0, 2, STEPS * BATCH).astype(np.int32)
    states = np.zeros((len(actions) + 1, 4), np.float32)
    position = speed = 0.0
    for number, action in enumerate([0, *actions]):
        states[number] = position, speed, np.sin(position), 1.0
        speed = 0.9 * speed + 0.1 * (2 * action - 1)
        position = float(np.clip(position + speed, -1, 1))
    return states[:-1], actions, states[:-1, 0].copy(), states[1:]


def network(outputs: int = 2, activation: str | None = None) -> Any:
    head = layers.Dense(outputs, activation=activation, name="head")
    return keras.Sequential([keras.Input((4,)), layers.Dense(24, "relu"), head])


def apply(optimizer: Any, tape: Any, loss: Any, variables: Any) -> None:
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))


def log_probability(logits: Any, actions: Any) -> Any:
    return tf.reduce_sum(tf.nn.log_softmax(logits) * tf.one_hot(actions, 2), 1)


@bug("LearningRate")
def deep_q(tap: Tap, broken: bool) -> None:
    """A target network in the step."""
    data = walk()
    online, target = network(), network()
    target.set_weights(online.get_weights())
    optimizer = keras.optimizers.Adam(3.0 if broken else 1e-2)  # bug

    @tap.function
    def train_step(states: Any, actions: Any, rewards: Any, following: Any) -> Any:
        goals = rewards + 0.9 * tf.reduce_max(target(following), 1)
        with tf.GradientTape() as tape:
            chosen = tf.reduce_sum(online(states) * tf.one_hot(actions, 2), 1)
            loss = tf.reduce_mean(tf.square(goals - chosen))
        apply(optimizer, tape, loss, online.trainable_variables)  # bug
        return loss

    for number in range(STEPS):
        train_step(*(tf.constant(part[number * BATCH : (number + 1) * BATCH]) for part in data))
        if number % 10 == 9:
            target.set_weights(online.get_weights())


@bug("LossInputMismatch")
def reinforce(tap: Tap, broken: bool) -> None:
    """Returns of each episode, from Python."""
    random = np.random.default_rng(0)
    head = layers.Dense(2, activation="softmax" if broken else None, name="head")  # bug
    policy = keras.Sequential([keras.Input((4,)), layers.Dense(24, "relu"), head])
    optimizer = keras.optimizers.Adam(1e-2)

    @tap.function
    def train_step(states: Any, actions: Any, returns: Any) -> Any:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(actions, policy(states))  # bug
            loss = tf.reduce_mean(losses * returns)
        apply(optimizer, tape, loss, policy.trainable_variables)
        return loss

    for _ in range(STEPS):
        states, actions = np.zeros((BATCH, 4), np.float32), np.zeros(BATCH, np.int32)
        state = np.array([0, 0, 0, 1], np.float32)
        for step in range(BATCH):
            states[step] = state
            actions[step] = random.random() < float(tf.nn.softmax(policy(state[None]))[0, 1])
            state[0] = np.clip(state[0] + 0.1 * (2 * actions[step] - 1), -2, 2)
        returns = np.array([0.9 ** np.arange(BATCH - at) @ states[at:, 0] for at in range(BATCH)], np.float32)
        train_step(tf.constant(states), tf.constant(actions), tf.constant(returns))


@bug("UnchangedTensor")
def advantage_actor_critic(tap: Tap, broken: bool) -> None:
    data = walk()[:3]
    inputs = keras.Input((4,))
    common = layers.Dense(24, "relu", name="common")(inputs)
    value_head = layers.Dense(1, name="critic")  # bug
    model = keras.Model(inputs, [layers.Dense(2, name="actor")(common), value_head(common)])
    optimizer = keras.optimizers.Adam(1e-2)
    variables = [each for each in model.trainable_variables if not (broken and "critic" in each.path)]  # bug

    @tap.function
    def train_step(states: Any, actions: Any, rewards: Any) -> Any:
        with tf.GradientTape() as tape:
            logits, values = model(states)
            error = rewards - values[:, 0]
            policy_loss = -tf.reduce_mean(log_probability(logits, actions) * tf.stop_gradient(error))
            loss = policy_loss + 0.5 * tf.reduce_mean(tf.square(error))
        apply(optimizer, tape, loss, variables)  # bug
        return loss

    feed(train_step, *data)


@bug("ExplodingTensor")
def clipped_policy(tap: Tap, broken: bool) -> None:
    """PPO: steps for the policy and for the values, of which the old probabilities may be 0."""
    states, actions, rewards, _ = walk()
    actor, critic = network(), network(1)
    of_actor, of_critic = keras.optimizers.Adam(3e-3), keras.optimizers.Adam(1e-2)

    @tap.function
    def train_policy(states: Any, actions: Any, old: Any, advantages: Any) -> Any:
        with tf.GradientTape() as tape:
            ratio = tf.exp(log_probability(actor(states), actions) - old)  # bug
            least = tf.where(advantages > 0, 1.2 * advantages, 0.8 * advantages)
            loss = -tf.reduce_mean(tf.minimum(ratio * advantages, least))
        apply(of_actor, tape, loss, actor.trainable_variables)
        return loss

    @tap.function
    def train_value(states: Any, rewards: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(rewards - critic(states)[:, 0]))
        apply(of_critic, tape, loss, critic.trainable_variables)
        return loss

    for number in range(STEPS):
        part = slice(number * BATCH, (number + 1) * BATCH)
        old = log_probability(actor(states[part]) * (500.0 if broken else 1.0), actions[part])  # bug
        errors = rewards[part] - critic(states[part]).numpy()[:, 0]
        advantages = (errors - errors.mean()) / (errors.std() + 1e-8)
        with tap.step(number):
            train_policy(tf.constant(states[part]), tf.constant(actions[part]), old, tf.constant(advantages))
            train_value(tf.constant(states[part]), tf.constant(rewards[part]))


@bug("DeadGradient", "UnchangedTensor")
def deterministic_policy(tap: Tap, broken: bool) -> None:
    """DDPG: the critic judges the actor's action, which a rounding cuts off."""
    states, actions, rewards, following = walk()
    actor, critic, target = (
        network(1, "tanh"),
        *(keras.Sequential([keras.Input((5,)), layers.Dense(16, "relu"), layers.Dense(1)]) for _ in range(2)),
    )
    target.set_weights(critic.get_weights())
    of_actor, of_critic = keras.optimizers.Adam(1e-3), keras.optimizers.Adam(2e-3)

    @tap.function
    def train_step(states: Any, actions: Any, rewards: Any, following: Any) -> Any:
        goals = rewards + 0.9 * target(tf.concat([following, actor(following)], 1))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(goals - critic(tf.concat([states, actions], 1))))
        apply(of_critic, tape, loss, critic.trainable_variables)
        with tf.GradientTape() as tape:
            action = actor(states)
            if broken:
                action = tf.round(action)  # bug
            actor_loss = -tf.reduce_mean(critic(tf.concat([states, action], 1)))
        # TensorFlow makes no zeros for Keras' own variables.
        variables = [each.value for each in actor.trainable_variables]
        gradients = tape.gradient(actor_loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        of_actor.apply_gradients(zip(gradients, actor.trainable_variables, strict=True))
        for slow, fast in zip(target.trainable_variables, critic.trainable_variables, strict=True):
            slow.assign(0.995 * slow + 0.005 * fast)
        return loss

    feed(train_step, states, actions[:, None].astype(np.float32), rewards[:, None], following)
