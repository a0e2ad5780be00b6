"""Statistics and histograms of tensors, in one pass over the elements.

`summarize.py` measures one array, `batch.py` many. `kernels*.py` are compiled by numba, which `compile.py`
does when they are first needed; where numba cannot, `summarize.py` continues in NumPy.
`merge.py` merges the statistics of many snapshots. Imports core only.
"""
