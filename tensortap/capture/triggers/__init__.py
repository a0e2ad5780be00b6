"""Triggers of a tap (`Tap(on=…, before=…, stop=…)`): conditions on a step, and their effects.

`triggers` are the conditions, over `step_summaries`; `trigger_sink` checks each step in the writer thread,
with the steps before it in the `flight_recorder`; a `firing` is the result. `trigger_control` says what must
be captured for it, and ends training. Begin with `triggers`.
"""
