"""Settings of rules, from a TOML or JSON file.

Thresholds, severities, muted findings, and the user's rules: conditions on statistics.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.core.errors import TensortapError
from tensortap.core.text import did_you_mean, number_text
from tensortap.index.query.search import Filters, check_filters, find_rows

from ..run_view.run_view import RunView
from ..run_view.snapshot_rows import SnapshotRows
from .finding import SEVERITIES, Hit
from .rule import Limits, Rule, hits

MAX_BYTES = 1 << 20
_RENAMED = {"InputNotNormalised": "InputNotNormalized"}  # earlier names, in settings files and mutes


class SettingsError(TensortapError):
    """A file of rule settings cannot be read, or has an invalid entry. The hint lists the allowed ones."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a rules file.

    Attributes:
        changes: rule -> its changed thresholds, `severity` and `enabled`.
        mute: `Rule`, or `Rule: regular expression` searched in the tensor name and in what was found.
        added: rules that the file defines.
        file: what errors call it; empty if there is none.
    """

    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    mute: Sequence[str] = ()
    added: Sequence[Rule] = ()
    file: str = ""

    def apply(self, rules: Sequence[Rule]) -> list[Rule]:
        """The rules with these settings applied, without disabled ones.

        Raises:
            SettingsError: the rule or threshold does not exist.
        """
        with _named(self.file):
            self.check_names(self.changes, rules)
            applied = [_changed(rule, self.changes.get(rule.name, {})) for rule in (*rules, *self.added)]
        return [rule for rule in applied if rule is not None]

    def check_names(self, names: Iterable[str], rules: Sequence[Rule]) -> None:
        """Raises SettingsError for a name that is not a rule, nor one that the settings add."""
        known = sorted({rule.name for rule in (*rules, *self.added)})
        for name in names:
            if _RENAMED.get(name, name) not in known:
                hint = did_you_mean(name, known, f"Use one of {', '.join(known)}.")
                raise SettingsError(f"There is no rule {name!r}.", f"{hint} A new rule needs 'where'.")

    def muting(self, entries: Iterable[str]) -> Settings:
        """A copy of the settings with further muted rules."""
        return replace(self, mute=[*self.mute, *entries])

    def mutes(self, rule: str, *texts: str) -> bool:
        """Whether a finding of a rule is muted; `texts` are its tensor and its text."""
        return any(muted(entry, rule, texts) for entry in self.mute)


def muted(entry: str, rule: str, texts: Sequence[str]) -> bool:
    """Whether an entry of a list of muted rules fits."""
    name, _, pattern = (part.strip() for part in entry.partition(":"))
    return _RENAMED.get(name, name) == rule and (
        not pattern or any(re.search(pattern, text) for text in texts)
    )


def check_mute(entry: object) -> str:
    """An entry of a list of muted rules.

    Raises:
        SettingsError: its pattern is not a regular expression.
    """
    try:
        re.compile(str(entry).partition(":")[2].strip())
    except re.error as error:
        raise SettingsError(
            f"{entry!r} cannot be muted: {error}.", "Write 'Rule' or 'Rule: regex'."
        ) from error
    return str(entry)


def read_settings(path: Path) -> Settings:
    """Reads a TOML file (or JSON, if its name ends so).

    Raises:
        SettingsError: it cannot be parsed, or says something impossible. OSError: it cannot be read.
    """
    table = read_table(path)
    with _named(str(path)):
        return replace(parse_settings(table), file=str(path))


def read_table(path: Path) -> dict[str, Any]:
    """Read a TOML or JSON file of settings, as `parse_settings` takes it. Raises as `read_settings`."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise SettingsError(
            f"{path} is larger than {MAX_BYTES} bytes.", "A settings file only needs a few thresholds."
        )
    try:
        text = data.decode()
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path} cannot be parsed: {error}.", _EXAMPLE) from error
    if not isinstance(found, dict):
        raise SettingsError(f"{path} is not a table.", _EXAMPLE)
    return found


