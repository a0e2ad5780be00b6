"""Follows a difference through a graph: which part rounding explains, and where something else begins.

`difference_flow.py` judges tensors in data flow order; `mismatches.py` undoes wrong pairs; `recompute.py`
computes an op again from its captured inputs and compares with `reference_outputs.py`; `conditioning.py`
finds ops that magnify rounding. Begin with `difference_flow.py`.
"""
