"""Comparisons of two runs, steps or workers: which tensors correspond, how they differ, and where that
begins.

`matching` pairs the nodes of two graphs, `metrics` measures pairs of tensors, `propagation` follows
differences through the graph and separates rounding from real changes of a node. `compare.py` puts them
together, and `first_divergence.py` explains the result; `comparison_records.py` has the records. A metric is
a field of `metrics.distances.Metrics`, and the function there that computes it. Imports `model_graph` and
`run_view`.
"""
