"""Analyses in processes of their own, so that who asks for them is never slowed down by them."""

from .pool import AnalystEndedError, Analysts
from .tasks import Place, Task, perform, place_of

__all__ = ["AnalystEndedError", "Analysts", "Place", "Task", "perform", "place_of"]
