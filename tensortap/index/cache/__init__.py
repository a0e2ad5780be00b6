"""Saved indices: what was read of a run, stored in the user's cache directory. Derived, and safe to delete.

`saved_run` loads and saves one, `container` is its file, `catalog_state` the catalog in it, `fingerprint`
says whether it still fits the dump, `cache_dir` removes old ones. Imports the catalog, no queries.
"""
