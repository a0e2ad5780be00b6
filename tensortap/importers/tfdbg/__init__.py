"""Dumps of TensorFlow's debugger: `v1.py` of session runs, `v2.py` of `enable_dump_debug_info`.

In version 2, records, graphs and tensor health are separate files. Where a dump has no values but counts and
statistics, the run gets summaries that say so.
"""
