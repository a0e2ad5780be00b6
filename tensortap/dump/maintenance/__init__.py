"""What is done to runs that are complete, or broken: `check`, `repair`, `compact`, `prune`.

`integrity.py` finds what is missing or damaged, `repair.py` writes what is left anew, `compaction.py` and
`pruning.py` make runs smaller. Imports `format/`, `read/` and `write/`. Begin with `integrity.py`.
"""
