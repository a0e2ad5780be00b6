"""Pure functions over an index: what is wrong with a run."""

from .problems import NonfiniteTensor, Problems, problems

__all__ = ["NonfiniteTensor", "Problems", "problems"]
