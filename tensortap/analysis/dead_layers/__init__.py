"""Layers that do not learn, and why: zero gradients and lost updates (`tensortap ledger`).

`ledger.py` makes an entry for each variable, with the updates that rounding swallows; `zero_origin.py` finds
where along the backward pass zeros begin. Imports `model_graph` and `run_view`. Begin with `ledger.py`.
"""
