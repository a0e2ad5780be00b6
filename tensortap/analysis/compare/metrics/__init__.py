"""How far two tensors differ: every metric, bounds from summaries alone, and what rounding may explain.

`distances.py` has the metrics of two arrays, `summary_bounds.py` what summaries prove, `tensor_pairs.py`
all pairs of a step. Begin with `distances.py`.
"""
