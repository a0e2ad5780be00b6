"""The TensorBoard tab. It finds TensorBoard's log directory and leaves everything else to the server.

May import `tensortap.server` and TensorBoard only. Begin with `plugin.py:TensortapPlugin`, the entry
point that pyproject.toml names.
"""

from .plugin import TensortapPlugin

__all__ = ["TensortapPlugin"]
