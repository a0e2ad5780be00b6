"""What a tap keeps: which nodes, on which steps, summaries or values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, get_args

import numpy as np

from tensortap.dump import InvalidValueError, Keep, numpy_dtype

from .candidates import Candidate, Kind
from .errors import ChoiceFailedError, WatchError
from .steps import Steps, every, step_predicate

Choice = str | re.Pattern[str] | Callable[[Candidate], bool]
Test = Callable[[Candidate], bool]

# Their outputs say nothing that another node does not say better: constants are in the graph, an inner
# function's arguments are what its caller passes. They are captured only where `nodes=` or `ops=` asks for
# them.
BOOKKEEPING = frozenset({"Const", "NoOp", "Placeholder", "PlaceholderWithDefault", "_Arg", "VarHandleOp"})

_KINDS = tuple(kind for kind in get_args(Kind) if kind)


@dataclass(frozen=True, repr=False)
class Watch:
    """Selects tensors and steps. Everything that is given must fit; `Watch()` keeps summaries of all nodes.

    Args:
        nodes: a regular expression searched in the node name, or a callable `Candidate -> bool`.
        ops: an op type (`"MatMul"`) or several.
        layers: a regular expression searched in the path of the Keras layer, or a callable `Candidate ->
            bool`.
        dtypes: a dtype (`"float32"`, `np.float16`, `tf.bfloat16`) or several; all that a dump can hold by
            default.
        kinds: `"input"`, `"output"` (of layers), `"weight"`, `"gradient"`, or several of them.
        steps: `every(n)`, a range, a list of step numbers, a callable `step -> bool`, or an int `n` for
            `every(n)`.
        keep: `"summary"` (counts, statistics, histogram) or `"value"` (the array too).
        exclude: leaves out what it matches: a regular expression or callable, as for `nodes`.

    Constants and the like are skipped unless `nodes` or `ops` selects them.

    Does capturing change the training? TensorFlow's arithmetic optimizer and its constant folding merge
    operations, but not across a tensor that is captured, so that on watched steps the last bit of a result
    may differ: seldom with `kinds=["output", "gradient", "weight"]`, often with all nodes. With
    both switched off (`tf.config.optimizer.set_experimental_options`: `arithmetic_optimization` and
    `constant_folding` False) watched and unwatched steps agree bit by bit.

    Raises:
        WatchError: an argument cannot be understood.
    """

    nodes: Choice | None = None
    ops: str | Iterable[str] | None = None
    layers: Choice | None = None
    dtypes: Any = None
    kinds: str | Iterable[str] | None = None
    steps: Steps = every(10)  # noqa: RUF009  frozen
    keep: Keep = "summary"
    exclude: Choice | None = None
    _step: Callable[[int], bool] = field(init=False, compare=False)
    _tests: tuple[Test, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if self.keep not in get_args(Keep):
            raise WatchError(f"keep={self.keep!r} keeps nothing.", "Use 'summary' or 'value'.")
        # Collections are stored as tuples, so that a watch can be compared, hashed and used twice.
        for name in ("ops", "dtypes", "kinds"):
            object.__setattr__(self, name, _tuple(getattr(self, name)))
        if isinstance(self.steps, list | set | np.ndarray):
            object.__setattr__(self, "steps", tuple(self.steps))
        object.__setattr__(self, "_step", step_predicate(self.steps))
        object.__setattr__(self, "_tests", tuple(self._make_tests()))

    def wants_step(self, step: int) -> bool:
        """Whether something is kept at `step`."""
        return self._step(step)

    def selects(self, candidate: Candidate) -> bool:
        """Whether a tensor is kept at the steps that are.

        Raises:
            ChoiceFailedError: a callable of the watch raised.
        """
        return all(test(candidate) for test in self._tests)

    def _make_tests(self) -> Iterable[Test]:
        if self.nodes is not None:
            yield _choice("nodes", self.nodes, lambda candidate: candidate.node)
        if self.ops is not None:
            _check_ops(self.ops)
            yield _member(self.ops, lambda candidate: candidate.op_type)
        if self.nodes is None and self.ops is None:
            yield _is_telling
        if self.layers is not None:
            yield _choice("layers", self.layers, lambda candidate: candidate.layer)
        if self.dtypes is not None:
            yield _member(tuple(map(_dtype_name, self.dtypes)), lambda candidate: candidate.dtype)
        if self.kinds is not None:
            _check_kinds(self.kinds)
            yield _member(self.kinds, lambda candidate: candidate.kind)
        if self.exclude is not None:
            excluded = _choice("exclude", self.exclude, lambda candidate: candidate.node)
            yield lambda candidate: not excluded(candidate)

    def __repr__(self) -> str:
        given = (
            f"{item.name}={_text(getattr(self, item.name))}"
            for item in fields(self)
            if item.init and getattr(self, item.name) != item.default
        )
        return f"Watch({', '.join(given)})"


def _is_telling(candidate: Candidate) -> bool:
    return candidate.op_type not in BOOKKEEPING or candidate.kind == "input"


def _tuple(given: Any) -> tuple[Any, ...] | None:
    if given is None:
        return None
    if isinstance(given, str | type | np.dtype) or not isinstance(given, Iterable):
        return (given,)
    return tuple(given)


def _choice(argument: str, choice: Any, text: Callable[[Candidate], str]) -> Test:
    """A regular expression searched in `text`, or the callable itself."""
    if callable(choice):
        return lambda candidate: _ask(argument, choice, candidate)
    try:
        pattern = re.compile(choice)
    except re.error as error:
        raise WatchError(
            f"{argument}={choice!r} is not a regular expression: {error}.",
            "Escape special characters with a backslash, or pass a callable.",
        ) from error
    except TypeError as error:
        raise WatchError(
            f"{argument}={choice!r} selects nothing.",
            "Use a regular expression or a callable Candidate -> bool.",
        ) from error
    return lambda candidate: pattern.search(text(candidate)) is not None


def _ask(argument: str, choice: Callable[[Candidate], Any], candidate: Candidate) -> bool:
    try:
        return bool(choice(candidate))
    except Exception as error:
        message = f"{argument}={_text(choice)} of a Watch failed on node {candidate.node!r}"
        raise ChoiceFailedError(message) from error


def _member(names: Iterable[str], text: Callable[[Candidate], str]) -> Test:
    members = frozenset(names)
    return lambda candidate: text(candidate) in members


def _dtype_name(dtype: Any) -> str:
    """`"float32"`, a NumPy dtype or scalar type, or a TensorFlow dtype -> its logical name."""
    try:
        name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or np.dtype(dtype).name
        numpy_dtype(name)
    except (TypeError, InvalidValueError) as error:
        raise WatchError(
            f"dtypes={dtype!r} is no dtype.", "Use names as 'float32', or NumPy or TensorFlow dtypes."
        ) from error
    return str(name)


def _check_ops(ops: Iterable[Any]) -> None:
    for op in ops:
        if not isinstance(op, str) or not op:
            raise WatchError(f"ops={op!r} is no op type.", "Use a name as 'MatMul', or a list of them.")


def _check_kinds(kinds: Iterable[str]) -> None:
    unknown = [kind for kind in kinds if kind not in _KINDS]
    if unknown:
        raise WatchError(f"kinds={unknown[0]!r} is unknown.", f"There are: {', '.join(_KINDS)}.")


def _text(value: Any) -> str:
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    if callable(value) and not isinstance(value, every | type):
        return str(getattr(value, "__name__", value))
    return repr(value)
