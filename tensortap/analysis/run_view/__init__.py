"""A run as analyses see it: its tensors with their roles, and all snapshots as columns.

`run_view.py` answers for the whole run (and continues where an earlier look ended: `incremental_state.py`),
`step_tensors.py` for one graph at one step. `snapshot_rows.py` has the columns, `hit_counts.py` counts in
them. Imports `model_graph` and index. Begin with `run_view.py`.
"""
