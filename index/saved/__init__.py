"""Saved indices: what was read of a run, kept in the user's cache directory. Derived, and safe to delete."""

from .container import ContainerError
from .folder import cache_folder
from .saved_run import SavedRun

__all__ = ["ContainerError", "SavedRun", "cache_folder"]
