"""Checks invariants of a correct step: samples and positions do not mix, gradients are derivatives.

People read "tests of a step's logic" (`tensortap replay --test`, docs/replay.md). The table of checks is in
`analyses/analysis_registry.py`: a new one is a function here, a row there, and its question in
`protocol.TESTS`. Imports `execution`; needs TensorFlow. Begin with `independence_checks.py`.
"""
