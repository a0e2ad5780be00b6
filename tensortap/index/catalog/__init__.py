"""The catalog of a run: one row per snapshot, in typed columns; strings, shapes and steps as integer codes.

Histograms and values stay in the dump: `commit_cache` reads their commits again. Imports
`tensortap.dump.read` and nothing of the other packages of `tensortap.index`. Begin with
`catalog.Catalog`; `columns` holds the building blocks, `segments` how old rows are packed.
"""
