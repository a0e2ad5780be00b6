"""Uses of TensorFlow beyond its public interface, and tables of its operations.

`internals` is the only module that touches private names of TensorFlow, and says with which versions they
work. `function_library` reads registered functions, `op_allowlist` says what a recording may run again.
For `tensortap.capture` and `tensortap.replay`; imports neither. Begin with `internals`.
"""
