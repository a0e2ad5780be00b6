"""Checks of what must hold of a correct step: samples and positions do not mix, gradients are derivatives.

People read "tests of a step's logic" (`tensortap replay --test`, docs/replay.md). `check_registry.py` is the
table of checks: a new one is a function here and a row there. Imports `run`; needs TensorFlow.
"""