def parse_settings(found: Mapping[str, Any]) -> Settings:
    """Parses the settings in a file. Raises SettingsError."""
    mute = found.get("mute", [])
    if not isinstance(mute, list):
        raise SettingsError("'mute' is not a list.", 'Write mute = ["LargeWeights", "AllZero: dense_3/"].')
    changes: dict[str, Mapping[str, Any]] = {}
    added = []
    for name, table in found.items():
        if name == "mute":
            continue
        if not isinstance(table, dict):
            raise SettingsError(f"{name!r} is not a rule.", _EXAMPLE)
        if "where" in table:
            added += [] if table.get("enabled") is False else [condition_rule(name, table)]
        else:
            changes[_RENAMED.get(name, name)] = table
    return Settings(changes, [check_mute(entry) for entry in mute], added)


@contextmanager
def _named(file: str) -> Iterator[None]:
    """Errors of a file's settings say which file."""
    try:
        yield
    except SettingsError as error:
        raise SettingsError(f"{file}: {error.message}" if file else error.message, error.hint) from None


def _changed(rule: Rule, table: Mapping[str, Any]) -> Rule | None:
    limits = dict(rule.thresholds)
    severity, chosen = rule.severity, rule.severity_set
    for key, value in table.items():
        if key == "enabled" and isinstance(value, bool):
            if not value:
                return None
        elif key == "severity" and value in SEVERITIES:
            severity, chosen = value, True
        elif key in limits and isinstance(value, int | float) and not isinstance(value, bool):
            limits[key] = value
        else:
            allowed = ", ".join([*limits, "severity", "enabled"])
            raise SettingsError(
                f"{key} = {value!r} is not an option of {rule.name}.", f"Its options are {allowed}."
            )
    return replace(rule, thresholds=limits, severity=severity, severity_set=chosen)


_EXAMPLE = (
    "Write [VanishingGradient], then mean_abs = 1e-9 below it. 'tensortap rules --list --toml' "
    "prints a template."
)


_TEXTS = ("where", "match", "op_type", "layer", "kind", "help", "severity")
_KINDS = ("input", "output", "weight", "gradient", "update", "loss")


class ConditionError(TensortapError):
    """A rule of a settings file is not complete, or its condition cannot be parsed."""


def condition_rule(name: str, table: Mapping[str, Any]) -> Rule:
    """A rule that reports snapshots for which `where` holds (`abs_max > 100 and step > 10`).

    `match` (a regular expression searched in tensor names), `op_type`, `layer` and `kind` restrict it;
    `share` is the least share of a tensor's snapshots that must fit (0 by default: one is enough).

    Raises:
        ConditionError: something else is given, or of another type.
    """
    _check_table(name, table)
    where = table["where"]

    def check(view: RunView, limits: Limits) -> Iterable[Hit]:
        filters: dict[str, Any] = {key: table.get(key) for key in ("match", "op_type", "layer")}
        found = find_rows(view.run, Filters(where=where, **filters))
        looked = find_rows(view.run, Filters(**filters))
        rows = SnapshotRows(view.run, looked[looked < view.rows_seen])
        if table.get("kind"):
            wanted = {tensor.code for tensor in view.of_kind(str(table["kind"]))}
            rows = SnapshotRows(view.run, rows.rows[np.isin(rows.tensor, list(wanted))])
        yield from hits(
            view,
            rows,
            np.isin(rows.rows, found),
            rows["abs_max"],
            "max |x|",
            share=limits["share"],
            text=lambda t, value: f"{t.name}: {where} (max |x| {number_text(value)}).",
        )

    return Rule(
        name=name,
        about=where,
        check=check,
        thresholds={"share": float(table.get("share", 0.0))},
        severity=table.get("severity", "medium"),
        severity_set="severity" in table,
        source="your settings",
        help=str(table.get("help", "")),
    )


def _check_table(name: str, table: Mapping[str, Any]) -> None:
    """Raises ConditionError."""
    for key, value in table.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = isinstance(value, str) if key in _TEXTS else key == "share" and number
        if key == "enabled" and isinstance(value, bool):
            continue
        if not fits or (key == "severity" and value not in SEVERITIES):
            allowed = ", ".join((*_TEXTS, "share", "enabled"))
            raise ConditionError(f"{key} = {value!r} is not valid for the rule {name}.", f"Use {allowed}.")
    if table.get("kind", _KINDS[0]) not in _KINDS:
        raise ConditionError(
            f"kind = {table['kind']!r} is not valid for the rule {name}.", f"Use {', '.join(_KINDS)}."
        )
    try:
        check_filters(Filters(where=table["where"], match=table.get("match")))
    except TensortapError as error:
        raise ConditionError(f"The rule {name}: {error.message}", error.hint) from error
