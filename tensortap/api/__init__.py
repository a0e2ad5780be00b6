"""The Python surface: what `tensortap.open` returns. Objects for people: lazy, live, with readable reprs."""

from .logdir import Log, open_logdir
from .run import Run
from .table import Table
from .tensor import Tensor
from .tensors import Tensors
from .viewer_hook import set_viewer

__all__ = ["Log", "Run", "Table", "Tensor", "Tensors", "open_logdir", "set_viewer"]
