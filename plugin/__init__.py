"""The TensorBoard tab: finds the log directory, hands everything else to the server."""

from .plugin import TensortapPlugin

__all__ = ["TensortapPlugin"]
