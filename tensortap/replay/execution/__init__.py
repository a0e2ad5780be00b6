"""Loads a recorded call and runs it again: as recorded, with changed tensors, in another dtype, or node by
node.

Needs TensorFlow, but for `expression_grammar.py` and `program_lines.py`. Imports `capture` (taps and traced
functions), `dump` (recordings) and `tf`. Begin reading at `loaded_call.py`; `comparison.py` compares the
results with the recording.
"""
