"""Metrics of the difference of two tensors, bounds from summaries alone, and the share that rounding
explains.

`distances.py` has the metrics of two arrays and the tolerance that rounding may explain, `summary_bounds.py`
what summaries prove, `ulp.py` distances in units of the last place. Begin with `distances.py`.
"""
