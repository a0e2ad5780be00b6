"""Adapters to the user's program: one module for each way of running TensorFlow.

Keras' `fit`, `tf.function`, version 1 sessions and SavedModels. An adapter knows `tap_steps.TapSteps` and
`step.Step`, and nothing else of a tap. Begin with `tf_function`, the shortest, then `keras_callback`.
"""
