"""Copies the variables of a recording into a Keras model that the program created."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tensortap.core.errors import InvalidValueError, NotFoundError
from tensortap.core.text import counted
from tensortap.dump.recording.recording import Argument, Recording

_KERAS_NUMBER = re.compile(r"_(\d+)(?=[/_]|$)")  # which Keras gives to unnamed objects
_SEED = "seed_generator_state"
_NAMED = 5  # paths in a message
_WORD = re.compile(r"[^/_]+(?:_(\d+)(?=[/_]|$))?")  # of a path, with its number; the first has none


def restore_variables(recording: Recording, model: Any) -> list[str]:
    """Restore the state of a model before the recorded step: weights, layer states, seeds, optimizer.

    Variables are paired by path. If paths only differ in the numbers that Keras adds to names (`dense_3`),
    they are paired in the order of these numbers, provided that both sides have the same count. A layer seed
    that the step does not read (of a GRU without dropout) is not recorded; it stays unchanged, with a
    TapWarning.

    Args:
        model: a built Keras model of the recorded class; compiled, to restore the optimizer.

    Returns:
        Paths of recorded variables that the model lacks, e.g. of metrics and losses.

    Example:
        ```python
        from pathlib import Path
        from tensortap.replay import locate, open_recording, restore_variables

        recording = open_recording(locate(Path("logs/recorded"), step=0, call=None))
        restore_variables(recording, model)
        ```

    Raises:
        NotFoundError: the recording lacks one of the model's own variables.
        InvalidValueError: a shape or dtype differs; nothing is changed then.
    """
    recorded = [each for each in recording.arguments if each.kind == "variable" and each.arrays]
    variables = [*model.variables, *_of_optimizer(model)]
    pairs = _paired(variables, recorded)
    left = [variable.path for variable in model.variables if id(variable) not in pairs]
    missing = [path for path in left if not path.endswith(_SEED)]
    if missing:
        raise NotFoundError(
            f"The recording lacks {counted(len(missing), 'variable')} of the model: {_listed(missing)}.",
            "Build the model as in the recorded program, with the same names.",
        )
    set_to = [(each, pairs[id(each)].arrays[0]) for each in variables if id(each) in pairs]
    for variable, array in set_to:
        if tuple(variable.shape) != array.shape or str(variable.dtype) != array.dtype.name:
            recorded_as = f"{array.dtype.name} {list(array.shape)}"
            own = f"{variable.dtype} {list(variable.shape)}"
            raise InvalidValueError(f"{variable.path} was recorded as {recorded_as}; the model's is {own}.")
    for variable, array in set_to:
        variable.assign(array)
    if left:
        from tensortap.capture.errors import TapWarning  # which imports TensorFlow

        warnings.warn(
            f"Unchanged, because the recorded step does not read them: {_listed(left)}.",
            TapWarning,
            stacklevel=2,
        )
    used = {id(argument) for argument in pairs.values()}
    return [argument.name for argument in recorded if id(argument) not in used]


def _listed(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(map(repr, paths[:_NAMED])) + (f" and {more} more" if more > 0 else "")


def _paired(variables: Sequence[Any], recorded: Sequence[Argument]) -> dict[int, Argument]:
    """The recorded argument of each variable, by `id` of the variable.

    Within a group of paths that differ in numbers only, all are paired by path or none: numbers that start
    elsewhere make `dense_1` the first layer here and the second one there.
    """
    pairs: dict[int, Argument] = {}
    theirs = _grouped(recorded, lambda each: each.name)
    for path, group in _grouped(variables, lambda each: each.path).items():
        others = theirs.get(path, [])
        if path.endswith(_SEED) and len(group) > len(others):  # only those that the step reads are recorded
            names = {each.name for each in others}
            group = [each for each in group if each.path in names]
        found = _of_equal_path(group, others) or (others if len(group) == len(others) else [])
        pairs |= {id(one): other for one, other in zip(group, found, strict=bool(found))}
    return pairs


def _of_equal_path(variables: Sequence[Any], recorded: Sequence[Argument]) -> list[Argument]:
    """The recorded argument of each variable; empty if a path has more or fewer of them."""
    at: dict[str, list[Argument]] = {}
    for argument in recorded:
        at.setdefault(argument.name, []).append(argument)
    wanted = Counter(variable.path for variable in variables)
    if any(len(at.get(path, ())) != count for path, count in wanted.items()):
        return []
    return [at[variable.path].pop(0) for variable in variables]


def _grouped(items: Iterable[Any], path_of: Callable[[Any], str]) -> dict[str, list[Any]]:
    """By path without numbers; each group in the order of the numbers, word by word."""
    found: dict[str, list[Any]] = {}
    for item in sorted(items, key=lambda each: [int(it or 0) for it in _WORD.findall(path_of(each))]):
        found.setdefault(_KERAS_NUMBER.sub("", path_of(item)), []).append(item)
    return found


def _of_optimizer(model: Any) -> Iterable[Any]:
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return ()
    if not optimizer.built:
        optimizer.build(model.trainable_variables)
    found: Iterable[Any] = optimizer.variables
    return found
