"""Commands that look for what went wrong in a run: `nan`, `rules`, `ledger`, and `diff` for two runs.

A module a command, as in the package above: `HELP`, `EXAMPLE`, `add_arguments` and `run`.
Imports `core`, `index`, `scale` and `analysis`. Begin with `nan.py`.
"""
