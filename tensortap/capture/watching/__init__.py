"""Selects what a tap captures: `Watch`, its steps, and the `watch.json` that changes it while a job runs.

`watch` selects tensors and steps, `step_schedule` says which steps (`every(100)`), `selection` what becomes
of a tensor that several watches select, `watch_file` follows `watch.json`, `step_budget` skips or reduces
steps to keep the cost low. May import `tracing.candidate` and `tensortap.core`; knows nothing of TensorFlow.
Begin with `watch`.
"""
