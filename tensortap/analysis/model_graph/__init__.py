"""Facts about the model from its graph, without any snapshot: roles of nodes, calls and loops, variables.

Imports index only; everything else in analysis builds on it. Begin with `roles.py`, then `call_dataflow.py`
(arguments and results of functions, iterations of loops).
"""
