"""Saved indices: what was read of a run, kept in the user's cache directory. Derived, and safe to delete."""

from tensortap.system.user_dirs import cache_folder

from .container import ContainerError
from .saved_run import SavedRun

__all__ = ["ContainerError", "SavedRun", "cache_folder"]
