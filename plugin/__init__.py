"""The TensorBoard tab. It finds TensorBoard's log directory; the server does the rest.

May import `tensortap.server` and TensorBoard only. Begin with `plugin.py:TensortapPlugin`, the entry
point that pyproject.toml names.
"""

from .plugin import TensortapPlugin

__all__ = ["TensortapPlugin"]
