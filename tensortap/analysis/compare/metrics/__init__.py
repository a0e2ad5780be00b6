"""How far two tensors differ: every metric, bounds from summaries alone, and what rounding may explain.

`distances.py` has the metrics of two arrays, `summary_bounds.py` what summaries prove, `tolerance.py` what
rounding may explain. Begin with `distances.py`.
"""
