"""Where capture meets the user's program: Keras, tf.function, eager, sessions, datasets."""
