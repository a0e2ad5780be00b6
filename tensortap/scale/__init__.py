"""Work on large runs in many processes: of this machine, or of a Dask cluster.

`engine.py` holds the interface (map a task over arguments, reduce as a tree), `registry.py` opens an engine
by its name; `local.py` and `dask_cluster.py` are the engines, `task.py` runs one task and is the program of
local processes. Imports `core` and `system`. Begin with `engine.py`.
"""
