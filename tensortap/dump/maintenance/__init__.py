"""Maintenance of runs, complete or broken: `check`, `repair`, `prune`.

`integrity.py` finds missing or damaged data, `repair.py` writes a copy of the rest, `value_moves.py` and
`pruning.py` make runs smaller. Imports `format/`, `read/` and `write/`. Begin with `integrity.py`.
"""
