"""Puts the variables of a recording into a Keras model, which the program's own code has made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tensortap.dump import Argument, InvalidValueError, NotFoundError, Recording, counted

_NUMBER = re.compile(r"_(\d+)(?=[/_]|$)")  # which Keras gives to what the program does not name


def restore_variables(recording: Recording, model: Any) -> list[str]:
    """Sets a model as it was before the recorded step: weights, states of layers and seeds, optimizer.

    Variables are paired by path. What is left is paired by path without the numbers of names that Keras
    made (`dense_3`), in their order, where there are as many on both sides.

    Args:
        model: a built Keras model of the class that was recorded; compiled, if the optimizer is to be set.

    Returns:
        Paths of recorded variables that the model lacks, as those of metrics and losses.

    Raises:
        NotFoundError: the recording lacks one of the model's own variables.
        InvalidValueError: one has another shape or dtype. Nothing is set then.
    """
    recorded = [each for each in recording.arguments if each.kind == "variable" and each.arrays]
    variables = [*model.variables, *_of_optimizer(model)]
    pairs = _paired(variables, recorded)
    missing = [variable.path for variable in model.variables if id(variable) not in pairs]
    if missing:
        raise NotFoundError(
            f"The recording lacks {counted(len(missing), 'variable')} of the model, as {missing[0]!r}.",
            "Make the model as the recorded program does, with the same names.",
        )
    set_to = [(each, pairs[id(each)].arrays[0]) for each in variables if id(each) in pairs]
    for variable, array in set_to:
        if tuple(variable.shape) != array.shape or str(variable.dtype) != array.dtype.name:
            recorded_as = f"{array.dtype.name} {list(array.shape)}"
            own = f"{variable.dtype} {list(variable.shape)}"
            raise InvalidValueError(f"{variable.path} was recorded as {recorded_as}; the model's is {own}.")
    for variable, array in set_to:
        variable.assign(array)
    used = {id(argument) for argument in pairs.values()}
    return [argument.name for argument in recorded if id(argument) not in used]


def _paired(variables: Sequence[Any], recorded: Sequence[Argument]) -> dict[int, Argument]:
    """The recorded argument of each variable, by `id` of the variable."""
    pairs: dict[int, Argument] = {}
    for key in (lambda path: path, lambda path: _NUMBER.sub("", path)):
        used = {id(argument) for argument in pairs.values()}
        ours = _grouped([each for each in variables if id(each) not in pairs], lambda each: each.path, key)
        theirs = _grouped([each for each in recorded if id(each) not in used], lambda each: each.name, key)
        for path, group in ours.items():
            if len(group) == len(theirs.get(path, ())):
                pairs |= {id(one): other for one, other in zip(group, theirs[path], strict=True)}
    return pairs


def _grouped(
    items: Iterable[Any], path_of: Callable[[Any], str], key: Callable[[str], str]
) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in sorted(items, key=lambda each: [int(number) for number in _NUMBER.findall(path_of(each))]):
        found.setdefault(key(path_of(item)), []).append(item)
    return found


def _of_optimizer(model: Any) -> Iterable[Any]:
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return ()
    if not optimizer.built:
        optimizer.build(model.trainable_variables)
    found: Iterable[Any] = optimizer.variables
    return found
