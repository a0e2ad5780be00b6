"""Derived lookup over the runs of a log directory. The dump is the truth: all of this may be thrown away.

`logdir_index` finds runs, `run_index` follows one, `worker_follower` reads its commits into the `catalog`
(one row per snapshot). Questions are functions of a `RunIndex`: `query` finds snapshots, `series` answers
over steps, `graph` about nodes, `values` reads arrays. One thread refreshes, any number ask. Imports
core, system, storage, stats, scale, dump and compact; no HTTP, no TensorFlow, no notebooks. Begin with
`run_index.RunIndex`; the record that all answers share is `snapshot.Snapshot`.
"""
