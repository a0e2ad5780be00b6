"""The stepper: a debugger's cursor on the nodes of a recorded call, with what-ifs.

`session.py` holds one recording: its cursor, its what-ifs, and the run that was computed for each. Only
`computed_run.py` needs TensorFlow: it computes the tensors, in the replaying process.
"""
