"""The index of a run saved in the user's cache, so that a second start need not read the run again.

`saved_run` saves, checks and loads one; `container` is the file that it is saved in; `cache_folders` deletes
those of removed runs. Imports the catalog, no queries.
"""
