"""Recordings of calls (`Tap(record=…)`): all that a call needs to run again, bit by bit, without the program.

`call_recorder` records the arguments and results of a call, `pending_recordings` holds calls until a trigger
has checked their step, `run_recordings` decides and writes. The files are those of
`tensortap.dump.recording`; `tensortap.replay` runs them. Begin with `run_recordings`.
"""
