"""Where capture meets the user's program: one module for each way of running TensorFlow.

Keras' `fit`, `tf.function`, eager ops, version 1 sessions, SavedModels; and which samples feed a step
(`batch_samples`, `traced_dataset`). An adapter knows `tap_steps.TapSteps` and `step.Step`, and nothing else
of a tap. Begin with `tf_function`, the shortest, then `keras_callback`.
"""
