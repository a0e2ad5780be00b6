"""Layers that learn nothing, and why: zero gradients and lost updates (`tensortap ledger`).

`ledger.py` makes an entry for each variable; `zero_origin.py` finds where along the backward pass zeros
begin, `lost_updates.py` counts updates that rounding swallows. Imports `model_graph` and `run_view`. Begin
with `ledger.py`.
"""
