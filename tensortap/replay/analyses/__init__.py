"""Analyses of a recorded step; each runs the step in other ways.

`analysis_registry.py` is the table that `tensortap replay` and the server choose from: a new analysis is a
function here, which returns an object that fits into JSON, and a row there. Accuracy of nodes and the effect
of taps have separate fields of a `Request`. Imports `execution`; needs TensorFlow.
"""
