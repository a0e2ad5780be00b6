"""Lines of the user's program that made Keras' layers, operators between them, losses, regularizers and
optimizers.

Keras itself runs the layers of a functional or sequential model, and in `fit` losses and optimizers, too:
the call stack of their nodes ends at `model.fit`. The relevant line is that which creates the object:
`Conv2D(…)(x)`, `x * 0.5 + y`, `Adam(1e-3)`. It is recorded for objects created after the import of `Tap`.
"""

from __future__ import annotations

import functools
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import keras

from tensortap.core.records import Frame
from tensortap.tf import internals

from .source_stacks import Stack, is_user_file, without_repeats

REGULARIZERS = tuple(
    getattr(keras.regularizers, name) for name in ("L1", "L2", "L1L2", "OrthogonalRegularizer")
)
"""Those of Keras; in one of the user's own, the line of the program is known."""
_LINES: weakref.WeakKeyDictionary[Any, Frame] = weakref.WeakKeyDictionary()
_KERAS = str(Path(keras.__file__).parent)
# Where Keras makes layers for itself: within those of others.
_BUILDING = frozenset({"build", "build_wrapper", "call", "__call__", "symbolic_call"})


class CreationLine(NamedTuple):
    """The line that created the object behind some nodes. `outside`: the user frames around its call."""

    outside: Stack
    line: Frame


@functools.cache
def note_lines() -> None:
    """From now on, note the line of every layer, operator, loss, regularizer, optimizer and `compile`."""
    # Keras reads the arguments of their constructors to serialize operations: these stay as they are.
    _wrap(keras.Operation, "__new__")
    _wrap(keras.losses.Loss, "__init__")
    _wrap(keras.optimizers.Optimizer, "__init__")
    for kind in REGULARIZERS:
        _wrap(kind, "__init__")
    internals.note_generated_lines()
    _wrap(keras.Model, "compile")  # the line of losses and optimizers that are named by a string


def _wrap(kind: Any, name: str) -> None:
    # In the class that defines it: Keras does not compile a loaded model whose class overrides `compile`.
    kind = next((each for each in kind.__mro__ if name in vars(each)), None)
    if kind is None:
        return  # another Keras: nodes have the lines that TensorFlow knows
    original = getattr(kind, name)

    @functools.wraps(original)
    def noting(self: Any, *args: Any, **kwargs: Any) -> Any:
        outcome = original(self, *args, **kwargs)
        with suppress(Exception):  # a class of the user's that cannot be hashed
            made = outcome if name == "__new__" else self
            line = _line_of(made)
            if line is not None:
                _LINES[made] = line
        return outcome

    setattr(kind, name, staticmethod(noting) if name == "__new__" else noting)


def _line_of(made: Any) -> Frame | None:
    """The innermost line of the user's that is not in a constructor of the object itself."""
    frame: Any = sys._getframe(2)
    is_layer = isinstance(made, keras.layers.Layer)
    while frame is not None:
        code = frame.f_code
        if is_user_file(code.co_filename):
            if code.co_name != "__init__" or _first_argument(frame) is not made:
                return str(code.co_filename), int(frame.f_lineno), str(code.co_name)
        elif is_layer and code.co_name in _BUILDING and code.co_filename.startswith(_KERAS):
            return None
        frame = frame.f_back
    return None


def _first_argument(frame: Any) -> Any:
    names = frame.f_code.co_varnames
    return frame.f_locals.get(names[0]) if names else None


def line_of_variable(path: str) -> Frame | None:
    """The line that created the layer of a trainable variable; None if layer or line is unknown."""
    for made, line in list(_LINES.items()):
        if isinstance(made, keras.layers.Layer):
            own = getattr(made, "_trainable_variables", ())  # without those of layers inside
            if any(str(variable.path) == path for variable in own):
                return line
    return None


def line_of_call(called: Any) -> CreationLine | None:
    """The line that created an object that Keras calls; None if the user's own line calls it.

    Called by a wrapper of the object's method, just before the call.
    """
    line = _LINES.get(called)
    if line is None or not _is_called_by_keras(called):
        return None
    outside = tuple(frame for frame in internals.current_stack() if is_user_file(frame[0]))
    return None if line in outside[-1:] else CreationLine(without_repeats(outside), line)


def _is_called_by_keras(called: Any) -> bool:
    frame: Any = sys._getframe(3)
    while frame is not None:
        path = frame.f_code.co_filename
        if is_user_file(path):
            return False
        if path.startswith(_KERAS) and _first_argument(frame) is not called:
            return True
        frame = frame.f_back
    return False
