"""Watches as JSON (FORMAT.md, "watch.json"), so that they can be shared, and changed while a job runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tensortap.core.errors import InvalidValueError, TensortapError
from tensortap.core.sampling import Sample

from .errors import WatchError
from .steps import every, log_spaced
from .watch import Watch

MAX_TEXT = 4 << 20  # characters of a watch.json
_MAX_RULES = 1000
_TEXTS = ("nodes", "layers", "exclude", "keep")
_LISTS = ("ops", "dtypes", "kinds")
_SIZES = ("min_size", "max_size")
_KEYS = (*_TEXTS, *_LISTS, *_SIZES, "steps", "sample")
_HINT = 'A watch.json looks like {"rules": [{"nodes": "dense", "steps": [{"every": 10}], "keep": "value"}]}.'

Rule = dict[str, Any]


def text_of_watches(watches: Iterable[Watch]) -> str:
    """The content of a watch.json.

    Raises:
        WatchError: a watch holds a callable.
    """
    return json.dumps({"rules": [rule_of(watch) for watch in watches]}, indent=1) + "\n"


def shown_rules(watches: Iterable[Watch]) -> list[Rule]:
    """As rules, for the dump; one that holds a callable as `{"text": how it looks}`."""
    return [_shown(watch) for watch in watches]


def _shown(watch: Watch) -> Rule:
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
    rule |= {name: int(getattr(watch, name)) for name in _SIZES if getattr(watch, name) is not None}
    rule["steps"] = _steps_data(watch.steps)
    rule["keep"] = watch.keep
    if isinstance(watch.sample, Sample):
        sample = watch.sample
        rule["sample"] = {"count": int(sample.count), "how": sample.how, "seed": int(sample.seed)}
    return rule


def watches_of_text(text: str, step: int = 0) -> tuple[Watch, ...]:
    """What a watch.json asks for.

    Args:
        step: where `{"next": n}` begins.

    Raises:
        WatchError: it cannot be understood; the message says where.
    """
    return tuple(watch_of(rule, f"rule {number}", step) for number, rule in enumerate(rules_of(text), 1))


def rules_of(text: str) -> list[Rule]:
    """The rules of a watch.json as they stand there; a single rule, or a list of them, may stand alone.

    Raises:
        WatchError: it is no JSON, or holds no rules.
    """
    if len(text) > MAX_TEXT:
        raise WatchError(f"It has {len(text)} characters, more than the {MAX_TEXT} that are read.", _HINT)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WatchError(f"It is not JSON: {error}.", _HINT) from error
    if isinstance(found, dict):
        found = found.get("rules", [found])
    if not isinstance(found, list) or not found or not all(isinstance(rule, dict) for rule in found):
        raise WatchError("It holds no rules.", _HINT)
    if len(found) > _MAX_RULES:
        raise WatchError(f"It holds {len(found)} rules.", f"At most {_MAX_RULES} are possible.")
    return found


def watch_of(rule: Rule, where: str = "the rule", step: int = 0) -> Watch:
    """One rule as a watch. Raises WatchError, which names `where`."""
    try:
        return _watch(rule, step)
    except (TensortapError, TypeError, ValueError, OverflowError, RecursionError) as error:
        message = error.message if isinstance(error, TensortapError) else str(error)
        hint = error.hint if isinstance(error, TensortapError) else _HINT
        raise WatchError(f"In {where}: {message}", hint) from error


def _watch(rule: Rule, step: int) -> Watch:
    unknown = [key for key in rule if key not in _KEYS]
    if unknown:
        raise WatchError(f"{unknown[0]!r} is unknown.", f"There are: {', '.join(_KEYS)}.")
    given: dict[str, Any] = {}
    for name, value in rule.items():
        if name in _TEXTS and not isinstance(value, str):
            raise WatchError(f"{name}={value!r} is no text.", _HINT)
        if name == "steps":
            value = _steps(value, step)
        elif name == "sample":
            value = _sample(value)
        given[name] = value
    return Watch(**given)


def _sample(data: Any) -> Sample | int:
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
        f"{argument}={name} is a callable, which JSON cannot hold.",
        "Say the same by a regular expression, kinds, sizes or step numbers, or keep the watch in Python.",
    )


def _steps_data(steps: Any) -> Any:
    if isinstance(steps, every | log_spaced | range):
        return [_span_data(steps)]
    if callable(steps):
        raise _not_json("steps", steps)
    return [_span_data(part) for part in steps]


def _span_data(part: Any) -> Any:
    if isinstance(part, every):
        end = {} if part.stop is None else {"stop": int(part.stop)}
        return {"every": int(part.interval), "start": int(part.start), **end}
    if isinstance(part, log_spaced):
        return {"per_decade": int(part.per_decade)}
    if isinstance(part, range):
        return {"range": [part.start, part.stop, part.step]}
    return int(part)


def _steps(data: Any, step: int) -> Any:
    spans = [_span(part, step) for part in (data if isinstance(data, list) else [data])]
    return spans[0] if len(spans) == 1 and isinstance(spans[0], range | every | log_spaced) else spans


def _span(part: Any, step: int) -> Any:
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
        f"steps={part!r} says no steps.", 'Use numbers, {"every": 10}, {"range": [5, 9]} or {"next": 3}.'
    )
