"""What is done to runs that are complete, or broken: `check`, `repair`, `compact`, `prune`.

`completeness.py` and `value_check.py` find what is missing or damaged, `repair.py` writes what is left anew,
`compaction.py` and `pruning.py` make runs smaller.
"""
