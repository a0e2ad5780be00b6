"""How far two tensors differ: every metric, bounds from summaries alone, and what rounding may explain.

`distances.py` has the metrics of two arrays and the tolerance that rounding may explain, `summary_bounds.py`
what summaries prove, `ulp.py` distances in units of the last place. Begin with `distances.py`.
"""
