"""`Watch`: which nodes a tap captures, on which steps, and whether it stores summaries or values.

Also as JSON (FORMAT.md, "watch.json"), so that watches can be shared, and changed while a job runs.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

import numpy as np

from tensortap.core.dtypes import numpy_dtype
from tensortap.core.errors import InvalidValueError, TensortapError
from tensortap.core.records import Keep
from tensortap.core.sampling import Sample

from ..errors import ChoiceFailedError, WatchError
from ..tracing.candidate import Candidate, Kind, parse_role
from .step_schedule import Steps, every, is_whole_number, log_spaced, plain_steps, step_predicate

Choice = str | re.Pattern[str] | Callable[[Candidate], bool]
Test = Callable[[Candidate], bool]
_FLAGS = {re.ASCII: "a", re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}

# Other nodes have the same values: constants are in the graph, an inner function's arguments are passed by
# its caller. They are captured only if `nodes=` or `ops=` requests them.
BOOKKEEPING = frozenset({"Const", "NoOp", "Placeholder", "PlaceholderWithDefault", "_Arg", "VarHandleOp"})
DEFAULT_STEPS = every(10)  # this very object means that steps= was not given
DEFAULT_VISITS = 10  # of a tensor in a step: loops run hundreds of iterations, but few are checked


MAX_TEXT = 4 << 20  # characters of a watch.json
_MAX_RULES = 1000
_TEXT_KEYS = ("nodes", "layers", "exclude", "keep")
MAIN_KINDS: tuple[Kind, ...] = ("loss", "gradient", "weight", "output")  # these show first what goes wrong
_LIST_KEYS = ("ops", "dtypes", "kinds")
_SIZE_KEYS = ("min_size", "max_size")
_RULE_KEYS = (*_TEXT_KEYS, *_LIST_KEYS, *_SIZE_KEYS, "steps", "sample", "visits")
_JSON_HINT = (
    'A watch.json looks like {"rules": [{"nodes": "dense", "steps": [{"every": 10}], "keep": "value"}]}.'
)

Rule = dict[str, Any]


@dataclass(frozen=True, repr=False)
class Watch:
    """Selects tensors and steps. All conditions must match; `Watch()` captures summaries of all nodes.

    Args:
        nodes: a regular expression searched in the node name, or a callable `Candidate -> bool`.
        ops: an op type (`"MatMul"`) or several.
        layers: a regular expression searched in the path of the Keras layer, or a callable `Candidate ->
            bool`.
        dtypes: a dtype (`"float32"`, `np.float16`, `tf.bfloat16`) or several; the default is all supported
            dtypes.
        kinds: roles instead of names: `"input"`, `"output"` (of layers; or `"activation"`), `"weight"`,
            `"gradient"`, `"update"` (what an optimizer changes a weight by), `"loss"`, or several of them;
            of one layer: `"gradients of dense_2"`.
        steps: `every(n)`, `log_spaced(n)`, a range, a list of these and of step numbers, a callable `step ->
            bool`, or an int `n` for `every(n)`.
        keep: `"summary"` (counts, statistics, histogram) or `"value"` (the array too).
        exclude: tensors to skip: a regular expression or callable, as for `nodes`.
        min_size: number of elements; smaller tensors are skipped.
        max_size: number of elements; larger tensors are skipped.
        sample: store at most this number of elements of a value, evenly spaced, or a `Sample`. The summary
            covers the whole tensor.
        visits: maximum number of stored visits (loop iterations) of a tensor per step: the first, the last,
            every k-th, and the first captured one with a NaN or infinity. None: all.

    Constants are skipped unless `nodes` or `ops` selects them. `Watch(…) | Watch(…)` captures the union,
    each with its own steps and `keep`.

    With `kinds=["output", "gradient", "weight"]`, training stayed bit-identical in all tests. With all
    nodes, last bits of a watched step may change in some programs (docs/how-a-tap-works.md).
    `Tap(exact=True)` never changes a bit.

    Example:
        ```python
        gradients = tensortap.Watch(kinds="gradient", steps=tensortap.every(10))
        values = tensortap.Watch(nodes="attention", steps=range(100, 120), keep="value")
        tensortap.Tap("logs/both", gradients | values)
        ```

    Raises:
        WatchError: an argument is invalid.
    """

    nodes: Choice | None = None
    ops: str | Iterable[str] | None = None
    layers: Choice | None = None
    dtypes: Any = None
    kinds: str | Iterable[str] | None = None
    steps: Steps = DEFAULT_STEPS
    keep: Keep = "summary"
    exclude: Choice | None = None
    min_size: int | None = None
    max_size: int | None = None
    sample: Sample | int | None = None
    visits: int | None = DEFAULT_VISITS
    _step: Callable[[int], bool] = field(init=False, compare=False)
    _tests: tuple[Test, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if self.keep not in get_args(Keep):
            raise WatchError(f"keep={self.keep!r} is unknown.", "Use 'summary' or 'value'.")
        # One spelling of each is stored, so that watches can be compared and hashed, also with their JSON.
        for name in ("ops", "dtypes", "kinds"):
            object.__setattr__(self, name, _tuple(name, getattr(self, name)))
        for name in ("nodes", "layers", "exclude"):
            object.__setattr__(self, name, _pattern_text(getattr(self, name)))
        if self.dtypes is not None:
            object.__setattr__(self, "dtypes", tuple(map(dtype_name, self.dtypes)))
        object.__setattr__(self, "sample", _sample(self.sample, self.keep))
        _check_visits(self.visits)
        object.__setattr__(self, "steps", plain_steps(self.steps))
        object.__setattr__(self, "_step", step_predicate(self.steps))
        object.__setattr__(self, "_tests", tuple(self._make_tests()))
        try:
            hash(self)
        except TypeError as error:  # a callable, as an object of a dataclass
            raise WatchError(f"{self!r} cannot be hashed: {error}.", "Pass a function or a lambda.") from None

    def wants_step(self, step: int) -> bool:
        """Whether `step` is watched."""
        return self._step(step)

    def selects(self, candidate: Candidate) -> bool:
        """Whether a tensor is selected at watched steps.

        Raises:
            ChoiceFailedError: a callable of the watch raised.
        """
        return all(test(candidate) for test in self._tests)

    def of_roles(self) -> Watch | None:
        """This watch for losses, gradients, weights and layer outputs only; None if it selects none."""
        kinds = tuple(kind for kind in self.kinds or MAIN_KINDS if parse_role(kind).kind in MAIN_KINDS)
        return replace(self, kinds=kinds) if kinds else None

    def roles_beyond(self, kinds: Collection[str]) -> list[str]:
        """Those of `kinds=` that select nothing where only these kinds, and no layers, are known."""
        roles = {text: parse_role(text) for text in self.kinds or ()}
        return [text for text, role in roles.items() if role.layer or role.kind not in kinds]

    def fits_size(self, size: int) -> bool:
        """Whether `size` is within `min_size` and `max_size`."""
        return (self.min_size or 0) <= size and (self.max_size is None or size <= self.max_size)

    def __or__(self, other: Watch | Watches) -> Watches:
        """The union: selects what either of them selects."""
        return Watches((self,)) | other

    def to_json(self) -> str:
        """The watch as JSON text, for `watch.json` and for `Watch.from_json`.

        Raises:
            WatchError: it has a callable, which cannot be written as JSON.
        """
        return Watches((self,)).to_json()

    @staticmethod
    def from_json(text: str, step: int = 0) -> Watch | Watches:
        """The inverse of `to_json`, also for several watches.

        Args:
            step: first step of `{"next": n}`.

        Raises:
            WatchError: it is not JSON or not a watch; the message says where.
        """
        found = watches_of_text(text, step)
        return found[0] if len(found) == 1 else Watches(found)

    def __reduce__(self) -> Any:
        given = {item.name: getattr(self, item.name) for item in fields(self) if item.init}
        return functools.partial(Watch, **given), ()

    def _make_tests(self) -> Iterable[Test]:
        if self.nodes is not None:
            yield _choice("nodes", self.nodes, lambda candidate: candidate.node)
        if self.ops is not None:
            _check_ops(self.ops)
            yield _member(self.ops, lambda candidate: candidate.op_type)
        if self.nodes is None and self.ops is None:
            yield _is_informative
        if self.layers is not None:
            yield _choice("layers", self.layers, lambda candidate: candidate.layer)
        if self.dtypes is not None:
            yield _member(self.dtypes, lambda candidate: candidate.dtype)
        if self.kinds is not None:
            roles = [parse_role(kind) for kind in self.kinds]
            yield lambda candidate: any(role.fits(candidate) for role in roles)
        if _check_sizes(self.min_size, self.max_size):
            yield lambda candidate: not is_static(candidate) or self.fits_size(static_size(candidate))
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


class Watches(tuple[Watch, ...]):
    """Union of several watches, created by `Watch(…) | Watch(…)`.

    Example:
        ```python
        watch = tensortap.Watch(kinds="loss", steps=1) | tensortap.Watch(kinds="weight", steps=100)
        assert tensortap.Watch.from_json(watch.to_json()) == watch
        ```

    Raises:
        WatchError: an argument is not a watch, or there is none.
    """

    def __new__(cls, watches: Iterable[Watch]) -> Watches:
        found = tuple(watches)
        if not found or not all(isinstance(watch, Watch) for watch in found):
            raise WatchError(f"{list(found)!r} selects nothing.", "Use Watch(…) | Watch(…).")
        return super().__new__(cls, found)

    def __or__(self, other: Watch | Watches) -> Watches:
        """The union: selects what either of them selects."""
        if not isinstance(other, Watch | Watches):
            return NotImplemented
        return Watches((*self, *((other,) if isinstance(other, Watch) else other)))

    def to_json(self) -> str:
        """As `Watch.to_json`."""
        return text_of_watches(self)

    def __repr__(self) -> str:
        return " | ".join(map(repr, self))


def as_watches(given: Any) -> tuple[Watch, ...]:
    """One watch or several.

    Raises:
        WatchError: it is not one, or holds something else.
    """
    found = (given,) if isinstance(given, Watch) else tuple(given) if isinstance(given, Sequence) else ()
    if not found or not all(isinstance(watch, Watch) for watch in found):
        raise WatchError(f"watch={given!r} is not a Watch.", "Use Watch(…), or a list of them.")
    return found


def is_static(candidate: Candidate) -> bool:
    """Whether the size of a tensor is known before it runs."""
    return candidate.shape is not None and None not in candidate.shape


def static_size(candidate: Candidate) -> int:
    """Number of elements, unknown dimensions taken as 1."""
    return math.prod(extent or 0 if extent is not None else 1 for extent in candidate.shape or ())


def text_of_watches(watches: Iterable[Watch]) -> str:
    """The content of a watch.json.

    Raises:
        WatchError: a watch holds a callable.
    """
    return json.dumps({"rules": [rule_of(watch) for watch in watches]}, indent=1) + "\n"


def shown_rules(watches: Iterable[Watch]) -> list[Rule]:
    """The watches as rules for the dump; one with a callable becomes `{"text": its description}`."""
    return [_shown_rule(watch) for watch in watches]


def _shown_rule(watch: Watch) -> Rule:
    try:
        return rule_of(watch)
    except WatchError:
        return {"text": repr(watch)}


def rule_of(watch: Watch) -> Rule:
    """One watch as a JSON object.

    Raises:
        WatchError: it holds a callable.
    """
    rule: Rule = {}
    for name in ("nodes", "layers", "exclude"):
        value = getattr(watch, name)
        if value is not None:
            if not isinstance(value, str):
                raise _not_json(name, value)
            rule[name] = value
    for name in ("ops", "kinds"):
        if getattr(watch, name) is not None:
            rule[name] = list(getattr(watch, name))
    if watch.dtypes is not None:
        rule["dtypes"] = list(watch.dtypes)
    rule |= {name: int(getattr(watch, name)) for name in _SIZE_KEYS if getattr(watch, name) is not None}
    rule["steps"] = _json_of_steps(watch.steps)
    rule["keep"] = watch.keep
    if isinstance(watch.sample, Sample):
        sample = watch.sample
        rule["sample"] = {"count": int(sample.count), "how": sample.how, "seed": int(sample.seed)}
    if watch.visits != DEFAULT_VISITS:
        rule["visits"] = None if watch.visits is None else int(watch.visits)
    return rule


def watches_of_text(text: str, step: int = 0) -> tuple[Watch, ...]:
    """Parse the watches of a watch.json.

    Args:
        step: where `{"next": n}` begins.

    Raises:
        WatchError: it cannot be understood; the message says where.
    """
    return tuple(watch_of(rule, f"rule {number}", step) for number, rule in enumerate(rules_of(text), 1))


def rules_of(text: str) -> list[Rule]:
    """The rules of a watch.json unparsed: one rule or a list of rules may be the whole file.

    Raises:
        WatchError: it is not JSON, or has no rules.
    """
    if len(text) > MAX_TEXT:
        raise WatchError(f"It has {len(text)} characters; the limit is {MAX_TEXT}.", _JSON_HINT)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WatchError(f"It is not JSON: {error}.", _JSON_HINT) from error
    if isinstance(found, dict):
        found = found.get("rules", [found])
    if not isinstance(found, list) or not found or not all(isinstance(rule, dict) for rule in found):
        raise WatchError("It has no rules.", _JSON_HINT)
    if len(found) > _MAX_RULES:
        raise WatchError(f"It has {len(found)} rules.", f"The limit is {_MAX_RULES} rules.")
    return found


def watch_of(rule: Rule, where: str = "the rule", step: int = 0) -> Watch:
    """Parses one rule. Raises WatchError, which names `where`."""
    try:
        return _watch_of_json(rule, step)
    except (TensortapError, TypeError, ValueError, OverflowError, RecursionError) as error:
        message = error.message if isinstance(error, TensortapError) else str(error)
        hint = error.hint if isinstance(error, TensortapError) else _JSON_HINT
        raise WatchError(f"In {where}: {message}", hint) from error


def _watch_of_json(rule: Rule, step: int) -> Watch:
    unknown = [key for key in rule if key not in _RULE_KEYS]
    if unknown:
        raise WatchError(f"{unknown[0]!r} is unknown.", f"Use {', '.join(_RULE_KEYS)}.")
    given: dict[str, Any] = {}
    for name, value in rule.items():
        if name in _TEXT_KEYS and not isinstance(value, str):
            raise WatchError(f"{name}={value!r} is not a string.", _JSON_HINT)
        if name == "steps":
            value = _steps_of_json(value, step)
        elif name == "sample":
            value = _sample_of_json(value)
        given[name] = value
    return Watch(**given)


def _sample_of_json(data: Any) -> Sample | int:
    if isinstance(data, dict):
        try:
            return Sample(**data)
        except TypeError as error:
            raise InvalidValueError(f"sample={data!r} is unknown.", "Use count, how, seed.") from error
    count: int = data
    return count


def _not_json(argument: str, value: Any) -> WatchError:
    name = getattr(value, "__name__", None) or repr(value)
    return WatchError(
        f"{argument}={name} is a callable, which cannot be written as JSON.",
        "Use a regular expression, kinds, sizes or step numbers, or define the watch in Python.",
    )


def _json_of_steps(steps: Any) -> Any:
    if isinstance(steps, every | log_spaced | range):
        return [_json_of_span(steps)]
    if callable(steps):
        raise _not_json("steps", steps)
    return [_json_of_span(part) for part in steps]


def _json_of_span(part: Any) -> Any:
    if isinstance(part, every):
        end = {} if part.stop is None else {"stop": int(part.stop)}
        return {"every": int(part.interval), "start": int(part.start), **end}
    if isinstance(part, log_spaced):
        return {"per_decade": int(part.per_decade)}
    if isinstance(part, range):
        return {"range": [part.start, part.stop, part.step]}
    return int(part)


def _steps_of_json(data: Any, step: int) -> Any:
    spans = [_span_of_json(part, step) for part in (data if isinstance(data, list) else [data])]
    return spans[0] if len(spans) == 1 and isinstance(spans[0], range | every | log_spaced) else spans


def _span_of_json(part: Any, step: int) -> Any:
    if not isinstance(part, dict):
        return part
    keys = frozenset(part) - {"asked"}
    if "every" in keys and keys <= {"every", "start", "stop"}:
        return every(part["every"], part.get("start", 0), part.get("stop"))
    if keys == {"per_decade"}:
        return log_spaced(part["per_decade"])
    if keys == {"range"} and isinstance(part["range"], list) and 1 <= len(part["range"]) <= 3:
        return range(*part["range"])
    if keys == {"next"} and isinstance(part["next"], int) and part["next"] >= 1:
        return range(step, step + part["next"])
    raise WatchError(
        f"Invalid step selection steps={part!r}.",
        'Use numbers, {"every": 10}, {"range": [5, 9]} or {"next": 3}.',
    )


def _is_informative(candidate: Candidate) -> bool:
    return candidate.op_type not in BOOKKEEPING or candidate.kind == "input"


def _tuple(argument: str, given: Any) -> tuple[Any, ...] | None:
    if given is None:
        return None
    if isinstance(given, str | type | np.dtype) or not isinstance(given, Iterable):
        return (given,)
    found = tuple(given)
    if not found:
        raise WatchError(
            f"{argument}={given!r} selects nothing.", f"Name at least one, or remove {argument}."
        )
    return found


def _pattern_text(choice: Any) -> Any:
    """The text of a compiled regular expression; other values unchanged."""
    if not isinstance(choice, re.Pattern) or not isinstance(choice.pattern, str):
        return choice
    flags = "".join(letter for flag, letter in _FLAGS.items() if choice.flags & flag)
    return f"(?{flags}){choice.pattern}" if flags else choice.pattern


def _sample(given: Any, keep: str) -> Sample | None:
    if given is None:
        return None
    try:
        sample = given if isinstance(given, Sample) else Sample(given)
    except InvalidValueError as error:
        raise WatchError(error.message, "Use a number of elements, or Sample(…).") from error
    if keep != "value":
        raise WatchError(f"sample={given!r} needs values, but keep={keep!r}.", "Add keep='value'.")
    return sample


def _check_visits(visits: Any) -> None:
    if visits is not None and not is_whole_number(visits, 2):
        raise WatchError(
            f"visits={visits!r} is not a valid number of iterations.",
            "Use an integer of at least 2 (the first and the last), or None for all.",
        )


def _check_sizes(low: Any, high: Any) -> bool:
    """Whether there are limits of size at all."""
    for name, value in (("min_size", low), ("max_size", high)):
        if value is not None and not is_whole_number(value):
            raise WatchError(
                f"{name}={value!r} is not a number of elements.", "Use an integer of at least 0."
            )
    if low is not None and high is not None and low > high:
        raise WatchError(f"min_size={low} is above max_size={high}.", "Swap them.")
    return low is not None or high is not None


def _choice(argument: str, choice: Any, text: Callable[[Candidate], str]) -> Test:
    """A regular expression searched in `text`, or the callable itself."""
    if callable(choice):
        return lambda candidate: _ask(argument, choice, candidate)
    try:
        pattern = re.compile(choice)
        pattern.search("")  # one of bytes cannot
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
        message = f"the callable {argument}={_text(choice)} of a Watch failed on node {candidate.node!r}"
        hint = (
            "Fix the callable: its argument is a Candidate (.node, .op_type, .layer, .dtype, .shape, .kind)."
        )
        raise ChoiceFailedError(message, hint) from error


def _member(names: Iterable[str], text: Callable[[Candidate], str]) -> Test:
    members = frozenset(names)
    return lambda candidate: text(candidate) in members


def dtype_name(dtype: Any) -> str:
    """`"float32"`, a NumPy dtype or scalar type, or a TensorFlow dtype -> its logical name."""
    try:
        name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or np.dtype(dtype).name
        numpy_dtype(name)
    except (TypeError, InvalidValueError) as error:
        raise WatchError(
            f"dtypes={dtype!r} is not a dtype.", "Use names such as 'float32', or NumPy or TensorFlow dtypes."
        ) from error
    return str(name)


def _check_ops(ops: Iterable[Any]) -> None:
    for op in ops:
        if not isinstance(op, str) or not op:
            raise WatchError(
                f"ops={op!r} is not an op type.", "Use a name such as 'MatMul', or a list of names."
            )


def _text(value: Any) -> str:
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    if callable(value) and not isinstance(value, every | log_spaced | type):
        return str(getattr(value, "__name__", value))
    return repr(value)
