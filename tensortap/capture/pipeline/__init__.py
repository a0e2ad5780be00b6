"""From the training thread to the dump: messages, the writer thread, and its writers.

`messages` are what travels: tensors of a step, events, and ends of steps. `visit_budget` thins what loops
compute; `writer_thread` queues the rest, in bounded memory; its sink is a `batch_writer`, behind
`triggers.trigger_sink` if the tap has a trigger. Nothing here needs TensorFlow. Begin with `messages`.
"""
